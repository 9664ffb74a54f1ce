"""How much more is possible: what a frontier leaves to perfect overlap, and to any design at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from agent.problem import Problem
from evaluator.frontier import Point, front, simultaneous_gain
from evaluator.relaxation import relax
from evaluator.sweep import at_point
from rooflang.design import Design

Gap = Mapping[str, float]
"""Shares by which more is possible at most: `simultaneous`, `throughput`, `interactivity`."""


def gaps(
    problem: Problem, points: Sequence[Point], design: Callable[[str], Design]
) -> tuple[Gap | None, Gap | None]:
    """(to perfect overlap of the frontier's designs, to any design of the model); None without points.

    `design` gives the structure of a point's hash. The `limit` clock has no latencies; what no design can
    have, perfect overlap cannot give either.
    """
    limit, relaxation = _to_limit(problem, points, design), _to_relaxation(problem, points)
    if limit is not None and relaxation is not None:
        limit = {name: min(share, relaxation[name]) for name, share in limit.items()}
    return limit, relaxation


def _to_limit(problem: Problem, points: Sequence[Point], design: Callable[[str], Design]) -> Gap | None:
    """What the designs of a frontier would gain at their points under the `limit` clock."""
    better = []
    for point in points:
        found = design(point.design)
        e = at_point(found, problem.devices(found), problem.scenario, point, setting=problem.setting)
        factor = float(e.seconds(problem.clock)) / float(e.seconds("limit"))
        better.append(
            replace(
                point,
                tokens_per_second_per_user=point.tokens_per_second_per_user * factor,
                tokens_per_second_per_gpu=point.tokens_per_second_per_gpu * factor,
            )
        )
    return _gap(points, better)


def _to_relaxation(problem: Problem, points: Sequence[Point]) -> Gap | None:
    """What any design of the model could gain over a frontier at most."""
    if not points:
        return None
    bound = relax(
        problem.reference(), [(problem.accelerator, problem.count)], problem.scenario,
        drafts=problem.grid().drafts, setting=problem.setting, clock=problem.clock,
    )  # fmt: skip
    return _gap(points, bound.frontier())


def _gap(points: Sequence[Point], better: Sequence[Point]) -> Gap | None:
    if not points or not better:
        return None

    def most(name: str) -> float:
        new, old = (max(float(getattr(p, name)) for p in side) for side in (better, points))
        return new / old - 1

    return {
        "simultaneous": max(0.0, simultaneous_gain(points, front(better))[0]),
        "throughput": max(0.0, most("tokens_per_second_per_gpu")),
        "interactivity": max(0.0, most("tokens_per_second_per_user")),
    }
