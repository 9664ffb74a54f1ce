"""Faults of order: something that is not linear is done before the parts of a sum are together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mutations.faults.edit import rebuilt
from mutations.faults.fault import Fault, Meshes
from rooflang.lowered import LocalOp, Unit, Use

_REDUCE = ("all_reduce", "reduce_scatter", "combine")
_BENT = ("silu", "relu", "sigmoid", "exp", "softplus", "sqrtsoftplus", "swiglu", "mul", "topk")


def _early(unit: Unit, operators: tuple[str, ...]) -> Iterator[tuple[str, Unit]]:
    readers: dict[str, list[int]] = {}
    for i, op in enumerate(unit.ops):
        for use in op.operands:
            readers.setdefault(use.tensor.name, []).append(i)
    for op in unit.ops:
        if op.operator not in _REDUCE:
            continue
        for j in readers.get(op.result.name, []):
            late = unit.ops[j]
            if late.operator not in operators or late.result.dims != op.result.dims:
                continue
            if late.operands[0].tensor.name != op.result.name:
                continue
            # The operator acts on each rank's part; its results are then added up in the sum's stead.
            part = replace(late.result, name=f"{late.result.name}@part", layout=op.operands[0].tensor.layout)
            first = replace(
                late,
                result=part,
                operands=(replace(late.operands[0], tensor=op.operands[0].tensor), *late.operands[1:]),
            )
            then = replace(op, operands=(Use(part),), result=replace(late.result, layout=op.result.layout))

            def pair(o: LocalOp, first: LocalOp = first, then: LocalOp = then) -> tuple[LocalOp, ...]:
                return first, then

            yield late.result.name, rebuilt(unit, j, pair)


def normalised(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    yield from _early(unit, ("norm",))


def quantised(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    """Parts are rounded before they are added up: an inserted one, since few models round there."""
    yield from _early(unit, ("quantize",))
    for i, op in enumerate(unit.ops):
        if op.operator not in _REDUCE:
            continue

        def rounded(o: LocalOp) -> tuple[LocalOp, ...]:
            source = o.operands[0].tensor
            part = replace(source, name=f"{source.name}@rounded")
            attributes = (("block", 32),)
            over = source.dims[-1]
            return (
                LocalOp("quantize", part, (Use(source, None, over),), attributes, (), (), o.section),
                replace(o, operands=(Use(part),)),
            )

        yield op.result.name, rebuilt(unit, i, rounded)


def bent(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    """An activation, or an inserted one, acts on parts of a sum (a cut contraction of fused SwiGLU)."""
    yield from _early(unit, _BENT)
    for i, op in enumerate(unit.ops):
        if op.operator not in _REDUCE:
            continue

        def early(o: LocalOp) -> tuple[LocalOp, ...]:
            source = o.operands[0].tensor
            part = replace(source, name=f"{source.name}@bent")
            return (
                LocalOp("silu", part, (Use(source),), (), (), (), o.section),
                replace(o, operands=(Use(part),)),
            )

        yield op.result.name, rebuilt(unit, i, early)


FAULTS = (
    Fault("normalise before reduce", "parts are normalised before they are added up", normalised),
    Fault("quantise before reduce", "parts are rounded before they are added up", quantised),
    Fault("non-linear before reduce", "an activation acts on parts of a sum", bent),
)
