"""A search of the database, read without touching it: its problem, its frontiers and its best design."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from agent.archive import point_from_json
from agent.gaps import Gap, gaps
from agent.problem import Problem
from agent.store import SearchStore
from agent.stored import problem_of
from evaluator.frontier import Point, hypervolume_gain, simultaneous_gain
from rooflang.design import Design
from rooflang.parser import parse
from seis.cli.problems import UsageError

if TYPE_CHECKING:
    import db

X, Y = "tokens_per_second_per_user", "tokens_per_second_per_gpu"


@dataclass(frozen=True, slots=True)
class Stored:
    """A search with its conventional frontier and the joint one; `gain` compares a pair of points."""

    search: db.Search
    problem: Problem
    conditions: db.Conditions
    baseline: tuple[Point, ...]
    frontier: tuple[Point, ...]
    gain: float
    old: Point | None
    new: Point | None

    @property
    def hypervolume_gain(self) -> float:
        return hypervolume_gain(self.baseline, self.frontier)

    def gaps(self, database: db.Database) -> tuple[Gap | None, Gap | None]:
        """How much more is possible at most: by overlapping these designs perfectly, and by any design."""

        @cache
        def design(name: str) -> Design:
            return parse(database.get_design(name).text)

        return gaps(self.problem, self.frontier, design)

    @property
    def about(self) -> dict[str, Any]:
        """What was searched for, as every command prints it."""
        p = self.problem
        return {
            "model": p.model, "device": p.device, "count": p.count, "context": p.scenario.context,
            "clock": p.clock, "setting": p.setting,
        }  # fmt: skip


def read(database: db.Database, name: str | None) -> Stored:
    """The newest search, or that of this id, job or model. Raises UsageError where there is none."""
    search = _choose(database, name)
    problem = problem_of(search)
    conditions = SearchStore(database, problem).conditions
    if conditions.scenario_hash != search.scenario_hash:
        raise UsageError(
            f"search {search.id[:12]} must come from this version of SEIS to be read, but its results are of "
            "another one; run `seis search` again"
        )
    stored = database.get_baseline(problem.model, problem.count, conditions)
    baseline = tuple(point_from_json(p) for p in stored.points) if stored else ()
    found = database.frontier(search.id, conditions, X, Y)
    frontier = tuple(point_from_json(p.values) for p in found)
    gain, old, new = simultaneous_gain(baseline, frontier)
    return Stored(search, problem, conditions, baseline, frontier, gain, old, new)


def _choose(database: db.Database, name: str | None) -> db.Search:
    searches = database.list_searches()
    if not searches:
        raise UsageError("a search must have run to be read; run `seis search` first")
    if name is None:
        return searches[0]
    for match in (
        [s for s in searches if s.model == name], [s for s in searches if s.model.startswith(name)],
    ):  # fmt: skip
        if match:
            return match[0]
    return database.get_search(_of_job(database, name) or name)


def _of_job(database: db.Database, name: str) -> str | None:
    """The search of a job of the service; None if it is no job's identifier, or has none yet."""
    from db import NotFoundError

    try:
        return database.get_job(name).search_id
    except NotFoundError:
        return None


def titles(database: db.Database, points: tuple[Point, ...]) -> dict[str, str]:
    """What each design of these points is, in words."""
    found = {}
    for name in dict.fromkeys(p.design for p in points):
        record = database.find_design(name)
        if record is not None:
            found[name] = f"{name[:8]}  {record.summary.removeprefix(record.model + ': ')}"
    return found
