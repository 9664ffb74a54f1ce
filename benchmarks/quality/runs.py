"""One run of one method, and the log of runs from which an interrupted benchmark goes on."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias, cast

from agent import Budget, Problem
from agent.archive import Archive
from agent.bottleneck import Bottleneck
from agent.evolutionary import Evolutionary
from agent.executor import Failure
from agent.exhaustive import Exhaustive
from agent.judge import verify_design
from agent.proposer import Factory, Told, View, choices_of
from agent.registry import STANDARD
from agent.rounds import Entry, Mix
from agent.stagnation import heat_of
from agent.starts import conventional_entries, conventional_frontier
from agent.store import SearchStore
from agent.trial import Laboratory, Outcome, Task, try_candidate
from agent.versions import fingerprint
from benchmarks.quality.memo import MemoExecutor
from benchmarks.quality.slots import nsga2, random_search
from mutations.rule import Rule

ROUND = Budget().round_size
POPULATION = 24
"""Of NSGA-II: the places of a round, so that a round is a generation; Optuna's own is 50."""

METHODS: dict[str, Callable[[], Sequence[Factory]]] = {
    "mix": lambda: STANDARD,
    "bottleneck": lambda: (Bottleneck,),
    "evolutionary": lambda: (Evolutionary,),
    "exhaustive": lambda: (Exhaustive,),
    "nsga2": lambda: (nsga2(POPULATION),),
    "random": lambda: (random_search(),),
}
SEEDLESS = ("bottleneck", "exhaustive")
"""Methods without chance: one run stands for all seeds."""

FOREIGN = ("nsga2", "random")
Frontier: TypeAlias = list[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Run:
    """Hypervolume of the joint frontier: `start` after the conventional structures, then per evaluation.

    `frontier` holds (tokens/s/user, tokens/s/GPU) at the end; `duplicates` were thrown away before an
    evaluation, `accepted` are the structures that passed.
    """

    scenario: str
    method: str
    seed: int
    evaluations: int
    version: str
    start: float
    volumes: list[float]
    frontier: Frontier
    duplicates: int
    accepted: int
    stopped: str


def version_of(method: str) -> str:
    """Changes with what a run depends on; foreign optimizers do not depend on our proposers."""
    base = fingerprint("rooflang", "catalogue", "evaluator", "mutations")
    return base if method in FOREIGN else f"{base} {fingerprint('agent')}"


def scenario_name(problem: Problem) -> str:
    return f"{problem.model} on {problem.count} x {problem.device}"


def run(
    problem: Problem, method: str, evaluations: int, rules: Sequence[Rule], executor: MemoExecutor
) -> Run:
    """A search by one method with so many evaluations beyond the conventional structures.

    The rounds are those of `agent.search`, without a database, memory of other searches and a report.
    """
    store = SearchStore(cast(Any, None), problem)  # members and designs need no database
    laboratory = Laboratory(problem, verify_design)
    first, counts = conventional_entries(problem)
    tasks = [Task(e.design, True, count) for e, count in zip(first, counts, strict=True)]
    outcomes = [_known(o) for o in executor.map(try_candidate, laboratory, tasks)]
    archive = Archive(conventional_frontier(problem, outcomes))
    _judge(archive, store, first, outcomes, 0)
    mix = Mix(None, METHODS[method](), problem.seed)
    known = {e.structure_hash for e in first}
    choices = cache(lambda name: choices_of(rules, store.design(name)))
    volumes: list[float] = []
    start, quiet, duplicates = archive.hypervolume, 0, 0
    while len(volumes) < evaluations:
        view = View(archive, rules, store.design, choices, heat=heat_of(quiet))
        entries = mix.gather(view, min(ROUND, evaluations - len(volumes)), known)
        duplicates += mix.counts()["duplicates"]
        if not entries:
            break
        tasks = [Task(e.design, _same_work(e, archive)) for e in entries]
        outcomes = [_known(o) for o in executor.map(try_candidate, laboratory, tasks)]
        told, curve = _judge(archive, store, entries, outcomes, len(first) + len(volumes))
        mix.tell(told, [e.proposer for e in entries])
        quiet = 0 if any(t.contribution > 0 for t in told) else quiet + len(told)
        volumes += curve
    frontier = [(p.tokens_per_second_per_user, p.tokens_per_second_per_gpu) for p in archive.frontier]
    return Run(
        scenario_name(problem), method, problem.seed, evaluations, version_of(method), start, volumes,
        frontier, duplicates, len(archive), "budget" if len(volumes) == evaluations else "exhausted",
    )  # fmt: skip


def _known(answer: Outcome | Failure) -> Outcome:
    if isinstance(answer, Failure):
        return Outcome("failed", (answer.reason,), answer.detail)
    return answer


def _same_work(item: Entry, archive: Archive) -> bool:
    """As the search asks it: nothing on the way changed the matrix FLOPs."""
    proposal = item.proposal
    if proposal is None:
        return True
    parent = archive[proposal.parent].same_matrix_work if proposal.parent in archive else True
    return proposal.same_matrix_work and parent


def _judge(
    archive: Archive, store: SearchStore, entries: Sequence[Entry], outcomes: Sequence[Outcome], first: int
) -> tuple[list[Told], list[float]]:
    """(what proposers are told, hypervolume after each), the accepted ones added to the archive."""
    told, volumes = [], []
    for number, (item, outcome) in enumerate(zip(entries, outcomes, strict=True), first):
        change, improved, before = 0.0, False, archive.hypervolume
        if outcome.status == "accepted":
            member = store.new_member(archive, item, number, outcome)
            if item.proposal is not None and item.proposal.parent in archive:
                change = member.gain - archive[item.proposal.parent].gain
            improved = archive.add(member) or change > 0
        volumes.append(archive.hypervolume)
        if item.proposal is not None:
            told.append(Told(item.proposal, outcome.status, change, improved, archive.hypervolume - before))
    return told, volumes


class Log:
    """Runs as lines of JSON; those of other versions of the code are not read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._runs: dict[tuple[str, str, int, int, str], Run] = {}
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            try:
                found = Run(**json.loads(line))
            except (ValueError, TypeError):  # the line in work when a run was killed
                continue
            self._runs[_key(found)] = found

    def get(self, problem: Problem, method: str, evaluations: int) -> Run | None:
        key = (scenario_name(problem), method, problem.seed, evaluations, version_of(method))
        return self._runs.get(key)

    def runs(self) -> list[Run]:
        """Every run, in the order of the log."""
        return list(self._runs.values())

    def add(self, found: Run) -> None:
        self._runs[_key(found)] = found
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(found)) + "\n")


def _key(run: Run) -> tuple[str, str, int, int, str]:
    return run.scenario, run.method, run.seed, run.evaluations, run.version
