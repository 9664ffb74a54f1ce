"""What memory saves: structures until a search has the hypervolume that one without memory ends with.

Run: python -m benchmarks.memory [MODEL DEVICE COUNT STRUCTURES WORKERS]
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from agent import Budget, Problem, search
from agent.archive import Archive, point_from_json
from agent.store import SearchStore
from db import Database
from evaluator.frontier import front, hypervolume
from evaluator.scenario import Scenario

DEFAULTS = ("llama-3.1-70b", "h100-sxm", "8", "120", "2")
SAME = 1e-9


def volumes(database: Database, problem: Problem) -> Iterator[float]:
    """Hypervolume of the joint frontier after each structure of a search."""
    store = SearchStore(database, problem)
    store.find()
    points = Archive(store.baseline() or ()).baseline
    for candidate in database.list_candidates(store.search_id):
        found = database.get_evaluation(candidate.design_hash, store.conditions)
        if candidate.status == "accepted" and found is not None:
            points = front([*points, *(point_from_json(p) for p in found.points)])
        yield hypervolume(points)


def reached(values: list[float], wanted: float) -> int | None:
    """Structures until a hypervolume is reached."""
    return next((n for n, v in enumerate(values, 1) if v >= wanted * (1 - SAME)), None)


def neighbours(problem: Problem) -> list[tuple[str, Problem]]:
    """Searches that the first one should help."""
    return [
        ("same, another seed", replace(problem, seed=problem.seed + 1)),
        ("half the context", replace(problem, scenario=Scenario(problem.scenario.context // 2), seed=1)),
        ("twice the devices", replace(problem, count=2 * problem.count, seed=1)),
    ]


def main(model: str, device: str, count: str, structures: str, workers: str) -> None:
    first = Problem(model, device, int(count))
    budget, processes = Budget(structures=int(structures)), int(workers)
    print(f"{'second search':<22}{'alone':>8}{'with memory':>13}{'share':>8}")
    with tempfile.TemporaryDirectory() as folder:
        search(first, Path(folder) / "memory", budget=budget, workers=processes)  # closed, so one file
        taught = (Path(folder) / "memory").read_bytes()
        for number, (title, problem) in enumerate(neighbours(first)):
            with Database.open(Path(folder) / f"alone{number}") as alone:
                # What the first search reached is what the second must reach: on its own scenario.
                source = replace(first, seed=0) if number == 0 else problem
                search(source, alone, budget=budget, workers=processes, memory=False)
                cold = list(volumes(alone, source))
            path = Path(folder) / f"taught{number}"
            path.write_bytes(taught)
            with Database.open(path) as opened:
                search(problem, opened, budget=budget, workers=processes)
                warm = list(volumes(opened, problem))
            before, after = reached(cold, cold[-1]), reached(warm, cold[-1])
            share = "-" if before is None or after is None else f"{after / before:.0%}"
            print(f"{title:<22}{before or '-':>8}{after or '-':>13}{share:>8}")


if __name__ == "__main__":
    main(*(sys.argv[1:] or DEFAULTS))
