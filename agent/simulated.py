"""A discovery under the event simulation: whether its gain is more than the closed form's optimism."""

from __future__ import annotations

from dataclasses import dataclass

from agent.problem import Problem
from evaluator.frontier import Point
from evaluator.simulate import Simulated, simulate
from evaluator.sweep import at_point
from rooflang.design import Design


@dataclass(frozen=True, slots=True)
class SimulatedGain:
    """The gain on both axes at the same two points when both are simulated; seconds per step."""

    gain: float
    old_seconds: float
    new_seconds: float


def simulate_point(problem: Problem, design: Design, point: Point) -> Simulated:
    """Simulate a structure at a point of its sweep."""
    return simulate(
        at_point(design, problem.devices(design), problem.scenario, point, setting=problem.setting)
    )  # fmt: skip


def simulated_gain(problem: Problem, old: tuple[Design, Point], new: tuple[Design, Point]) -> SimulatedGain:
    """Simulate both sides of a comparison."""
    users, throughputs, seconds = [], [], []
    for design, point in (old, new):
        found = simulate_point(problem, design, point)
        user = float(found.evaluation.emitted) / found.seconds
        users.append(user)
        throughputs.append(user * point.batch)
        seconds.append(found.seconds)
    gain = min(users[1] / users[0], throughputs[1] / throughputs[0]) - 1
    return SimulatedGain(gain, seconds[0], seconds[1])


def vanishes(gain: float, simulated: float, significant: float) -> bool:
    """Whether a gain is gone, or no longer significant, under simulation."""
    return simulated <= 0 or simulated < significant <= gain
