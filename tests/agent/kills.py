"""kill -9 at random moments: python -m tests.agent.kills [FIRST LAST].

Every kill is at a moment drawn from its seed: a statement sent to the database, a commit, or a verification.
A search is killed again and again until it ends; then what it left must be what an undisturbed one leaves.
Prints one JSON object with counts and stops with status 1 at the first difference.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, event

from agent import Budget, search
from agent.problem import Problem
from agent.trial import Judgement, Proofs
from db import Database
from rooflang.canonical import structure_hash
from rooflang.design import Design
from tests.agent.world import PROBLEM, left, refuse_some

BUDGET = Budget(structures=40, round_size=5)
KILLS = 8
"""Kills of one search at most; then it is left to end."""


class Moments:
    """Counts moments of a run and ends the process at one of them."""

    def __init__(self, last: int | None = None, log: Path | None = None) -> None:
        self.count = 0
        self._last = last
        self._log = log

    def __call__(self, *_: object) -> None:
        self.count += 1
        if self.count == self._last:
            os.kill(os.getpid(), signal.SIGKILL)

    def verify(self, reference: Design, candidate: Design, seed: int, proofs: Proofs) -> Judgement:
        if self._log is not None:
            with self._log.open("a") as file:
                file.write(structure_hash(candidate) + "\n")
        self()
        return refuse_some(reference, candidate, seed, proofs)


def run(path: Path, problem: Problem, moments: Moments) -> None:
    """One run whose moments are counted."""
    events = ("before_cursor_execute", "commit")
    for name in events:
        event.listen(Engine, name, moments)
    try:
        search(problem, path, budget=BUDGET, workers=1, verify=moments.verify)
    finally:
        for name in events:
            event.remove(Engine, name, moments)


def killed(path: Path, problem: Problem, last: int, log: Path) -> bool:
    """Run in a child that is killed at moment `last`; False if it ended before."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            run(path, problem, Moments(last, log))
            code = 0
        finally:
            os._exit(code)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return True
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"a run must end or be killed, but ended with {status}")
    return False


def rests(path: Path) -> bool:
    """Whether the search has ended; a run of it would then ask for more."""
    if not path.exists():
        return False
    with Database.open(path) as database:
        return any(s.state == "done" for s in database.list_searches())


def compare(whole: dict[str, Any], path: Path, log: Path, kills: int, problem: Problem) -> None:
    """Nothing lost, nothing twice, no more than the budget, the same end."""
    with Database.open(path) as database:
        found = left(database, problem)
        (stored,) = database.list_searches()
        designs = [c.design_hash for c in database.list_candidates(stored.id)]
        counted = database.count_candidates(stored.id)
    for what in whole:
        if whole[what] != found[what]:
            raise SystemExit(f"{what} must be that of the undisturbed run, but differs")
    numbers = [c[0] for c in found["candidates"]]
    held = {
        "every candidate once": len(set(designs)) == len(designs) and numbers == list(range(len(numbers))),
        "the budget": len(designs) == BUDGET.structures == found["counters"]["structures"],
        "counters are rows": all(found["counters"].get(k, 0) == n for k, n in counted.items()),
        "a kill repeats a round at most": max(Counter(log.read_text().split()).values()) <= kills + 1,
        "it rests": stored.state == "done",
    }
    for what, so in held.items():
        if not so:
            raise SystemExit(f"must hold: {what}, but does not")


def main(first: int = 0, last: int = 200) -> None:
    done, searches, where = first, 0, Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        while done < last:
            rng = random.Random(f"kills/{done}")
            problem = replace(PROBLEM, seed=rng.randrange(3))
            whole_path, path = Path(folder) / f"whole{problem.seed}", Path(folder) / f"broken{done}"
            moments = Moments()
            if not whole_path.exists():
                run(whole_path, problem, moments)
                (Path(folder) / f"moments{problem.seed}").write_text(str(moments.count))
            total = int((Path(folder) / f"moments{problem.seed}").read_text())
            with Database.open(whole_path) as database:
                whole = left(database, problem)
            log = Path(folder) / f"log{done}"
            log.touch()
            kills = 0
            while not rests(path) and kills < min(KILLS, last - done):
                if not killed(path, problem, rng.randrange(1, total), log):
                    break
                kills += 1
            if not rests(path):
                run(path, problem, Moments(log=log))
            compare(whole, path, log, kills, problem)
            where[str(kills)] += 1
            done += max(kills, 1)
            searches += 1
            path.unlink()
    print(json.dumps({"kills": done - first, "searches": searches, "kills_per_search": dict(where)}))


if __name__ == "__main__":
    main(*(int(a) for a in sys.argv[1:]))
