"""The bound above every design of a model on a cluster, for the frontier chart."""

from __future__ import annotations

from typing import Any

from agent.stored import problem_of
from db import Database
from evaluator.relaxation import relax


def bound(order: dict[str, Any]) -> dict[str, Any]:
    """`order` has the database and the search's identifier; the curve by rising interactivity."""
    with Database.open(order["database"], create=False) as database:
        problem = problem_of(database.get_search(order["search"]))
    found = relax(
        problem.reference(), [(problem.accelerator, problem.count)], problem.scenario,
        drafts=problem.grid().drafts, setting=problem.setting, clock=problem.clock,
    ).frontier()  # fmt: skip
    curve = sorted((p.tokens_per_second_per_user, p.tokens_per_second_per_gpu) for p in found)
    step = max(1, len(curve) // 300)
    kept = curve[::step] + ([curve[-1]] if curve and (len(curve) - 1) % step else [])
    return {"x": [a for a, _ in kept], "y": [b for _, b in kept]}
