"""Exact arithmetic in a chain of prime fields, where exp(a + b) = exp(a)·exp(b) holds.

The chain is p0 = 2·p1 + 1, p1 = 2·p2 + 1. Level i of an exponential is g_i ^ (level i + 1 of its
argument), with g_i of order p_{i+1} in the field of p_i: each exponential consumes one level. Hashed
functions start again from level 0 and fill every level.
"""

from __future__ import annotations

import hashlib
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np

from rooflang.run.value import Array, ExecutionError

PRIMES: Final = (2147454839, 1073727419, 536863709)
_U = np.uint64
_COLUMN = np.array(PRIMES, dtype=np.uint64)
_BITS: Final = (11, 10, 10)  # digits of an exponent below 2**31, each with its own table of powers
_C1, _C2, _C3 = _U(0x9E3779B97F4A7C15), _U(0xBF58476D1CE4E5B9), _U(0x94D049BB133111EB)


def moduli(data: Array) -> Array:
    """The primes of the levels of `data`, shaped to broadcast with it."""
    found: Array = _COLUMN[: data.shape[0]].reshape(-1, *([1] * (data.ndim - 1)))
    return found


def mix(x: Array) -> Array:
    """The finaliser of splitmix64: a bijection of 64-bit words that scatters them."""
    x = (x ^ (x >> _U(30))) * _C2
    x = (x ^ (x >> _U(27))) * _C3
    mixed: Array = x ^ (x >> _U(31))
    return mixed


@lru_cache(maxsize=65536)
def word(*parts: object) -> int:
    """A 64-bit word from names and attribute values."""
    return int.from_bytes(hashlib.blake2b(repr(parts).encode(), digest_size=8).digest(), "little")


@lru_cache(maxsize=8)
def _powers(level: int) -> tuple[Array, ...]:
    p = PRIMES[level]
    base = 4  # a square other than 1, so of order p_{level + 1}
    tables = []
    shift = 0
    for bits in _BITS:
        step = pow(base, 1 << shift, p)
        table = [1]
        for _ in range((1 << bits) - 1):
            table.append(table[-1] * step % p)
        tables.append(np.array(table, dtype=np.uint64))
        shift += bits
    return tuple(tables)


class Field:
    """Residues as uint64 arrays whose first axis is the level."""

    name = "field"
    levels = len(PRIMES)
    dtype = np.uint64

    def add(self, a: Array, b: Array) -> Array:
        n = min(len(a), len(b))
        total: Array = a[:n] + b[:n]
        return total % moduli(total)

    def mul(self, a: Array, b: Array) -> Array:
        n = min(len(a), len(b))
        product: Array = a[:n] * b[:n]
        return product % moduli(product)

    def reduce(self, a: Array) -> Array:
        """Residues of sums of fewer than 2**32 residues."""
        return a % moduli(a)

    def scale(self, a: Array, by: float) -> Array:
        """Multiply by the exact rational value of a float."""
        f = Fraction(by)
        factors = [f.numerator * pow(f.denominator, -1, p) % p for p in PRIMES[: len(a)]]
        return self.mul(a, np.array(factors, dtype=np.uint64).reshape(-1, *([1] * (a.ndim - 1))))

    def exp(self, a: Array) -> Array:
        if len(a) < 2:
            raise ExecutionError(
                "execution.levels", "more exponentials are nested here than the prime chain can hold"
            )
        out = np.empty((len(a) - 1, *a.shape[1:]), dtype=np.uint64)
        for level in range(len(a) - 1):
            x = a[level + 1].astype(np.int64)
            one, two, three = _powers(level)
            p = _U(PRIMES[level])
            first = one[x & 2047] * two[(x >> 11) & 1023] % p
            out[level] = first * three[x >> 21] % p
        return out

    def inverse(self, a: Array) -> Array:
        """1/a, and 0 where a is 0: one inversion per level by a tree of products."""
        flat = np.where(a == 0, _U(1), a).reshape(len(a), -1)
        levels = [flat]
        primes = _COLUMN[: len(a), None]
        while levels[-1].shape[1] > 1:
            last = levels[-1]
            if last.shape[1] % 2:
                last = np.concatenate([last, np.ones((len(a), 1), dtype=np.uint64)], axis=1)
                levels[-1] = last
            levels.append(last[:, ::2] * last[:, 1::2] % primes)
        top = (
            [pow(int(v), -1, p) for v, p in zip(levels[-1][:, 0], PRIMES[: len(a)], strict=True)]
            if flat.size
            else []
        )
        inverse = np.array(top, dtype=np.uint64).reshape(len(a), -1)
        for last in reversed(levels[:-1]):
            inverse = inverse[:, : last.shape[1] // 2]
            below = np.empty_like(last)
            below[:, ::2] = inverse * last[:, 1::2] % primes
            below[:, 1::2] = inverse * last[:, ::2] % primes
            inverse = below
        result = inverse[:, : flat.shape[1]].reshape(a.shape)
        return np.where(a == 0, _U(0), result)

    def hash(self, key: int, *parts: Array) -> Array:
        """Fresh residues at every level from level-0 residues and a key."""
        h = _U(key) + parts[0]
        for part in parts[1:]:
            h = mix(h * _C1) + part
        h = mix(h + _C1)
        step = np.arange(self.levels, dtype=np.uint64).reshape(-1, *([1] * h.ndim)) * _C1
        out = mix(h[None] + step)
        residues: Array = out % moduli(out)
        return residues

    def order(self, a: Array) -> Array:
        """Keys by which entries are ranked: the level-0 residues."""
        keys: Array = a[0].astype(np.int64)
        return keys

    @staticmethod
    @lru_cache(maxsize=256)
    def turns(theta: float, pairs: int, positions: int) -> tuple[Array, Array]:
        """cos and sin of every position and pair: (levels, positions, pairs), powers of one point each."""
        cosines = np.empty((len(PRIMES), positions, pairs), dtype=np.uint64)
        sines = np.empty_like(cosines)
        for level, p in enumerate(PRIMES):
            for pair in range(pairs):
                t = word("rope", float(theta), pair, pairs) % (p - 2) + 2
                inv = pow(1 + t * t, -1, p)
                c, s = (1 - t * t) * inv % p, 2 * t * inv % p
                x, y = 1, 0
                for position in range(positions):
                    cosines[level, position, pair], sines[level, position, pair] = x, y
                    x, y = (x * c - y * s) % p, (x * s + y * c) % p
        return cosines, sines

    def negative(self, a: Array) -> Array:
        m = moduli(a)
        return (m - a) % m

    def random(self, rng: np.random.Generator, shape: tuple[int, ...], levels: int) -> Array:
        """Uniform residues; `shape` starts with the levels."""
        column = _COLUMN[:levels].reshape(-1, *([1] * (len(shape) - 1)))
        residues: Array = rng.integers(0, 1 << 63, shape, dtype=np.uint64) % column
        return residues


class Reals:
    """float64 with one level: a second opinion, and the means to test operators against libraries."""

    name = "float64"
    levels = 1
    dtype = np.float64

    def add(self, a: Array, b: Array) -> Array:
        return a + b

    def mul(self, a: Array, b: Array) -> Array:
        return a * b

    def reduce(self, a: Array) -> Array:
        return a

    def scale(self, a: Array, by: float) -> Array:
        return a * by

    def exp(self, a: Array) -> Array:
        return np.exp(a)

    def inverse(self, a: Array) -> Array:
        return np.where(a == 0, 0.0, 1.0 / np.where(a == 0, 1.0, a))

    def order(self, a: Array) -> Array:
        """Dense ranks, so that ties stay ties."""
        return np.unique(a[0], return_inverse=True)[1].reshape(a[0].shape).astype(np.int64)

    @staticmethod
    @lru_cache(maxsize=256)
    def turns(theta: float, pairs: int, positions: int) -> tuple[Array, Array]:
        angle = np.arange(positions)[:, None] * theta ** (-np.arange(pairs) / pairs)
        return np.cos(angle)[None], np.sin(angle)[None]

    def negative(self, a: Array) -> Array:
        return -a

    def random(self, rng: np.random.Generator, shape: tuple[int, ...], levels: int) -> Array:
        return rng.standard_normal(shape)
