"""Wrong lowered programs: the kinds of bug that real systems have, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from rooflang.layout import Partial, Split
from rooflang.lowered import LocalOp, Lowered, Tensor, Unit, Use

Change = Callable[[LocalOp], LocalOp | None]


def with_unit(lowered: Lowered, path: str, change: Callable[[Unit], Unit]) -> Lowered:
    segments = tuple(
        replace(s, units=tuple(change(u) if u.path == path else u for u in s.units)) for s in lowered.segments
    )
    return replace(lowered, segments=segments)


def rebuilt(unit: Unit, name: str, change: Change) -> Unit:
    """The unit with one op changed (or removed: its operand stands for its result)."""
    names: dict[str, Tensor] = {}
    ops = []

    def now(t: Tensor) -> Tensor:
        return names.get(t.name, t)

    for op in unit.ops:
        uses = tuple(
            Use(now(u.tensor), None if u.index is None else now(u.index), u.over) for u in op.operands
        )
        op = replace(op, operands=uses)
        if op.result.name == name:
            changed = change(op)
            if changed is None:
                names[name] = uses[0].tensor
                continue
            if changed.result != op.result:
                names[name] = changed.result
            op = changed
        ops.append(op)
    outputs = tuple((n, now(t)) for n, t in unit.outputs)
    return replace(unit, ops=tuple(ops), outputs=outputs)


def dropped_but_claimed(unit: Unit, name: str) -> Unit:
    """A collective removed while its result's layout is still claimed: the static rules see nothing wrong
    with the layouts, so the execution must notice. (A `cast` of the local data takes its place.)"""
    return rebuilt(unit, name, lambda op: replace(op, operator="cast", axes=(), attributes=()))


def attribute(op: LocalOp, key: str, value: object) -> LocalOp:
    others = tuple((k, v) for k, v in op.attributes if k != key)
    return replace(op, attributes=(*others, (key, value)))  # type: ignore[arg-type]


def operand(op: LocalOp, position: int, tensor: Tensor) -> LocalOp:
    uses = list(op.operands)
    uses[position] = replace(uses[position], tensor=tensor)
    return replace(op, operands=tuple(uses))


def relaid(t: Tensor, axis: str, cell: Split | Partial | None) -> Tensor:
    others = tuple((a, c) for a, c in t.layout if a != axis)
    return replace(t, layout=others if cell is None else (*others, (axis, cell)))


def collectives(unit: Unit) -> Iterator[str]:
    for op in unit.ops:
        if op.is_collective:
            yield op.result.name
