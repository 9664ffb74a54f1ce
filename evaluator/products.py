"""Products of several operands: einsums of which one only feeds the next, and their cheapest order.

A chain is a sum of products over its leaves (values, weights, caches). Any order of the products gives the
same result, so the least work is a minimum over orders; weights that meet first are multiplied offline.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from evaluator.numeric import Numeric, Value, total
from rooflang.dtype import RATES, format_of, product_rate
from rooflang.lowered import LocalOp, Tensor, Unit, Use
from rooflang.size import ONE
from rooflang.work import Extents
from rooflang.work.arithmetic import use_dims


@dataclass(frozen=True, slots=True)
class Chain:
    """`ops` in program order, the last of which gives the result; `leaves` are what they read."""

    ops: tuple[LocalOp, ...]
    leaves: tuple[Use, ...]

    @property
    def rate(self) -> str:
        """The fastest matrix rate among its products."""
        rates = [product_rate([u.tensor.dtype for u in op.operands[:2]]) for op in self.ops]
        return min(rates, key=RATES.index)

    @property
    def has_weight(self) -> bool:
        return any(leaf.tensor.kind == "weight" for leaf in self.leaves)

    def least_flops(self, extents: Extents, n: Numeric) -> Value:
        """FLOPs of the cheapest order."""
        best: dict[int, Value] = {1 << i: 0.0 for i in range(len(self.leaves))}
        for subset in _subsets(len(self.leaves)):
            if subset in best:
                continue
            found: Value | None = None
            for parts in _partitions(subset):
                value = total([*(best[p] for p in parts), self._cost(parts, extents, n)])
                found = value if found is None else np.minimum(found, value)
            best[subset] = 0.0 if found is None else found
        return best[(1 << len(self.leaves)) - 1]

    def least_weight_bytes(self, extents: Extents, n: Numeric) -> float:
        """Bytes of its weights, apart or multiplied offline; those that a choice picks are not counted."""
        weights = [i for i, leaf in enumerate(self.leaves) if _stored(leaf)]
        if not weights:
            return 0.0
        width = min(float(format_of(self.leaves[i].tensor.dtype).bytes) for i in weights)
        best: dict[int, float] = {}
        for picked in _subsets(len(weights)):
            subset = sum(1 << weights[i] for i in range(len(weights)) if picked >> i & 1)
            if picked.bit_count() == 1:
                best[picked] = float(np.max(n(extents.bytes(self.leaves[subset.bit_length() - 1].tensor))))
                continue
            merged = width * float(np.max(self._size(self._kept(subset), 1, extents, n)))
            best[picked] = min(merged, *(best[a] + best[b] for a, b in _splits(picked)))
        return best[(1 << len(weights)) - 1]

    def _cost(self, parts: tuple[int, ...], extents: Extents, n: Numeric) -> Value:
        """FLOPs of one product of several parts."""
        members = [leaf for i, leaf in enumerate(self.leaves) if sum(parts) >> i & 1]
        if all(_stored(leaf) for leaf in members):
            return 0.0
        every = max(leaf.tensor.every for leaf in members)
        names = frozenset(name for part in parts for name in self._kept(part))
        return 2.0 * self._size(names, every, extents, n)

    def _kept(self, subset: int) -> frozenset[str]:
        """Names of the product of a subset that something outside of it needs."""
        inner: set[str] = set()
        outer: set[str] = set(self.ops[-1].result.dims)
        for i, leaf in enumerate(self.leaves):
            (inner if subset >> i & 1 else outer).update(use_dims(leaf))
        return frozenset(inner & outer) if subset.bit_count() > 1 else frozenset(inner)

    def _size(self, names: frozenset[str], every: int, extents: Extents, n: Numeric) -> Value:
        size: Value = 1.0
        last = extents.sizes["Q"] if "Q" in names else ONE
        for name in sorted(names):
            size = size * n(extents.seen(name, (), last))
        return size / every if every > 1 and "Q" in names else size


def chains(unit: Unit) -> tuple[Chain, ...]:
    """The products of a unit; an einsum joins the one that alone reads its result."""
    readers: dict[Tensor, list[LocalOp | None]] = {}
    for op in unit.ops:
        for use in op.operands:
            plain = op.operator == "einsum" and use.index is None and use.over is None
            readers.setdefault(use.tensor, []).append(op if plain else None)
            if use.index is not None:
                readers.setdefault(use.index, []).append(None)
    for _, tensor in unit.outputs:
        readers.setdefault(tensor, []).append(None)
    parts: dict[Tensor, tuple[tuple[LocalOp, ...], tuple[Use, ...]]] = {}
    found: list[Chain] = []
    for op in unit.ops:
        if op.operator != "einsum":
            continue
        ops: tuple[LocalOp, ...] = ()
        leaves: tuple[Use, ...] = ()
        for use in op.operands:
            if use.index is None and use.tensor in parts:
                inner = parts.pop(use.tensor)
                ops, leaves = (*ops, *inner[0]), (*leaves, *inner[1])
            else:
                leaves = (*leaves, use)
        ops = (*ops, op)
        mine = readers.get(op.result, [])
        if len(mine) == 1 and mine[0] is not None:
            parts[op.result] = ops, leaves
        else:
            found.append(Chain(ops, leaves))
    found += [Chain(*part) for part in parts.values()]
    return tuple(chain for chain in found if len(chain.leaves) > 1)


def _stored(leaf: Use) -> bool:
    return leaf.tensor.kind == "weight" and leaf.index is None


def _subsets(count: int) -> Iterator[int]:
    """Non-empty subsets as bits, smaller ones first."""
    yield from sorted(range(1, 1 << count), key=int.bit_count)


def _splits(subset: int) -> Iterator[tuple[int, int]]:
    """Every way of cutting a subset into two."""
    part = (subset - 1) & subset
    while part:
        if part >= subset ^ part:
            yield part, subset ^ part
        part = (part - 1) & subset


def _partitions(subset: int) -> Iterator[tuple[int, ...]]:
    """Every way of cutting a subset into two or more."""
    first = subset & -subset
    rest = subset ^ first
    part = rest
    while part:
        head, tail = subset ^ part, part
        yield head, tail
        for more in _partitions(tail):
            yield head, *more
        part = (part - 1) & rest
