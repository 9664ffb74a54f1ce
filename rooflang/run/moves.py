"""Collectives: what every rank holds after data has moved between ranks.

Only local data moves: a rank that holds wrong data passes wrong data on. Within a pool each collective
acts along its axes and leaves the other axes alone; between pools the value is put together (replicas
that disagree are a failure, not a choice) and cut for the other mesh.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rooflang.layout import Partial, Split
from rooflang.lowered import LocalOp, Tensor, Unit
from rooflang.run.attention import best
from rooflang.run.field import word
from rooflang.run.local import Local
from rooflang.run.place import collect, cut, distribute, gather, owner
from rooflang.run.value import Array, ExecutionError, Mask, Value, align, both, union, zeroed


def move(local: Local, op: LocalOp, unit: Unit, remote: Local | None) -> Value:
    """The value after one collective. `remote` is the pool that the value comes from, if another."""
    source = op.operands[0].tensor
    if remote is not None:
        return _cross(local, remote, op, unit)
    x = local.value(source.name)
    dim = str(op.attribute("dim") or "")
    match op.operator:
        case "all_reduce":
            return _reduce(local, x, op.axes)
        case "reduce_scatter":
            return _cut(local, _reduce(local, x, op.axes), op.axes, dim)
        case "all_gather":
            return _gather(local, x, op.axes, dim)
        case "all_to_all":
            return _cut(local, _gather(local, x, op.axes, dim), op.axes, str(op.attribute("to") or ""))
        case "cut":
            return _cut(local, x, op.axes, dim)
        case "keep":
            return _keep(local, x, op.axes, dim)
        case "combine":
            return _cut(local, _reduce(local, x, op.axes), op.axes, dim)
        case "dispatch":
            whole = _gather(local, x, op.axes, dim) if dim else x
            ids = _as_sent(local, _ids(local, op, unit), op.result)
            return _present(local, whole, _held(local, op, unit, ids))
        case "gather_top":
            return _gather_top(local, op, x, dim)
    raise ExecutionError("execution.operator", f"{op.operator} has no meaning within a pool")


def _axis(local: Local, axis: str) -> tuple[int, int]:
    return local.grid.position(axis), local.grid.size(axis)


def _reduce(local: Local, x: Value, axes: tuple[str, ...]) -> Value:
    """Ranks add up; an entry exists where it exists on any rank. Absent positions count as none."""
    data, mask = x.data, x.mask
    if x.index:
        data = data + 1
    for axis in axes:
        position, ranks = _axis(local, axis)
        if data.shape[1 + position] == 1:
            data = data * np.asarray(ranks, dtype=data.dtype)
        else:
            data = data.sum(axis=1 + position, keepdims=True)
        if mask is not None and mask.array.shape[position] != 1:
            mask = Mask(mask.names, np.asarray(mask.array.any(axis=position, keepdims=True)))
        if not x.index:
            data = local.arithmetic.reduce(data)
    return replace(x, data=data - 1 if x.index else data, mask=mask)


def _gather(local: Local, x: Value, axes: tuple[str, ...], dim: str) -> Value:
    if dim not in x.names:
        raise ExecutionError("execution.names", f"{dim} is not a dimension of what is gathered")
    data, mask = x.data, x.mask
    lead, cyclic = local.lead, dim in local.sizes.rows
    for axis in reversed([a for a, _ in local.grid.axes if a in axes]):
        position, ranks = _axis(local, axis)
        if mask is not None and (mask.array.shape[position] != 1 or dim in mask.names):
            mask = _with(mask, dim, data.shape[1 + lead + x.names.index(dim)], lead)
            mask = Mask(mask.names, gather(mask.array, position, lead + mask.names.index(dim), ranks, cyclic))
        data = gather(data, 1 + position, 1 + lead + x.names.index(dim), ranks, cyclic)
    return replace(x, data=data, mask=mask)


def _with(mask: Mask, dim: str, size: int, lead: int) -> Mask:
    names = union(mask.names, (dim,))
    array = align(mask.array, lead, mask.names, names)
    shape = list(array.shape)
    shape[lead + names.index(dim)] = size
    return Mask(names, np.broadcast_to(array, shape))


def _cut(local: Local, x: Value, axes: tuple[str, ...], dim: str) -> Value:
    if dim not in x.names:
        raise ExecutionError("execution.names", f"{dim} is not a dimension of what is cut")
    data, mask = x.data, x.mask
    lead, cyclic = local.lead, dim in local.sizes.rows
    for axis in (a for a, _ in local.grid.axes if a in axes):
        position, ranks = _axis(local, axis)
        data = cut(data, 1 + position, 1 + lead + x.names.index(dim), ranks, cyclic)
        if mask is not None and dim in mask.names:
            array = mask.array
            at = lead + mask.names.index(dim)
            mask = mask if array.shape[at] == 1 else Mask(mask.names, cut(array, position, at, ranks, cyclic))
    return replace(x, data=data, mask=mask)


def _keep(local: Local, x: Value, axes: tuple[str, ...], dim: str) -> Value:
    """One holder per entry: the first rank of each axis, or the rank whose part it is."""
    if not dim:
        held: Array = np.ones([1] * local.lead, dtype=bool)
        for axis in axes:
            held = held & (local.grid.coordinate(axis) == 0)
        return _present(local, x, Mask((), held))
    whole = _gather(local, x, axes, dim)
    size = whole.data.shape[1 + local.lead + x.names.index(dim)]
    places = np.arange(size).reshape(*([1] * local.lead), size)
    held, _ = owner(
        places, tuple(a for a, _ in local.grid.axes if a in axes), local.grid, size, dim in local.sizes.rows
    )
    return _present(local, whole, Mask((dim,), held))


def _present(local: Local, x: Value, held: Mask) -> Value:
    """The value on the ranks that hold it; absent entries elsewhere."""
    names = tuple(n for n in held.names if n in x.names)
    if names != held.names:
        raise ExecutionError("execution.names", "rows are held by names that the value does not have")
    data = zeroed(x.data, x.names, held, local.lead, -1 if x.index else 0)
    return replace(x, data=data, mask=both(x.mask, held, local.lead))


def _ids(local: Local, op: LocalOp, unit: Unit) -> tuple[Tensor, Value]:
    """The choice that routes this value, as its own ranks know it."""
    name = tag = str(op.attribute("routed") or "")
    for other in unit.ops:
        for tensor in (other.result, *(u.tensor for u in other.operands)):
            if tensor.name == name and name in local.values:
                return tensor, local.values[name]
    raise ExecutionError("graph.undefined", f"the choice {tag!r} is not known where its rows are sent")


def _as_sent(local: Local, found: tuple[Tensor, Value], result: Tensor) -> Value:
    """The choice, put together and cut again as the rows that it routes are cut when they have arrived."""
    tensor, ids = found
    for axis, c in reversed(tensor.layout):
        if isinstance(c, Split):
            ids = _gather(local, ids, (axis,), c.dim)
    for axis, c in result.layout:
        if isinstance(c, Split) and c.dim in ids.names:
            ids = _cut(local, ids, (axis,), c.dim)
    return ids


def _held(local: Local, op: LocalOp, unit: Unit, ids: Value) -> Mask:
    """Rows (the ids' dims without the picks) present on each rank: any pick lies there."""
    tag = op.attribute("routed")
    routing = next((r for r in unit.routings if r.tag == tag), None)
    if routing is None:
        raise ExecutionError("graph.undefined", f"the choice {tag!r} routes nothing")
    axes = routing.axes or op.axes
    size, cyclic = local.sizes.dim(routing.target), routing.target in local.sizes.rows
    # Where another axis keeps its own rows, rows for all of its ranks travel along this one.
    among = tuple(a for a, c in op.result.layout if isinstance(c, Partial))
    held, _ = owner(ids.data[0], axes, local.grid, size, cyclic, among)
    lost = tuple(local.lead + ids.names.index(n) for n in routing.picks if n in ids.names)
    if local.notice:
        local.notice("routed", local, op, routing, held, ids)
    return Mask(tuple(n for n in ids.names if n not in routing.picks), np.asarray(held.any(axis=lost)))


def _gather_top(local: Local, op: LocalOp, x: Value, dim: str) -> Value:
    """Every rank's best candidates, visible to all; the rest is absent."""
    picks = str(op.attribute("k") or "")
    count = local.sizes.dim(picks) if picks else 1
    others = tuple(n for n in x.names if n != dim)
    names = (*others, dim)
    whole_order = local.arithmetic.order(x.data)
    keys = align(whole_order[None], 1 + local.lead, x.names, names)[0]
    seen = None
    if x.mask is not None:
        seen = align(x.mask.array, local.lead, x.mask.names, names)
        shape = np.broadcast_shapes(keys.shape, seen.shape)
        keys, seen = np.broadcast_to(keys, shape), np.broadcast_to(seen, shape)
    chosen = best(keys, seen, min(count, keys.shape[-1]))
    candidates = (np.arange(keys.shape[-1])[:, None] == chosen[..., None, :]).any(axis=-1)
    mask = both(x.mask, Mask(names, candidates), local.lead)
    data = zeroed(x.data, x.names, mask, local.lead)
    return _gather(local, replace(x, data=data, mask=mask), op.axes, dim)


def whole(home: Local, tensor: Tensor, x: Value) -> tuple[Value, bool]:
    """The global value without mesh axes, and whether its replicas agree."""
    data, agree = collect(x.data, 1, x.names, tensor.layout, home.grid, home.sizes.rows)
    mask = x.mask
    if mask is not None:
        for axis, c in tensor.layout:
            if isinstance(c, Split) and (
                mask.array.shape[home.grid.position(axis)] != 1 or c.dim in mask.names
            ):
                mask = _with(mask, c.dim, x.data.shape[1 + home.lead + x.names.index(c.dim)], home.lead)
        array, same = collect(mask.array, 0, mask.names, tensor.layout, home.grid, home.sizes.rows)
        mask, agree = Mask(mask.names, array), agree and same
    return replace(x, data=data, mask=mask), agree


def placed(home: Local, tensor: Tensor, x: Value) -> Value:
    """A global value cut over the mesh of its pool."""
    data = distribute(x.data, 1, x.names, tensor.layout, home.grid, home.sizes.rows)
    mask = x.mask
    if mask is not None:
        mask = Mask(
            mask.names, distribute(mask.array, 0, mask.names, tensor.layout, home.grid, home.sizes.rows)
        )
    return replace(x, data=data, mask=mask)


def _cross(local: Local, remote: Local, op: LocalOp, unit: Unit) -> Value:
    source = op.operands[0].tensor
    x = remote.value(source.name)
    partial = tuple(a for a, c in source.layout if isinstance(c, Partial))
    if op.operator == "combine":
        x = _reduce(remote, x, partial)
        source = replace(source, layout=tuple((a, c) for a, c in source.layout if a not in partial))
    found, agree = whole(remote, source, x)
    if not agree:
        raise ExecutionError(
            "replica.mismatch", f"{source.name} is sent to another pool, but its replicas differ"
        )
    made = placed(local, op.result, found)
    if op.operator != "dispatch":
        return made
    tensor, ids = _ids(remote, op, unit)
    every, agree = whole(remote, tensor, ids)
    if not agree:
        raise ExecutionError(
            "replica.mismatch", f"{tensor.name} routes rows to another pool, but its replicas differ"
        )
    routed = tuple(a for a, c in op.result.layout if isinstance(c, Partial))
    cells = tuple(
        (a, c) for a, c in op.result.layout if a not in routed and isinstance(c, Split) and c.dim in ids.names
    )
    here = placed(local, replace(tensor, layout=cells, pool=op.result.pool), every)
    return _present(local, made, _held(local, op, unit, here))


def summed(home: Local, tensor: Tensor, x: Value) -> tuple[Value, bool]:
    """The global value that a layout stands for, partial ranks added up."""
    partial = tuple(a for a, c in tensor.layout if isinstance(c, Partial))
    if any(isinstance(c, Partial) and c.kind == "any" for _, c in tensor.layout):
        raise ExecutionError("placement.partial", f"{tensor.name} leaves its section spread over its choices")
    layout = tuple((a, c) for a, c in tensor.layout if a not in partial)
    return whole(home, replace(tensor, layout=layout), _reduce(home, x, partial))


def shared(home: Local, tensor: Tensor, x: Value) -> Value:
    """A global value as its layout holds it: cut, and random shares along axes of partial sums."""
    made = placed(home, tensor, x)
    for axis, c in tensor.layout:
        if not isinstance(c, Partial):
            continue
        if c.routed is not None and c.kind != "sum":
            raise ExecutionError(
                "placement.partial", f"{tensor.name} enters its section spread over its choices"
            )
        if c.kind == "one" or made.index:
            held: Array = home.grid.coordinate(axis) == 0
            made = _present(home, made, Mask((), held))
            continue
        position, ranks = _axis(home, axis)
        shape = list(made.data.shape)
        shape[1 + position] = ranks
        rng = np.random.default_rng(word("shares", tensor.name, axis))
        noise = home.arithmetic.random(rng, tuple(shape), len(made.data))
        rest = np.moveaxis(noise, 1 + position, 0)[1:]
        total = home.arithmetic.reduce(rest.sum(axis=0, keepdims=False))
        first = home.arithmetic.add(made.data, home.arithmetic.negative(np.expand_dims(total, 1 + position)))
        index = (slice(None),) * (1 + position)
        noise[(*index, slice(0, 1))] = first
        made = replace(made, data=noise, mask=None)
    return made
