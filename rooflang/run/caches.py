"""Operators on states: append, and the linear-attention scan."""

from __future__ import annotations

import numpy as np

from rooflang.lowered import LocalOp
from rooflang.run.local import Local, cells, narrowed, operand
from rooflang.run.value import Array, ExecutionError, RowRule, Value, align


def append(local: Local, op: LocalOp) -> Value:
    """Write the step's rows: row p of every token, or row p // n of tokens that end a block of n."""
    state = op.operands[0].tensor
    old, new = local.value(state.name), operand(local, op, op.operands[1])
    if new.carrier or not old.rules:
        raise ExecutionError(
            "type.state", f"append needs a state and a value, but got {op.operands[1].tensor.name}"
        )
    rule = old.rules[0]
    lead = 1 + local.lead
    dims = state.dims
    layout = cells(op, local.grid)
    if any(c.dim == "Q" for _, c in narrowed(layout, "Q")):  # type: ignore[union-attr]
        raise ExecutionError("placement.append", "the tokens of an append must not be cut: gather Q first")
    rows = local.tokens.rows(rule.dim, local.sizes.dim(rule.dim), narrowed(state.layout, rule.dim))
    start = local.tokens.starts(narrowed(state.layout, "B"))[..., None]
    valid = local.tokens.valid(narrowed(state.layout, "B"))[..., None]
    written = rows * rule.span + rule.span - 1 if rule.rows == "every" else rows
    query = written[..., None, :] - start
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
    merged = np.where(chosen, placed[:levels], old.data[:levels])
    fresh = RowRule(rule.dim, rule.rows, rule.span, True)
    if local.notice:
        local.notice("append", local, op, writes, placed)
    return Value(dims, merged, None, (fresh,))
