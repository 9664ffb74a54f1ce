"""Faults of constants: scales, slices, rotations, permutations, bounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from mutations.faults.edit import after, put, rebuilt, with_attribute
from mutations.faults.fault import Fault, Meshes
from rooflang.design import Attribute
from rooflang.lowered import LocalOp, Unit

_OTHER: dict[str, float] = {"eps": 10.0, "limit": 0.5, "alpha": 2.0, "theta": 2.0}


def wrong_scale(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    for i, op in enumerate(unit.ops):
        by = op.attribute("by")
        if op.operator == "scale" and isinstance(by, float):
            changed = with_attribute(op, "by", by * 0.5)
            yield op.result.name, put(unit, i, changed)


def scaled(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    """A factor too many: on scores, on a product, on what is passed on."""
    for i, op in enumerate(unit.ops):
        if op.operator in ("einsum", "add", "mul") and not op.result.dtype.startswith("index"):
            yield op.result.name, rebuilt(unit, i, lambda o: (o, after(o, "scale", "scaled", by=0.5)))


def wrong_constant(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    for i, op in enumerate(unit.ops):
        for key, value in op.attributes:
            other = _other(key, value)
            if not op.is_collective and other is not None:
                changed = with_attribute(op, key, other)
                yield op.result.name, put(unit, i, changed)


def _other(key: str, value: Attribute) -> Attribute | None:
    if isinstance(value, bool):
        return not value
    if key in _OTHER and isinstance(value, int | float):
        return value * _OTHER[key]
    if key == "offset" and isinstance(value, float):
        return value + 1.0
    if key in ("iterations", "keep", "last") and isinstance(value, int):
        return value - 2 if key == "last" else value - 1
    if key == "block" and isinstance(value, int):
        return value // 2
    return None


def slice_off(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    for i, op in enumerate(unit.ops):
        start = op.attribute("start")
        if op.operator == "slice" and isinstance(start, int):
            for other in (start - 1, start + 1):
                if other >= 0:
                    changed = with_attribute(op, "start", other)
                    yield op.result.name, put(unit, i, changed)


def slice_elsewhere(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    """Another part of a merged product is taken."""
    starts = {
        (op.operands[0].tensor.name, op.result.dims): int(str(op.attribute("start")))
        for op in unit.ops
        if op.operator == "slice"
    }
    for i, op in enumerate(unit.ops):
        if op.operator != "slice":
            continue
        for (source, _), start in starts.items():
            if source == op.operands[0].tensor.name and start != op.attribute("start"):
                changed = with_attribute(op, "start", start)
                yield op.result.name, put(unit, i, changed)
                break


def _both(first: LocalOp, second: LocalOp, _: LocalOp) -> tuple[LocalOp, ...]:
    return first, second


def permuted(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    """Parts of a view stand in another order: heads by group for groups by head."""
    for i, op in enumerate(unit.ops):
        if op.operator == "split":
            made = [d for d in op.result.dims if d not in op.operands[0].tensor.dims]
            if len(made) != 2:
                continue
            turned = {made[0]: made[1], made[1]: made[0]}
            dims = tuple(turned.get(d, d) for d in op.result.dims)
            bad = replace(op, result=replace(op.result, dims=dims))
            yield op.result.name, put(unit, i, bad)
        if op.operator == "merge":
            source = op.operands[0].tensor
            at = source.dims.index(op.operands[0].over or source.dims[-1])
            if at + 1 < len(source.dims):
                order = list(source.dims)
                order[at], order[at + 1] = order[at + 1], order[at]
                other = replace(source, name=f"{source.name}@turned", dims=tuple(order))
                use = replace(op.operands[0], over=None)
                turn = LocalOp("einsum", other, (use,), (), op.sharding, (), op.section)
                late = replace(op, operands=(replace(use, tensor=other, over=order[at]),))
                yield op.result.name, rebuilt(unit, i, partial(_both, turn, late))


FAULTS = (
    Fault("wrong scale", "a constant factor is another", wrong_scale),
    Fault("scale too many", "a factor is multiplied in that does not belong there", scaled),
    Fault("wrong constant", "an epsilon, bound, base, block or count is another", wrong_constant),
    Fault("slice off by one", "a slice starts one early or late", slice_off),
    Fault("slice elsewhere", "another part of a joint value is taken", slice_elsewhere),
    Fault("wrong permutation", "heads and groups are taken in the other order", permuted),
)
