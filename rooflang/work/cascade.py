"""A prefix that sequences share: rows of a cache that a cascade reads once per group, and memory holds once.

How many tokens the prefix has and how many sequences share it is for whoever evaluates; with one, nothing
is saved.
"""

from __future__ import annotations

from rooflang.lowered import LocalOp, Tensor
from rooflang.size import ONE, Size, ceildiv, div, maximum, minimum, mul, substitute, symbol
from rooflang.work.extent import Extents, cuts_of
from rooflang.work.ragged import CONTEXT

SHARED_PREFIX = "shared prefix"
SHARERS = "sharing sequences"
"""Symbols of sizes; no axis can have these names."""


def share_read(state: Tensor, extents: Extents, op: LocalOp) -> Size:
    """Of the rows that sequences see one by one, the part that is read where a shared prefix is read once."""
    cuts = {**cuts_of(state), **{d: a for d, a in op.sharding if d == "B"}}
    return share_held(state, extents, cuts.get("B", ()))


def share_held(state: Tensor, extents: Extents, axes: tuple[str, ...]) -> Size:
    """The part of a cache that is left where the rows of a shared prefix are held once per group."""
    if state.rows not in ("append", "every") or "S" not in extents.sizes[state.dims[1]].symbols():
        return ONE
    rows = extents.sizes[state.dims[1]]
    shared = div(substitute(rows, {"S": minimum(symbol(SHARED_PREFIX), CONTEXT)}), maximum(rows, 1))
    batch = extents.dim("B", axes)
    return ONE - mul(shared, ONE - div(ceildiv(batch, symbol(SHARERS)), batch))


def merges(op: LocalOp) -> bool:
    """Whether an operator sums over the rows of a whole cache: attention's second product."""
    return op.operator == "einsum" and any(
        u.tensor.kind == "state"
        and u.index is None
        and u.tensor.rows in ("append", "every")
        and u.tensor.dims[1] not in op.result.dims
        for u in op.operands
    )
