"""Faults of choices: the wrong top-k, experts by another map, weights of another order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mutations.faults.edit import on, put, rebuilt, with_operand
from mutations.faults.fault import Fault, Meshes
from rooflang.dtype import index_dim
from rooflang.lowered import LocalOp, Tensor, Unit, Use


def smallest(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    """The k smallest are picked for the k largest."""
    for i, op in enumerate(unit.ops):
        if op.operator in ("topk", "sample"):

            def turned(o: LocalOp) -> tuple[LocalOp, ...]:
                negative = on(o.operands[0].tensor, o, "scale", "negative", by=-1.0)
                return negative, with_operand(o, 0, negative.result)

            yield op.result.name, rebuilt(unit, i, turned)


def other_map(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    """One product of several takes its experts, or rows, by another choice."""
    found: dict[str, LocalOp] = {op.result.name: op for op in unit.ops if op.operator == "topk"}
    for i, op in enumerate(unit.ops):
        for position, use in enumerate(op.operands):
            made = found.get(use.index.name if use.index else "")
            if made is None:
                continue
            other = replace(made.result, name=f"{made.result.name}@other")

            def wrong(
                o: LocalOp, p: int = position, made: LocalOp = made, other: Tensor = other
            ) -> tuple[LocalOp, ...]:
                negative = on(made.operands[0].tensor, o, "scale", f"map{p}", by=-1.0)
                choice = replace(with_operand(made, 0, negative.result), result=other)
                return (
                    negative,
                    choice,
                    with_operand(o, p, Use(o.operands[p].tensor, other, o.operands[p].over)),
                )

            yield op.result.name, rebuilt(unit, i, wrong)


def rewired_map(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    """Experts, or rows, are taken by another choice that is at hand."""
    for i, op in enumerate(unit.ops):
        for position, use in enumerate(op.operands):
            if use.index is None:
                continue
            for before in unit.ops[:i]:
                t = before.result
                if index_dim(t.dtype) == index_dim(use.index.dtype) and t.name != use.index.name:
                    if (t.dims, t.layout) != (use.index.dims, use.index.layout):
                        continue
                    yield (
                        op.result.name,
                        put(unit, i, with_operand(op, position, replace(use, index=t))),
                    )
                    break


def by_score(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    """The choice is made by a score before its last step (the bias, the scale, the norm)."""
    made = {op.result.name: op for op in unit.ops}
    for i, op in enumerate(unit.ops):
        if op.operator not in ("topk", "sample"):
            continue
        source = made.get(op.operands[0].tensor.name)
        if source is None:
            continue
        for use in source.operands:
            t = use.tensor
            if (t.dims, t.layout) == (source.result.dims, source.result.layout):
                yield op.result.name, put(unit, i, with_operand(op, 0, t))
                break


def local_best(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    """Every rank picks among what it holds: the best of all ranks are not looked for."""
    for i, op in enumerate(unit.ops):
        if op.operator == "gather_top":
            yield (
                op.result.name,
                put(unit, i, replace(op, operator="cast", axes=(), attributes=())),
            )


FAULTS = (
    Fault("wrong top-k", "the smallest are picked", smallest),
    Fault("wrong expert map", "one product takes experts or rows by another choice", other_map),
    Fault("choice rewired", "another choice at hand is taken", rewired_map),
    Fault("choice too early", "the choice is made before the score is complete", by_score),
    Fault("local top-k", "each rank picks among its own", local_best),
)
