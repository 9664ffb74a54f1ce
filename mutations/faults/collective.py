"""Faults of collectives: missing, doubled, of another kind, over other ranks, on stale data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mutations.faults.edit import known_before, put, rebuilt, with_attribute, with_operand, without
from mutations.faults.fault import Fault, Meshes
from rooflang.layout import Partial, Split
from rooflang.lowered import LocalOp, Unit, Use

_REDUCE = ("all_reduce", "reduce_scatter", "combine")


def _collectives(unit: Unit) -> Iterator[tuple[int, LocalOp]]:
    return ((i, op) for i, op in enumerate(unit.ops) if op.is_collective)


def dropped(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    """What follows reads the value as it was before."""
    for i, op in _collectives(unit):
        yield op.result.name, put(unit, i, op.operands[0].tensor)


def skipped(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    """The layout after it is claimed, but nothing moves."""
    for i, op in _collectives(unit):
        yield (
            op.result.name,
            put(unit, i, replace(op, operator="cast", axes=(), attributes=())),
        )


def doubled(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    for i, op in _collectives(unit):

        def twice(o: LocalOp) -> tuple[LocalOp, ...]:
            again = replace(o, result=replace(o.result, name=f"{o.result.name}@twice"))
            return o, replace(again, operands=(Use(o.result),))

        yield op.result.name, rebuilt(unit, i, twice)


def counted_twice(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    """Partial sums are added up, and the first rank's own part once more."""
    for i, op in _collectives(unit):
        if op.operator != "all_reduce" or op.attribute("partial") != "sum":
            continue

        def more(o: LocalOp) -> tuple[LocalOp, ...]:
            whole = replace(o.result, name=f"{o.result.name}@more")
            add = LocalOp("add", whole, (Use(o.result), o.operands[0]), (), (), (), o.section)
            return o, add

        yield op.result.name, rebuilt(unit, i, more)


def other_kind(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    others = {
        "all_reduce": "all_gather",
        "reduce_scatter": "cut",
        "all_gather": "all_reduce",
        "all_to_all": "cut",
        "combine": "reduce_scatter",
        "dispatch": "keep",
        "gather_top": "all_gather",
        "cut": "keep",
        "keep": "cut",
    }
    for i, op in _collectives(unit):
        other = others.get(op.operator)
        if other is not None:

            def turned(o: LocalOp, other: str = other) -> tuple[LocalOp, ...]:
                return (replace(o, operator=other),)

            yield op.result.name, rebuilt(unit, i, turned)


def other_axis(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    for i, op in _collectives(unit):
        others = [a for a in meshes.get(op.result.pool, ()) if a not in op.axes]
        if op.axes and others:
            axes = (*op.axes[:-1], others[0])
            yield op.result.name, put(unit, i, replace(op, axes=axes))


def fewer_axes(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    """Only the ranks along some of the axes take part; all are claimed to."""
    for i, op in _collectives(unit):
        if len(op.axes) > 1:
            yield op.result.name, put(unit, i, replace(op, axes=op.axes[1:]))


def other_dim(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    """Ranks hold the parts of another dimension than they say."""
    for i, op in _collectives(unit):
        for dim in op.result.dims:
            if dim not in (op.attribute("dim"), op.attribute("to"), None) and op.attribute("dim"):
                changed = with_attribute(op, "dim", dim)
                yield op.result.name, put(unit, i, changed)
                break


def stale(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    """What a neighbour held before is taken for what it holds now."""
    for i, op in _collectives(unit):
        source = op.operands[0].tensor
        for other in known_before(unit, i):
            if other.name == source.name or (other.dims, other.dtype) != (source.dims, source.dtype):
                continue
            if other.layout == source.layout and other.pool == source.pool:
                yield op.result.name, put(unit, i, with_operand(op, 0, other))
                break


def kept_partial(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    """A reduction is missing and its result is claimed to be partial still, to the end of the unit."""
    for i, op in _collectives(unit):
        if op.operator not in _REDUCE or op.result.pool != op.operands[0].tensor.pool:
            continue

        def unreduced(o: LocalOp) -> tuple[LocalOp, ...]:
            layout = o.operands[0].tensor.layout
            return (
                replace(o, operator="cast", axes=(), attributes=(), result=replace(o.result, layout=layout)),
            )

        yield op.result.name, rebuilt(unit, i, unreduced)


def wrong_shard(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    """A value is claimed to be cut along another axis than the one that cut it."""
    for i, op in enumerate(unit.ops):
        if op.is_collective:
            continue
        for axis, c in op.result.layout:
            others = [
                a for a in meshes.get(op.result.pool, ()) if a != axis and a not in dict(op.result.layout)
            ]
            if isinstance(c, Split | Partial) and others:
                order = meshes[op.result.pool]
                cells = {**dict(without(op.result.layout, axis)), others[0]: c}
                layout = tuple((a, cells[a]) for a in order if a in cells)
                bad = replace(op, result=replace(op.result, layout=layout))
                yield op.result.name, put(unit, i, bad)
                break


FAULTS = (
    Fault("collective dropped", "ranks read what they held before", dropped),
    Fault("collective skipped", "its layout is claimed, nothing moves", skipped),
    Fault("collective doubled", "a sum is added up twice", doubled),
    Fault("part counted twice", "one rank's part is in the sum twice", counted_twice),
    Fault("wrong collective", "another kind of collective", other_kind),
    Fault("wrong axis", "the ranks of another axis take part", other_axis),
    Fault("axis missing", "some ranks do not take part", fewer_axes),
    Fault("wrong dimension", "parts of another dimension are put together", other_dim),
    Fault("stale neighbour", "ranks send what they held earlier", stale),
    Fault("sum left unfinished", "a partial sum is passed on as it is", kept_partial),
    Fault("wrong shard", "a value is claimed to be cut along another axis", wrong_shard),
)
