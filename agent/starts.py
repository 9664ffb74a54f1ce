"""Round 0: the conventional structures under the schedules of today's engines, which make the baseline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agent.archive import point_from_json
from agent.errors import ProblemError
from agent.problem import Problem
from agent.rounds import Entry, entry
from agent.trial import Outcome
from evaluator.baseline import SCHEDULES, conventional_schedule
from evaluator.frontier import Point, front
from mutations.start import starting_designs


def conventional_entries(problem: Problem) -> tuple[list[Entry], list[int]]:
    """The structures, and at how many micro-batches (per stage) each belongs to the baseline."""
    found: dict[str, tuple[Entry, int]] = {}
    for structure in starting_designs(problem.reference()):
        design = conventional_schedule(structure)
        for count, overlap in SCHEDULES:
            schedule = replace(design.schedule, microbatches=count, overlap_links=overlap)
            new = entry(design.with_(schedule=schedule), "baseline")
            found.setdefault(new.structure_hash, (new, count))
    return [item for item, _ in found.values()], [count for _, count in found.values()]


def conventional_frontier(problem: Problem, outcomes: Sequence[Outcome]) -> tuple[Point, ...]:
    """The baseline from the outcomes of round 0. Raises ProblemError if no conventional design runs."""
    points = front([point_from_json(p) for o in outcomes for p in o.conventional])
    if not points:
        why = next((o.detail for o in outcomes if o.detail), "there are no conventional designs")
        raise ProblemError(
            f"a search must have a conventional design of {problem.model} that runs on {problem.count} x "
            f"{problem.device}, but none does ({why}); use more devices or a shorter context"
        )
    return points
