"""Contractions over named axes, exact in the prime fields.

Operands are arrays with one name per axis; the first name is the level. Names absent from the result
are summed. More than two operands are contracted pairwise, left to right.
"""

from __future__ import annotations

from math import prod

import numpy as np

from rooflang.run.field import Field, Reals, moduli
from rooflang.run.value import Array

LEVEL = "%"
PAIRS = "#"  # the axis of pairs of tokens and picks; no dimension can be called so
Named = tuple[Array, tuple[str, ...]]
_SHORT = np.uint64(16)
_LOW = np.uint64(0xFFFF)
_DIGIT = np.uint64(11)
_DIGITS = np.uint64(2047)
_MAX_EXACT = 1024  # terms below this keep 11-bit times 31-bit products under 2**53


def product(a: Array, b: Array) -> Array:
    """Batched matrix product (level, batch, M, K) x (level, batch, K, N) of residues."""
    p = moduli(a)
    m, k, n = a.shape[2], a.shape[3], b.shape[3]
    if m * n > 512 and k <= _MAX_EXACT:
        digits = np.concatenate([a >> (_DIGIT + _DIGIT), (a >> _DIGIT) & _DIGITS, a & _DIGITS], axis=2)
        r = np.matmul(digits.astype(np.float64), b.astype(np.float64)).astype(np.uint64)
        t = ((r[:, :, :m] % p << _DIGIT) + r[:, :, m : 2 * m]) % p
        low: Array = ((t << _DIGIT) + r[:, :, 2 * m :]) % p
        return low
    if k == 1:
        outer: Array = a * b % p
        return outer
    high: Array = np.matmul(a >> _SHORT, b) % p
    total: Array = ((high << _SHORT) + np.matmul(a & _LOW, b)) % p
    return total


def contract(arithmetic: Field | Reals, operands: list[Named], out: tuple[str, ...]) -> Array:
    """The einsum of the operands; `out` starts with the level."""
    levels = min(len(a) for a, _ in operands)
    operands = [(a[:levels], n) for a, n in operands]
    while len(operands) > 1:
        first, second, *rest = operands
        later = {*out, *(n for _, names in rest for n in names)}
        operands = [_pair(arithmetic, first, second, later), *rest]
    array, names = _sum_out(arithmetic, operands[0], set(out))
    return array.transpose([names.index(n) for n in out])


def _sum_out(arithmetic: Field | Reals, operand: Named, kept: set[str]) -> Named:
    array, names = operand
    lost = tuple(i for i, n in enumerate(names) if n not in kept)
    if not lost:
        return operand
    return arithmetic.reduce(array.sum(axis=lost)), tuple(n for n in names if n in kept)


def _pair(arithmetic: Field | Reals, first: Named, second: Named, later: set[str]) -> Named:
    a, an = _sum_out(arithmetic, first, later | set(second[1]))
    b, bn = _sum_out(arithmetic, second, later | set(an))
    shared = [n for n in an if n in bn]
    batch = [n for n in shared if n in later]
    summed = [n for n in shared if n not in later]
    m = [n for n in an if n not in bn]
    n = [x for x in bn if x not in an]
    if not summed:
        names = (*batch, *m, *n)
        ax = a.transpose([an.index(x) for x in (*batch, *m)]).reshape(
            *(a.shape[an.index(x)] for x in (*batch, *m)), *([1] * len(n))
        )
        bx = b.transpose([bn.index(x) for x in (*batch, *n)])
        bx = bx.reshape(*bx.shape[: len(batch)], *([1] * len(m)), *bx.shape[len(batch) :])
        return arithmetic.mul(ax, bx), names
    size = {x: s for arr, nn in ((a, an), (b, bn)) for x, s in zip(nn, arr.shape, strict=True)}
    inner = batch[1:]

    def shaped(array: Array, names: tuple[str, ...], rows: list[str], columns: list[str]) -> Array:
        x = array.transpose([names.index(i) for i in (*batch, *rows, *columns)])
        return np.ascontiguousarray(x).reshape(
            size[LEVEL],
            prod(size[i] for i in inner),
            prod(size[i] for i in rows),
            prod(size[i] for i in columns),
        )

    x, y = shaped(a, an, m, summed), shaped(b, bn, summed, n)
    result = np.matmul(x, y) if isinstance(arithmetic, Reals) else product(x, y)
    names = (*batch, *m, *n)
    return result.reshape([size[i] for i in names]), names
