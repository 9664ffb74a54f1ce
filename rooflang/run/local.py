"""What an operator sees while it runs: arithmetic, sizes, the step's tokens, and its operands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from rooflang.layout import Layout, Split, axes_of
from rooflang.lowered import LocalOp, Use
from rooflang.operators import Type, indexed
from rooflang.run.contract import LEVEL, PAIRS
from rooflang.run.field import Field, Reals
from rooflang.run.place import Grid, owner
from rooflang.run.sizes import Sizes
from rooflang.run.tokens import Tokens, sees
from rooflang.run.value import Array, ExecutionError, Mask, RowRule, Value, align, both, union, zeroed


@dataclass(slots=True)
class Local:
    """One pool during one step. `values` holds every tensor that has been computed, by name."""

    arithmetic: Field | Reals
    sizes: Sizes
    tokens: Tokens
    grid: Grid
    values: dict[str, Value]
    notice: Callable[..., None] | None = None

    @property
    def lead(self) -> int:
        return self.grid.rank

    def value(self, name: str) -> Value:
        found = self.values.get(name)
        if found is None:
            raise ExecutionError("graph.undefined", f"{name!r} is read before it is computed")
        return found


@lru_cache(maxsize=4096)
def cells(op: LocalOp, grid: Grid) -> Layout:
    """How the op's tokens and rows are cut: what the result and the operands say per axis."""
    found: dict[tuple[str, str], None] = {}
    for tensor in (op.result, *(u.tensor for u in op.operands)):
        for axis, c in tensor.layout:
            if isinstance(c, Split):
                found[axis, c.dim] = None
    order = {a: i for i, (a, _) in enumerate(grid.axes)}
    return tuple((a, Split(d)) for a, d in sorted(found, key=lambda f: order.get(f[0], -1)) if a in order)


def narrowed(layout: Layout, *dims: str) -> Layout:
    return tuple((a, c) for a, c in layout if isinstance(c, Split) and c.dim in dims)


def rule_mask(local: Local, rule: RowRule, layout: Layout, queries: bool) -> Mask:
    """The rule as a mask where its rows meet the step's tokens."""
    return local.tokens.mask(rule, local.sizes.dim(rule.dim), narrowed(layout, "B", "Q", rule.dim), queries)


def resolved(local: Local, op: LocalOp, value: Value, queries: bool) -> Mask | None:
    """The value's mask with its row rules applied, when tokens are present."""
    mask = value.mask
    if queries:
        layout = cells(op, local.grid)
        for rule in value.rules:
            mask = both(mask, rule_mask(local, rule, layout, True), local.lead)
    return mask


def picked(local: Local, op: LocalOp, use: Use) -> tuple[Value, Array, Array]:
    """For `x[ids]`: the ids, which picks this rank holds and sees (mesh, ids dims), and where."""
    if use.index is None:
        raise ExecutionError("execution.names", "an index is needed")
    x, ids = local.value(use.tensor.name), local.value(use.index.name)
    target = Type(use.index.dims, use.index.dtype).points_into
    if target is None or target not in x.names or not ids.index:
        raise ExecutionError("execution.names", f"{use.index.name} does not point into {use.tensor.name}")
    positions = ids.data[0]
    size = local.sizes.dim(target)
    held, where = owner(
        positions, axes_of(use.tensor.layout, target), local.grid, size, target in local.sizes.rows
    )
    if ids.mask is not None:
        held = held & align(ids.mask.array, local.lead, ids.mask.names, ids.names)
    layout = cells(op, local.grid)
    for rule in x.rules:
        if rule.dim != target or "B" not in ids.names:
            continue
        written = local.tokens.written(rule, narrowed(layout, "B"))
        held = held & (positions < align(written, local.lead, ("B",), ids.names))
        if "Q" in ids.names:
            at = local.tokens.positions(narrowed(layout, "B", "Q"))
            held = held & sees(rule, positions, align(at, local.lead, ("B", "Q"), ids.names))
    return ids, np.broadcast_to(held, np.broadcast_shapes(held.shape, where.shape)), where


def varied(array: Array, grid: Grid, lead: int = 1) -> tuple[str, ...]:
    """Names `@axis` of the mesh axes along which an array differs."""
    return tuple(f"@{a}" for i, (a, _) in enumerate(grid.axes) if array.shape[lead + i] != 1)


def squeezed(array: Array, grid: Grid, lead: int = 1) -> Array:
    """The array without the mesh axes along which it does not vary."""
    return array.squeeze(tuple(lead + i for i in range(grid.rank) if array.shape[lead + i] == 1))


def at_pairs(
    value: Value,
    grid: Grid,
    pair: tuple[str, ...],
    place: tuple[Array, ...],
    target: str | None,
    where: Array | None,
) -> tuple[Array, tuple[str, ...]]:
    """The value's entries at every pair: (level, P, the rest)."""
    names = (*varied(value.data, grid), *value.names)
    data = squeezed(value.data, grid)
    chosen = [n for n in names if n == target or n in pair]
    rest = tuple(n for n in names if n not in chosen)
    if not chosen:
        return data, (LEVEL, *rest)
    order = [0, *(1 + names.index(n) for n in (*chosen, *rest))]
    index = [where if n == target and where is not None else place[pair.index(n)] for n in chosen]
    at: tuple[slice | Array, ...] = (slice(None), *index)
    return data.transpose(order)[at], (LEVEL, PAIRS, *rest)


def pair_names(held: Array, ids: Value, grid: Grid) -> tuple[tuple[str, ...], Array]:
    return (*varied(held, grid, 0), *ids.names), squeezed(held, grid, 0)


def spread(data: Array, shape: tuple[int, ...], place: tuple[Array, ...], fill: int = 0) -> Array:
    """Entries at pairs (level, P, rest) written to their places: (level, pair axes, rest)."""
    out = np.full((data.shape[0], *shape, *data.shape[2:]), fill, dtype=data.dtype)
    at: tuple[slice | Array, ...] = (slice(None), *place)
    out[at] = data
    return out


def unsqueezed(array: Array, names: tuple[str, ...], grid: Grid, dims: tuple[str, ...]) -> Array:
    """(level, names) with `@axis` names among them, as (level, mesh axes, dims)."""
    target = (*(f"@{a}" for a, _ in grid.axes), *dims)
    return align(array, 1, names, target)


def operand(local: Local, op: LocalOp, use: Use) -> Value:
    """The operand as a value, its index applied."""
    x = local.value(use.tensor.name)
    if use.index is None:
        return x
    ids, held, where = picked(local, op, use)
    target = Type(use.index.dims, use.index.dtype).points_into
    names = indexed(Type(x.names, ""), Type(ids.names, use.index.dtype), op.result.name).dims
    pair, flat = pair_names(held, ids, local.grid)
    place = np.nonzero(flat)
    data, data_names = at_pairs(x, local.grid, pair, place, target, np.broadcast_to(where, held.shape)[held])
    rest = data_names[2:]
    full = spread(data, flat.shape, place, -1 if x.index else 0)
    made = unsqueezed(full, (*pair, *rest), local.grid, names)
    mask = Mask(ids.names, held)
    if x.mask is not None and target not in x.mask.names:
        mask = both(mask, x.mask, local.lead) or mask
    rules = tuple(r for r in x.rules if r.dim != target)
    if local.notice:
        local.notice("rows", local, op, use, held, ids)
    return Value(
        names, zeroed(made, names, mask, local.lead, -1 if x.index else 0), mask, rules, x.carrier, x.index
    )


def values(local: Local, op: LocalOp) -> list[Value]:
    found = [operand(local, op, u) for u in op.operands]
    if op.operator not in ("softmax", "logsumexp") and any(v.carrier for v in found):
        raise ExecutionError(
            "type.carrier", f"{op.operator} cannot act on a log-sum-exp: only softmax and logsumexp take it"
        )
    return found


def finish(
    local: Local, op: LocalOp, data: Array, mask: Mask | None, rules: tuple[RowRule, ...] = ()
) -> Value:
    """The result of an operator whose data may be nonzero where it does not exist."""
    names = op.result.dims
    return Value(names, zeroed(data, names, mask, local.lead), mask, rules)


def merged(local: Local, op: LocalOp, found: list[Value]) -> tuple[Mask | None, tuple[RowRule, ...]]:
    """Mask and rules of an element-wise result: it exists where all of its operands do."""
    names = union(*(v.names for v in found))
    queries = "Q" in names
    mask: Mask | None = None
    for v in found:
        mask = both(mask, resolved(local, op, v, queries), local.lead)
    rules = () if queries else tuple(dict.fromkeys(r for v in found for r in v.rules))
    return mask, rules
