"""What memory saves: structures until a search has the hypervolume that one without memory ends with.

Run: python -m benchmarks.memory [MODEL SIBLING DEVICE OTHER_DEVICE COUNT STRUCTURES WORKERS] [--write]

One search of MODEL teaches; then come the same scenario with another seed and its neighbours: half the
context, twice the devices, OTHER_DEVICE, and SIBLING, a model of the family. Each is searched on an empty
database and on a copy of what the first one left. Structures of the conventional baseline count on both
sides. `--write`, for the defaults, puts the table into docs/memory.md.
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

DEFAULTS = ("llama-3.1-70b", "llama-3.1-8b", "h100-sxm", "b200-sxm", "8", "120", "2")
PAGE = Path("docs/memory.md")
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


def neighbours(problem: Problem, sibling: str, device: str) -> list[tuple[str, Problem]]:
    """Searches that the first one should help."""
    half = Scenario(problem.scenario.context // 2)
    return [
        ("the same, another seed", replace(problem, seed=1)),
        ("half the context", replace(problem, scenario=half, seed=1)),
        ("twice the devices", replace(problem, count=2 * problem.count, seed=1)),
        (f"on {device}", replace(problem, device=device, seed=1)),
        (sibling, replace(problem, model=sibling, seed=1)),
    ]


def row(problem: Problem, cold: Problem, taught: bytes, budget: Budget, workers: int) -> tuple[str, ...]:
    """Structures alone and with memory, their share, and the hypervolume at the end with memory."""
    with tempfile.TemporaryDirectory() as folder:
        with Database.open(Path(folder) / "alone") as alone:
            search(cold, alone, budget=budget, workers=workers, memory=False)
            before = list(volumes(alone, cold))
        path = Path(folder) / "taught"
        path.write_bytes(taught)
        with Database.open(path) as opened:
            search(problem, opened, budget=budget, workers=workers)
            after = list(volumes(opened, problem))
    needed, then = reached(before, before[-1]), reached(after, before[-1])
    share = "-" if needed is None or then is None else f"{then / needed:.0%}"
    return str(needed), str(then or "-"), share, f"{after[-1] / before[-1] - 1:+.2%}"


def main(
    model: str, sibling: str, device: str, other: str, count: str, structures: str, workers: str,
    *, write: bool = False,
) -> None:  # fmt: skip
    first = Problem(model, device, int(count))
    budget, processes = Budget(structures=int(structures)), int(workers)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory"
        search(first, path, budget=budget, workers=processes)  # closed, so one file
        taught = path.read_bytes()
    lines = [f"{'second search':<24}{'alone':>7}{'with memory':>13}{'share':>7}{'at the end':>12}"]
    print(lines[0])
    for number, (title, problem) in enumerate(neighbours(first, sibling, other)):
        # What the first search reached is what the second must reach: on its own scenario.
        found = row(problem, first if number == 0 else problem, taught, budget, processes)
        lines.append(f"{title:<24}{found[0]:>7}{found[1]:>13}{found[2]:>7}{found[3]:>12}")
        print(lines[-1], flush=True)
    if write:
        replaced(lines)


def replaced(lines: list[str]) -> None:
    """Put the table into the page, after the command that made it, in place of its former one."""
    before, mark, rest = PAGE.read_text(encoding="utf-8").partition("$ python -m benchmarks.memory\n")
    PAGE.write_text(before + mark + "\n".join(lines) + "\n" + rest[rest.index("```") :], encoding="utf-8")


if __name__ == "__main__":
    given = [a for a in sys.argv[1:] if a != "--write"]
    if given and len(given) < len(sys.argv) - 1:
        raise SystemExit("--write must come alone, since the page shows the defaults; leave the rest out")
    main(*(given or DEFAULTS), write="--write" in sys.argv)
