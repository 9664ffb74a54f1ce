"""Linear operators: einsum (dense or over picked rows), add, mul, scale, cast and the views."""

from __future__ import annotations

import numpy as np

from rooflang.layout import Partial
from rooflang.lowered import LocalOp
from rooflang.operators import Type
from rooflang.run.contract import LEVEL, PAIRS, contract
from rooflang.run.local import (
    Local,
    at_pairs,
    cells,
    finish,
    merged,
    operand,
    pair_names,
    picked,
    rule_mask,
    spread,
    squeezed,
    unsqueezed,
    values,
    varied,
)  # fmt: skip
from rooflang.run.value import Array, ExecutionError, Mask, RowRule, Value, align, both, union, zeroed


def einsum(local: Local, op: LocalOp) -> Value:
    """Sum over names absent from the result; picked operands are contracted pick by pick."""
    indexes = {u.index.name for u in op.operands if u.index is not None}
    plain = [u for u in op.operands if u.index is None]
    if len(indexes) == 1 and not any(local.value(u.tensor.name).rules for u in plain):
        return _picked_einsum(local, op)
    found = values(local, op)
    names = union(*(v.names for v in found))
    out = op.result.dims
    queries = "Q" in names
    layout = cells(op, local.grid)
    arrays = [v.data for v in found]
    held: list[tuple[str, ...]] = [v.names for v in found]
    mask: Mask | None = None
    cover: Mask | None = None
    for position, v in enumerate(found):
        if v.mask is not None and set(v.mask.names) <= set(out):
            mask = both(mask, v.mask, local.lead)
        for rule in v.rules if queries else ():
            seen = rule_mask(local, rule, layout, True)
            if set(seen.names) <= set(out):
                mask = cover = both(mask, seen, local.lead)
            else:
                _hide(local, found, arrays, held, position, seen)
    named = [
        (squeezed(a, local.grid), (LEVEL, *varied(a, local.grid), *n))
        for a, n in zip(arrays, held, strict=True)
    ]
    axes = tuple(n for n in union(*(n for _, n in named)) if n.startswith("@"))
    axes = tuple(f"@{a}" for a, _ in local.grid.axes if f"@{a}" in axes)
    data = unsqueezed(contract(local.arithmetic, named, (LEVEL, *axes, *out)), (*axes, *out), local.grid, out)
    rules: tuple[RowRule, ...] = ()
    if not queries:
        rules = tuple(dict.fromkeys(r for v in found for r in v.rules if r.dim in out))
    if local.notice:
        local.notice("points", local, op, found)
    return Value(out, zeroed(data, out, cover, local.lead), mask, rules)


def _hide(
    local: Local,
    found: list[Value],
    arrays: list[Array],
    held: list[tuple[str, ...]],
    position: int,
    seen: Mask,
) -> None:
    """Rows that a query does not see must not enter a sum over rows."""
    for j, v in enumerate(found):
        if set(seen.names) <= set(v.names):
            if v.mask is None or v.mask.array is not seen.array:
                arrays[j] = zeroed(arrays[j], v.names, seen, local.lead)
            return
    names = union(found[position].names, seen.names)
    arrays[position] = zeroed(
        align(arrays[position], 1 + local.lead, held[position], names), names, seen, local.lead
    )
    held[position] = names


def _picked_einsum(local: Local, op: LocalOp) -> Value:
    grid, out = local.grid, op.result.dims
    chosen = [picked(local, op, u) for u in op.operands if u.index is not None]
    ids = chosen[0][0]
    held: Array = chosen[0][1]
    for _, other, _ in chosen[1:]:
        held = held & other
    pair, flat = pair_names(held, ids, grid)
    place = np.nonzero(flat)
    wheres = iter(np.broadcast_to(w, held.shape)[held] for _, _, w in chosen)
    named = []
    mask: Mask | None = None
    for use in op.operands:
        x = local.value(use.tensor.name)
        if x.mask is not None and set(x.mask.names) <= set(out):
            mask = both(mask, x.mask, local.lead)
        if use.index is None:
            named.append(at_pairs(x, grid, pair, place, None, None))
        else:
            target = Type(use.index.dims, use.index.dtype).points_into
            named.append(at_pairs(x, grid, pair, place, target, next(wheres)))
    if not any(PAIRS in n for _, n in named):
        raise ExecutionError("execution.names", "nothing is picked")
    rest = tuple(n for n in out if n not in ids.names)
    axes = tuple(n for n in union(*(n for _, n in named)) if n.startswith("@") and n not in pair)
    made = contract(local.arithmetic, named, (LEVEL, PAIRS, *axes, *rest))
    full = spread(made, flat.shape, place)
    names = (*pair, *axes, *rest)
    lost = tuple(1 + names.index(n) for n in ids.names if n not in out)
    if lost:
        full = local.arithmetic.reduce(full.sum(axis=lost))
        names = tuple(n for n in names if n in out or n.startswith("@"))
    else:
        mask = both(mask, Mask(ids.names, held), local.lead)
    if local.notice:
        for use in op.operands:
            if use.index is not None:
                local.notice("rows", local, op, use, held, ids)
        local.notice("pairs", local, op, named, held)
    return Value(out, unsqueezed(full, names, grid, out), mask)


def add(local: Local, op: LocalOp) -> Value:
    """Sum by name. Along partial axes an entry exists where any rank's part does."""
    found = values(local, op)
    names, lead = op.result.dims, 1 + local.lead
    data = local.arithmetic.add(*(align(v.data, lead, v.names, names) for v in found))
    if any(isinstance(c, Partial) for _, c in op.result.layout):
        a, b = found[0].mask, found[1].mask
        if a is None or b is None:
            return Value(names, data)
        joint = union(a.names, b.names)
        either = align(a.array, local.lead, a.names, joint) | align(b.array, local.lead, b.names, joint)
        return Value(names, data, Mask(joint, either))
    mask, rules = merged(local, op, found)
    return finish(local, op, data, mask, rules)


def mul(local: Local, op: LocalOp) -> Value:
    found = values(local, op)
    names, lead = op.result.dims, 1 + local.lead
    data = local.arithmetic.mul(*(align(v.data, lead, v.names, names) for v in found))
    mask, rules = merged(local, op, found)
    return finish(local, op, data, mask, rules)


def scale(local: Local, op: LocalOp) -> Value:
    (x,) = values(local, op)
    by = op.attribute("by", 1.0)
    return Value(x.names, local.arithmetic.scale(x.data, float(by or 0.0)), x.mask, x.rules)


def cast(local: Local, op: LocalOp) -> Value:
    """A change of format: the identity (rounding is not modelled; narrowing is refused elsewhere)."""
    return values(local, op)[0]


def gather(local: Local, op: LocalOp) -> Value:
    x = operand(local, op, op.operands[0])
    return Value(
        op.result.dims, align(x.data, 1 + local.lead, x.names, op.result.dims), x.mask, x.rules, index=x.index
    )


def concat(local: Local, op: LocalOp) -> Value:
    found = values(local, op)
    whole = next(d for d in op.result.dims if d not in found[0].names)
    parts = []
    for use, v in zip(op.operands, found, strict=True):
        if use.over is None:
            raise ExecutionError("execution.names", "concat needs 'over' on each operand")
        if v.mask is not None and use.over in v.mask.names:
            raise ExecutionError("execution.names", f"rows of {use.over} cannot be laid end to end")
        parts.append((v.data, tuple(whole if n == use.over else n for n in v.names)))
    levels = min(len(d) for d, _ in parts)
    aligned = [align(d[:levels], 1 + local.lead, n, op.result.dims) for d, n in parts]
    axis = 1 + local.lead + op.result.dims.index(whole)
    shape = np.broadcast_shapes(*(a.shape[:axis] + a.shape[axis + 1 :] for a in aligned))
    full = [np.broadcast_to(a, (*shape[:axis], a.shape[axis], *shape[axis:])) for a in aligned]
    mask, rules = merged(local, op, found)
    return finish(local, op, np.concatenate(full, axis=axis), mask, rules)


def slice_(local: Local, op: LocalOp) -> Value:
    (x,) = values(local, op)
    whole = op.operands[0].over or next(n for n in x.names if n not in op.result.dims)
    part = next(d for d in op.result.dims if d not in x.names)
    start = local.sizes.literal("start", int(op.attribute("start") or 0))
    stop = start + local.sizes.dim(part)
    axis = 1 + local.lead + x.names.index(whole)
    if stop > x.data.shape[axis]:
        raise ExecutionError("type.size", f"a slice of {part} from {start} must end within {whole}")
    data = x.data[(*([slice(None)] * axis), slice(start, stop))]
    names = tuple(part if n == whole else n for n in x.names)
    return Value(op.result.dims, align(data, 1 + local.lead, names, op.result.dims), x.mask, x.rules)


def split(local: Local, op: LocalOp) -> Value:
    """H = G·J: the outer part takes the blocks that H was cut into."""
    (x,) = values(local, op)
    whole = op.operands[0].over or next(n for n in x.names if n not in op.result.dims)
    parts = tuple(d for d in op.result.dims if d not in x.names)
    inner = 1
    for d in parts[1:]:
        inner *= local.sizes.dim(d)
    axis = 1 + local.lead + x.names.index(whole)
    size = x.data.shape[axis]
    if size % inner:
        raise ExecutionError("type.size", f"{whole} must be the product of {' and '.join(parts)}")
    shape = (size // inner, *(local.sizes.dim(d) for d in parts[1:]))
    data = x.data.reshape(*x.data.shape[:axis], *shape, *x.data.shape[axis + 1 :])
    at = x.names.index(whole)
    names = (*x.names[:at], *parts, *x.names[at + 1 :])
    mask = x.mask
    if mask is not None and whole in mask.names:
        raise ExecutionError("execution.names", f"{whole} has absent entries and cannot be split")
    return Value(
        op.result.dims, align(data, 1 + local.lead, names, op.result.dims), mask, x.rules, index=x.index
    )


def merge(local: Local, op: LocalOp) -> Value:
    (x,) = values(local, op)
    whole = next(d for d in op.result.dims if d not in x.names)
    parts = tuple(n for n in x.names if n not in op.result.dims)
    outer = op.operands[0].over
    if outer in parts and outer is not None:
        parts = (outer, *(p for p in parts if p != outer))
    kept = tuple(n for n in x.names if n not in parts)
    data = align(x.data, 1 + local.lead, x.names, (*kept, *parts))
    data = data.reshape(*data.shape[: 1 + local.lead + len(kept)], -1)
    if x.mask is not None and set(parts) & set(x.mask.names):
        raise ExecutionError("execution.names", f"{whole} would hold absent entries")
    return Value(
        op.result.dims,
        align(data, 1 + local.lead, (*kept, whole), op.result.dims),
        x.mask,
        x.rules,
        index=x.index,
    )
