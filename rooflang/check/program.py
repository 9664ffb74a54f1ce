"""All static rules over a lowered program, unit by unit (equal units are judged once)."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import prod

from rooflang.check.boundary import boundaries
from rooflang.check.collectives import collective
from rooflang.check.graph import graph
from rooflang.check.operators import operator
from rooflang.check.problem import Problem
from rooflang.check.schedule import schedule
from rooflang.check.targets import targets
from rooflang.check.types import types
from rooflang.lowered import Lowered, Unit, bare, used_axes

Meshes = tuple[tuple[str, tuple[str, ...]], ...]


def check(lowered: Lowered, numbers: bool = True) -> tuple[Problem, ...]:
    """Every broken rule. With `numbers` also that full sizes divide by the design's own meshes."""
    found: list[Problem] = []
    for _, unit in lowered.units():
        found.extend(check_unit(unit, lowered.meshes))
    found.extend(boundaries(lowered))
    found.extend(schedule(lowered))
    found.extend(targets(lowered.design))
    if numbers:
        found.extend(_divides(lowered))
    return tuple(found)


def check_unit(unit: Unit, meshes: Meshes) -> tuple[Problem, ...]:
    """The broken rules of one unit."""
    used = used_axes(unit)
    if not _unit(bare(unit), tuple((pool, tuple(a for a in axes if a in used)) for pool, axes in meshes)):
        return ()  # other axes break no rule, and words about them are not needed
    found = _unit(bare(unit), meshes)
    return tuple(replace(p, where=f"{unit.path}.{p.where}" if unit.path else p.where) for p in found)


@lru_cache(maxsize=20_000)
def _unit(unit: Unit, meshes: Meshes) -> tuple[Problem, ...]:
    problems = [*graph(unit, dict(meshes))]
    for op in unit.ops:
        where = f"{op.section}.{op.result.name}" if op.section else op.result.name
        if op.is_collective:
            problems.extend(collective(op, where))
        else:
            problems.extend(types(op, where))
            problems.extend(operator(op, where))
    return tuple(problems)


@lru_cache(maxsize=256)
def _divides(lowered: Lowered) -> tuple[Problem, ...]:
    ranks = {a: n for mesh in lowered.design.placement.meshes for a, n in mesh.axes}
    found = []
    for c in lowered.conditions:
        size = lowered.sizes[c.dim].constant
        need = prod(ranks.get(a, 1) for a in c.axes) * c.multiple
        if size is not None and size % need:
            blocks = f" in blocks of {c.multiple}" if c.multiple > 1 else ""
            message = f"{c.dim} = {size} must divide by {need} ({' x '.join(c.axes)}{blocks})"
            found.append(
                Problem("placement.divides", c.dim, message, "shorten an axis or cut another dimension")
            )
    return tuple(found)
