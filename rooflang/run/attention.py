"""logsumexp and softmax, rope, topk, sample and pool: operators that know tokens and rows."""

from __future__ import annotations

import numpy as np

from rooflang.layout import Layout
from rooflang.lowered import LocalOp
from rooflang.run.local import Local, cells, finish, narrowed, resolved, values
from rooflang.run.tokens import sees
from rooflang.run.value import Array, ExecutionError, Mask, RowRule, Value, align, zeroed


def logsumexp(local: Local, op: LocalOp) -> Value:
    """The carrier: the joint sum of exponentials of visible entries."""
    found = values(local, op)
    lead, out = 1 + local.lead, op.result.dims
    total: Array | None = None
    for use, v in zip(op.operands, found, strict=True):
        e = v.data if v.carrier else local.arithmetic.exp(v.data)
        e = zeroed(e, v.names, resolved(local, op, v, False), local.lead)
        names = v.names
        if use.over is not None:
            e = local.arithmetic.reduce(e.sum(axis=lead + names.index(use.over)))
            names = tuple(n for n in names if n != use.over)
        e = align(e, lead, names, out)
        total = e if total is None else local.arithmetic.add(total, e)
    if total is None:
        raise ExecutionError("execution.operator", "logsumexp needs an operand")
    return Value(out, total, carrier=True)


def softmax(local: Local, op: LocalOp) -> Value:
    s, l = values(local, op)  # noqa: E741
    if not l.carrier:
        raise ExecutionError("type.carrier", "softmax needs the log-sum-exp of its scores")
    inverse = align(local.arithmetic.inverse(l.data), 1 + local.lead, l.names, s.names)
    data = local.arithmetic.mul(local.arithmetic.exp(s.data), inverse)
    return finish(local, op, data, s.mask)


def rope(local: Local, op: LocalOp) -> Value:
    """Rotation of neighbouring pairs of the last entries by powers of one point per pair."""
    (x,) = values(local, op)
    over = op.operands[0].over
    if over is None or "Q" not in x.names or "B" not in x.names:
        raise ExecutionError("execution.names", "rope needs 'over' and a value of tokens (B, Q)")
    lead = 1 + local.lead
    size = local.sizes.dim(over)
    last = op.attribute("last")
    turned = local.sizes.literal("last", int(last)) if last else size
    pairs = turned // 2
    positions = local.tokens.positions(narrowed(cells(op, local.grid), "B", "Q"))
    every = op.attribute("every")
    if every:
        positions = np.maximum(positions - local.sizes.literal("every", int(every)) + 1, 0)
    top = int(positions.max()) + 1 if positions.size else 1
    table = local.arithmetic.turns(float(op.attribute("theta") or 10000.0), pairs, -(-top // 16) * 16)
    levels = len(x.data)
    others = tuple(n for n in x.names if n != over)
    data = align(x.data, lead, x.names, (*others, over))
    keep = size - 2 * pairs
    a, b = data[..., keep::2], data[..., keep + 1 :: 2]
    names = (*("B", "Q"), over)
    target = (*others, over)
    cosine, sine = (align(t[:levels, positions], lead, names, target) for t in table)
    if op.attribute("inverse"):
        sine = local.arithmetic.negative(sine)
    multiply, plus = local.arithmetic.mul, local.arithmetic.add
    shape = np.broadcast_shapes(a.shape, cosine.shape)
    out = np.empty((*shape[:-1], size), dtype=data.dtype)
    out[..., :keep] = data[..., :keep]
    out[..., keep::2] = plus(multiply(a, cosine), local.arithmetic.negative(multiply(b, sine)))
    out[..., keep + 1 :: 2] = plus(multiply(a, sine), multiply(b, cosine))
    return Value(x.names, align(out, lead, target, x.names), x.mask, x.rules)


def best(keys: Array, seen: Array | None, count: int) -> Array:
    """Positions of the `count` largest keys along the last axis, ties to the lower position; -1 for
    want of visible entries."""
    size = keys.shape[-1]
    rank = keys * size + np.arange(size - 1, -1, -1)
    if seen is not None:
        rank = np.where(seen, rank, -1)
    order = np.argsort(-rank, axis=-1, kind="stable")[..., :count]
    chosen = np.where(np.take_along_axis(rank, order, axis=-1) >= 0, order, -1)
    if size < count:
        pad = [(0, 0)] * (chosen.ndim - 1) + [(0, count - size)]
        chosen = np.pad(chosen, pad, constant_values=-1)
    return chosen


def topk(local: Local, op: LocalOp) -> Value:
    (s,) = values(local, op)
    over = op.operands[0].over
    picks = next((d for d in op.result.dims if d not in s.names), None)
    if over is None or picks is None:
        raise ExecutionError("execution.names", "topk needs 'over' and a name for its picks")
    others = tuple(d for d in op.result.dims if d != picks)
    names = (*others, over)
    keys = align(local.arithmetic.order(s.data)[None], 1 + local.lead, s.names, names)[0]
    mask = resolved(local, op, s, "Q" in s.names)
    seen = None if mask is None else align(mask.array, local.lead, mask.names, names)
    if seen is not None:
        shape = np.broadcast_shapes(keys.shape, seen.shape)
        keys, seen = np.broadcast_to(keys, shape), np.broadcast_to(seen, shape)
    if op.attribute("groups"):
        seen = _groups(local, op, keys, seen)
    chosen = best(keys, seen, local.sizes.dim(picks))
    data = align(chosen, local.lead, (*others, picks), op.result.dims)[None]
    exists = None if seen is None else Mask(op.result.dims, data[0] >= 0)
    return Value(op.result.dims, data, exists, index=True)


def _groups(local: Local, op: LocalOp, keys: Array, seen: Array | None) -> Array:
    """Only entries of the best groups: those with the largest sum of their two best entries."""
    groups = local.sizes.literal("groups", int(op.attribute("groups") or 1))
    kept = local.sizes.literal("keep", int(op.attribute("keep") or groups))
    size = keys.shape[-1]
    if size % groups:
        raise ExecutionError("type.size", f"{size} entries must divide into {groups} groups")
    shown = keys if seen is None else np.where(seen, keys, 0)
    ranked = np.sort(shown.reshape(*keys.shape[:-1], groups, size // groups), axis=-1)
    chosen = best(ranked[..., -2:].sum(axis=-1), None, kept)
    member = (np.arange(groups)[:, None] == chosen[..., None, :]).any(axis=-1)
    inside = np.repeat(member, size // groups, axis=-1)
    return inside if seen is None else inside & seen


def sample(local: Local, op: LocalOp) -> Value:
    """The position of the largest logit (plus noise)."""
    found = values(local, op)
    over = op.operands[0].over
    names = (*op.result.dims, over or "")
    lead = 1 + local.lead
    data = align(found[0].data, lead, found[0].names, names)
    for v in found[1:]:
        data = local.arithmetic.add(data, align(v.data, lead, v.names, names))
    keys = local.arithmetic.order(data)
    mask = found[0].mask
    seen = None if mask is None else align(mask.array, local.lead, mask.names, names)
    return Value(op.result.dims, best(keys, seen, 1)[..., 0][None], index=True)


def pool(local: Local, op: LocalOp) -> Value:
    """Softmax-weighted sum per channel over the raw rows of the block that a token ends.

    With `overlap` series 1 of Z covers the block before and series 0 this block, under one softmax.
    """
    found = values(local, op)
    raw, score = found[0], found[1]
    over = op.operands[0].over
    span = local.sizes.literal("every", int(op.attribute("every") or 1))
    overlap = bool(op.attribute("overlap"))
    if over is None or over not in score.names:
        raise ExecutionError("execution.names", "pool needs rows of raw values and of scores")
    lead, arithmetic = 1 + local.lead, local.arithmetic
    layout = narrowed(cells(op, local.grid), "B", "Q")
    positions = local.tokens.positions(layout)
    channels = tuple(d for d in op.result.dims if d not in ("B", "Q"))
    names = ("B", "Q", over, *channels)
    end = (positions + 1) % span == 0
    series: list[tuple[Array, Array, Array]] = []
    for z, back in ((1, span), (0, 0)) if overlap else ((None, 0),):
        rows = positions[..., None] - back - span + 1 + np.arange(span)
        seen: Array = rows >= 0
        for rule in {*raw.rules, *score.rules}:
            seen = seen & _row_seen(local, rule, rows, positions, layout)
        taken = [_rows(v, z, over, rows, lead, names) for v in (raw, score)]
        if len(found) > 2:
            bias = _bias(found[2], z, names, over, lead, channels)
            taken[1] = arithmetic.add(taken[1], bias)
        shown = align(seen, local.lead, ("B", "Q", over), names)
        weight = arithmetic.exp(taken[1]) * shown[None]
        series.append((taken[0], weight, shown))
    axis = lead + 2
    top = below = None
    for value, weight, _ in series:
        part = arithmetic.reduce(arithmetic.mul(value, weight).sum(axis=axis))
        total = arithmetic.reduce(weight.sum(axis=axis))
        top = part if top is None else arithmetic.add(top, part)
        below = total if below is None else arithmetic.add(below, total)
    if top is None or below is None:
        raise ExecutionError("execution.operator", "pool needs rows")
    data = arithmetic.mul(top, arithmetic.inverse(below))
    exists = Mask(("B", "Q"), end)
    return finish(local, op, align(data, lead, ("B", "Q", *channels), op.result.dims), exists)


def _row_seen(local: Local, rule: RowRule, rows: Array, positions: Array, layout: Layout) -> Array:
    written = local.tokens.written(rule, narrowed(layout, "B"))[..., None, None]
    seen: Array = sees(rule, rows, positions[..., None]) & (rows < written)
    return seen


def _rows(v: Value, series: int | None, over: str, rows: Array, lead: int, names: tuple[str, ...]) -> Array:
    """Rows of a state at (mesh, B, Q, block): (level, mesh, B, Q, block, channels)."""
    data, held = v.data, v.names
    if series is not None:
        data = data.take(series, axis=lead + held.index("Z"))
        held = tuple(n for n in held if n != "Z")
    rest = tuple(n for n in held if n not in ("B", over))
    data = align(data, lead, held, ("B", over, *rest))
    flat = np.clip(rows, 0, data.shape[lead + 1] - 1).reshape(*rows.shape[:-2], -1)
    index = flat.reshape(1, *flat.shape, *([1] * len(rest)))
    shape = np.broadcast_shapes(data.shape[: lead + 1], index.shape[: lead + 1])
    data = np.broadcast_to(data, (*shape, *data.shape[lead + 1 :]))
    index = np.broadcast_to(index, (1, *shape[1:], *index.shape[lead + 1 :]))
    taken = np.take_along_axis(data, index, axis=lead + 1)
    taken = taken.reshape(*taken.shape[: lead + 1], *rows.shape[-2:], *taken.shape[lead + 2 :])
    return align(taken, lead, ("B", "Q", over, *rest), names)


def _bias(
    v: Value, series: int | None, names: tuple[str, ...], over: str, lead: int, channels: tuple[str, ...]
) -> Array:
    """The bias of the scores; the one name that scores do not have is the place within the block."""
    data, held = v.data, v.names
    if series is not None and "Z" in held:
        data = data.take(series, axis=lead + held.index("Z"))
        held = tuple(n for n in held if n != "Z")
    held = tuple(over if n not in channels else n for n in held)
    return align(data, lead, held, names)
