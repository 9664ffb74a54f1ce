"""A space that is small enough to be tried whole, so that its true optimum is known."""

from __future__ import annotations

from dataclasses import replace
from statistics import median

from agent import Problem
from benchmarks.quality.memo import MemoExecutor, remembering
from benchmarks.quality.report import needed
from benchmarks.quality.runs import Run, run
from mutations.registry import rule

NAMES = ("second stream", "one stream", "fold gain", "unfold gain")
"""Each has its inverse, so all their compositions are finitely many structures."""

WHOLE = 100_000
SAME = 1 - 1e-9


def small_search(problem: Problem, seeds: int, executor: MemoExecutor) -> list[str]:
    """Every composition of NAMES on the conventional structures, then the mix until it has the optimum."""
    rules = remembering([rule(name) for name in NAMES])
    whole = run(problem, "exhaustive", WHOLE, rules, executor)
    count = len(whole.volumes)
    mixes = [run(replace(problem, seed=seed), "mix", count, rules, executor) for seed in range(seeds)]
    found = [needed(shares(whole, mixed), SAME) for mixed in mixes]
    reached = [n for n in found if n is not None]
    return [
        f"{count} structures beyond the conventional ones, the best of them together "
        f"{whole.volumes[-1] - whole.start:+.3f} of hypervolume",
        f"the mix finds the optimum in {len(reached)} of {seeds} seeds, after "
        f"{median(reached) if reached else 0:.0f} evaluations (median), {max(reached, default=0)} at most",
    ]


def shares(whole: Run, other: Run) -> list[float]:
    """Shares of the true gain by evaluations."""
    gain = whole.volumes[-1] - whole.start
    return [0.0, *((v - other.start) / gain for v in other.volumes)]
