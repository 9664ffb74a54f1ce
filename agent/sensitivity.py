"""How a gain between two operating points depends on what was assumed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from agent.problem import Problem
from catalogue.devices import Device
from evaluator.clocks import steps
from evaluator.evaluate import Evaluation
from evaluator.frontier import Point
from evaluator.scenario import FIRST_ACCEPTANCE, NEXT_ACCEPTANCE_FACTOR, Scenario
from evaluator.sweep import at_point
from rooflang.design import Design

Side = tuple[Design, Point]
"""A structure and a point of its sweep."""


def sensitivity(problem: Problem, old: Side, new: Side) -> dict[str, float]:
    """The gain of `new` over `old` on both axes at their points, under one changed assumption at a time."""
    device = problem.accelerator
    slow_memory = device.scaled("memory_bytes_per_second", 0.9)
    slow_links = device.scaled("scale_up_bytes_per_second", 0.9).scaled("scale_out_bytes_per_second", 0.9)
    found = {
        "as assumed": _gain(problem, old, new),
        "memory bandwidth -10 %": _gain(problem, old, new, device=slow_memory),
        "link bandwidth -10 %": _gain(problem, old, new, device=slow_links),
        "latencies x 2": _gain(problem, old, new, latency=2.0),
    }
    if old[1].configuration["drafted"] or new[1].configuration["drafted"]:
        for change in (-0.1, 0.1):
            scenario = replace(problem.scenario, acceptance=_shifted(problem.scenario, change))
            found[f"acceptance {change:+.1f}"] = _gain(problem, old, new, scenario=scenario)
    return found


def _shifted(scenario: Scenario, change: float) -> tuple[float, ...]:
    """Acceptances after a change of the first one; the others keep their ratio to it."""
    if scenario.acceptance is not None:
        return tuple(min(1.0, max(0.0, chance + change)) for chance in scenario.acceptance)
    return tuple((FIRST_ACCEPTANCE + change) * NEXT_ACCEPTANCE_FACTOR**i for i in range(8))


def _gain(
    problem: Problem,
    old: Side,
    new: Side,
    *,
    device: Device | None = None,
    scenario: Scenario | None = None,
    latency: float = 1.0,
) -> float:
    speeds = []
    for design, point in (old, new):
        devices: Mapping[str, Device] = {p.name: device or problem.accelerator for p in design.pools}
        e = at_point(design, devices, scenario or problem.scenario, point, setting=problem.setting)
        user = float(e.emitted) / _seconds(e, problem.clock, latency)
        speeds.append((user, user * point.batch))
    (x0, y0), (x1, y1) = speeds
    return min(x1 / x0, y1 / y0) - 1


def _seconds(evaluation: Evaluation, clock: str, latency: float) -> float:
    """The step with every launch and message latency multiplied."""
    if latency == 1.0:
        return float(evaluation.seconds(clock))
    i = evaluation.steps.inputs
    more = latency - 1.0
    prices = [replace(p, latency=p.latency * latency, seconds=p.seconds + more * p.latency) for p in i.prices]
    rates = {}
    for pool, r in i.rates.items():
        e = r.efficiency
        slower = replace(
            e,
            scale_up_latency_seconds=e.scale_up_latency_seconds * latency,
            scale_out_latency_seconds=e.scale_out_latency_seconds * latency,
        )
        rates[pool] = replace(r, efficiency=slower)
    found = steps(i.plan, prices, i.numerics, rates, i.microbatches, i.overlap, i.drafted, i.stages)
    return float(found.seconds(clock))
