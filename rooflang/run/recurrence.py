"""Operators that go on from a fixed state, token by token: short convolution and linear recurrence.

Both are exact in the field: they are polynomials of their operands.
"""

from __future__ import annotations

import numpy as np

from rooflang.lowered import LocalOp
from rooflang.operators import scan_keys
from rooflang.run.caches import written
from rooflang.run.local import Local, finish, narrowed, values
from rooflang.run.value import Array, ExecutionError, Value, align


def conv(local: Local, op: LocalOp) -> Value:
    """y_p = Σ_j weight_j · x_{p - n + 1 + j} over n taps; tokens before the step are rows of the state."""
    x, weight, state = values(local, op)
    use = op.operands[2]
    taps = op.operands[1].over
    if taps is None or not state.rules or state.rules[0].fresh or state.rules[0].rows != "window":
        raise ExecutionError(
            "type.state", "conv needs 'over' its taps, and a window of rows as it was before the step"
        )
    n, rule = local.sizes.dim(taps), state.rules[0]
    if n != rule.span + 1:
        raise ExecutionError(
            "type.size", f"conv over {n} taps needs a window of one less, but got {rule.span}"
        )
    lead = 1 + local.lead
    rows, _, _ = written(local, op, 2, x)
    channels = tuple(d for d in op.result.dims if d not in ("B", "Q"))
    rows = align(rows, lead, use.tensor.dims, ("B", rule.dim, *channels))
    positions = local.tokens.positions(narrowed(use.tensor.layout, "B"))
    total: Array | None = None
    for tap in range(n):
        at = positions - n + 1 + tap
        taken = _rows(rows, np.clip(at, 0, rows.shape[lead + 1] - 1), lead)
        taken = (
            taken * align((at >= 0).astype(taken.dtype), local.lead, ("B", "Q"), ("B", "Q", *channels))[None]
        )
        factor = weight.data.take(tap, axis=lead + weight.names.index(taps))
        held = tuple(d for d in weight.names if d != taps)
        part = local.arithmetic.mul(taken, align(factor, lead, held, ("B", "Q", *channels)))
        total = part if total is None else local.arithmetic.add(total, part)
    if total is None:
        raise ExecutionError("execution.operator", "conv needs a tap")
    if local.notice:
        local.notice("taps", local, op, positions, n)
    return finish(local, op, align(total, lead, ("B", "Q", *channels), op.result.dims), x.mask)


def _rows(rows: Array, at: Array, lead: int) -> Array:
    """Rows (level, mesh, B, rows, channels) at places (mesh, B, Q)."""
    tail = [1] * (rows.ndim - lead - 2)
    shape = np.broadcast_shapes(rows.shape[1 : lead + 1], at.shape[:-1])
    rows = np.broadcast_to(rows, (len(rows), *shape, *rows.shape[lead + 1 :]))
    index = np.broadcast_to(at, (*shape, at.shape[-1])).reshape(1, *shape, -1, *tail)
    return np.take_along_axis(rows, index, axis=lead + 1)


def scan(local: Local, op: LocalOp) -> Value:
    """The state after every token: S <- decay·S + k⊗v; with beta the delta rule, which writes
    beta·(v - k·(decay·S)) in place of v."""
    found = values(local, op)
    state, keys, news, decay = found[:4]
    arithmetic, lead = local.arithmetic, 1 + local.lead
    dims = op.operands[0].tensor.dims
    summed = tuple(lead + dims.index(d) for d in dims if d in scan_keys(tuple(v.names for v in found)))
    count = max(v.data.shape[lead + v.names.index("Q")] for v in found if "Q" in v.names)

    def at(value: Value, token: int) -> Array:
        """The value of one token, in the names of the state."""
        if "Q" not in value.names:
            return align(value.data, lead, value.names, dims)
        names = tuple(d for d in value.names if d != "Q")
        return align(value.data.take(token, axis=lead + value.names.index("Q")), lead, names, dims)

    now = state.data
    after: list[Array] = []
    for token in range(count):
        now = arithmetic.mul(now, at(decay, token))
        k, v = at(keys, token), at(news, token)
        if len(found) == 5:
            read = arithmetic.reduce(arithmetic.mul(now, k).sum(axis=summed, keepdims=True))
            v = arithmetic.mul(arithmetic.add(v, arithmetic.negative(read)), at(found[4], token))
        now = arithmetic.add(now, arithmetic.mul(k, v))
        after.append(now)
    shape = np.broadcast_shapes(*(a.shape for a in after))
    stacked = np.stack([np.broadcast_to(a[: len(now)], (len(now), *shape[1:])) for a in after], axis=lead + 1)
    return Value(op.result.dims, align(stacked, lead, ("B", "Q", *dims[1:]), op.result.dims))
