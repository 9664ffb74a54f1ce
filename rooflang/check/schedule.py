"""Rules of the schedule: micro-batches exist, and fusions name kernels that can be made."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from rooflang.check.problem import Problem
from rooflang.errors import nearest
from rooflang.lowered import Lowered, Unit, bare, made_for


def schedule(lowered: Lowered) -> Iterator[Problem]:
    """The broken rules of a design's schedule."""
    plan = lowered.design.schedule
    if plan.microbatches < 1:
        message = f"micro-batches must be at least 1, but are {plan.microbatches}"
        yield Problem("microbatch.count", "schedule", message, "write microbatches 1")
    units = [unit for _, unit in lowered.units()]
    for fusion in plan.fusions:
        target = fusion.target
        named = [u for u in units if u.path == target or u.path.endswith("." + target)]
        if not named:
            message = f"a fusion must be of an outermost section that holds operators, but {target!r} is none"
            known = list(dict.fromkeys(u.path.rpartition(".")[2] for u in units if u.path))
            yield Problem("fusion.section", "schedule", message + nearest(target, known))
            continue
        known = sorted(frozenset().union(*(_values(bare(u)) for u in named)))
        for value in fusion.values:
            if value not in known:
                message = f"a fusion must name values of {target!r}, but {value!r} is none"
                yield Problem("fusion.value", f"schedule.{target}", message + nearest(value, known))
    for unit in units:
        yield from _twice(unit)


@lru_cache(maxsize=20_000)
def _values(unit: Unit) -> frozenset[str]:
    return frozenset(made_for(op) for op in unit.ops if not op.is_collective)


def _twice(unit: Unit) -> Iterator[Problem]:
    kernel: dict[str, str] = {}
    for value, name in unit.kernels:
        if kernel.setdefault(value, name) != name:
            message = f"a value must be in one kernel, but {value!r} is fused twice"
            yield Problem("fusion.twice", f"{unit.path}.{value}", message, "leave it in one fusion")
