"""Writing to states: rows of caches, and what the last token left."""

from __future__ import annotations

import numpy as np

from rooflang.lowered import LocalOp
from rooflang.run.local import Local, cells, narrowed, operand
from rooflang.run.value import Array, ExecutionError, RowRule, Value, align


def append(local: Local, op: LocalOp) -> Value:
    """Write the step's rows: row p of every token, or row p // n of tokens that end a block of n.

    A state of the last token becomes the value of the sequence's last token.
    """
    state = op.operands[0].tensor
    old, new = local.value(state.name), operand(local, op, op.operands[1])
    if any(c.dim == "Q" for _, c in narrowed(cells(op, local.grid), "Q")):  # type: ignore[union-attr]
        raise ExecutionError("placement.append", "the tokens of an append must not be cut: gather Q first")
    if new.carrier or new.index or (not old.rules and state.rows != "last"):
        raise ExecutionError(
            "type.state", f"append needs a state and a value, but got {op.operands[1].tensor.name}"
        )
    if state.rows == "last":
        return Value(state.dims, _last(local, op, old, new))
    merged, writes, placed = written(local, op, 0, new)
    rule = old.rules[0]
    if local.notice:
        local.notice("append", local, op, writes, placed)
    return Value(state.dims, merged, None, (RowRule(rule.dim, rule.rows, rule.span, True),))


def written(local: Local, op: LocalOp, position: int, new: Value) -> tuple[Array, Array, Array]:
    """The rows of the state that stands at this position once `new` is in it, which of them are new, and
    the new rows at all places."""
    state = op.operands[position].tensor
    old = local.value(state.name)
    rule = old.rules[0]
    lead = 1 + local.lead
    dims = state.dims
    rows = local.tokens.rows(rule.dim, local.sizes.dim(rule.dim), narrowed(state.layout, rule.dim))
    start = local.tokens.starts(narrowed(state.layout, "B"))[..., None]
    valid = local.tokens.valid(narrowed(state.layout, "B"))[..., None]
    ends = rows * rule.span + rule.span - 1 if rule.rows == "every" else rows
    query = ends[..., None, :] - start
    writes = (query >= 0) & (query < valid)
    data = align(new.data, lead, new.names, ("B", "Q", *dims[2:]))
    shape = np.broadcast_shapes(data.shape[1 : lead + 1], query.shape[:-1])
    data = np.broadcast_to(data, (len(data), *shape, *data.shape[lead + 1 :]))
    index = np.clip(np.where(writes, query, 0), 0, data.shape[lead + 1] - 1)
    tail = [1] * (len(dims) - 2)
    index = np.broadcast_to(index, (*shape, index.shape[-1])).reshape(1, *shape, -1, *tail)
    placed = np.take_along_axis(data, index, axis=lead + 1)
    levels = min(len(old.data), len(placed))
    chosen: Array = writes.reshape(1, *writes.shape, *tail)
    return np.where(chosen, placed[:levels], old.data[:levels]), writes, placed


def _last(local: Local, op: LocalOp, old: Value, new: Value) -> Array:
    """The value of each sequence's last token; the old one where a sequence adds none."""
    state = op.operands[0].tensor
    lead = 1 + local.lead
    valid = local.tokens.valid(narrowed(state.layout, "B"))
    data = align(new.data, lead, new.names, ("B", "Q", *state.dims[1:]))
    shape = np.broadcast_shapes(data.shape[1 : lead + 1], valid.shape)
    data = np.broadcast_to(data, (len(data), *shape, *data.shape[lead + 1 :]))
    tail = [1] * (len(state.dims) - 1)
    index = np.broadcast_to(np.maximum(valid - 1, 0), shape).reshape(1, *shape, 1, *tail)
    taken = np.take_along_axis(data, index, axis=lead + 1).squeeze(lead + 1)
    levels = min(len(old.data), len(taken))
    adds: Array = (valid > 0).reshape(1, *valid.shape, *tail)
    if local.notice:
        local.notice("kept", local, op, taken)
    return np.where(adds, taken[:levels], old.data[:levels])
