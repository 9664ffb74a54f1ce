"""Why a discovered design is better: its steps, its times before and after, what the gain rests on."""

from __future__ import annotations

from typing import Any

from agent.archive import point_from_json
from agent.discovery import discovery_of
from agent.explain import explain as explanation
from agent.store import SearchStore
from agent.stored import problem_of
from db import Database, NotFoundError
from evaluator.frontier import simultaneous_gain


def explain(order: dict[str, Any]) -> dict[str, Any]:
    """`order` has the database, the search's identifier and the structure's hash."""
    with Database.open(order["database"], create=False) as database:
        search = database.get_search(order["search"])
        problem = problem_of(search)
        store = SearchStore(database, problem)
        name = database.get_design(order["design"]).design_hash
        evaluation = database.get_evaluation(name, store.conditions)
        baseline = store.baseline()
        if not store.find() or evaluation is None or baseline is None:
            raise NotFoundError(
                f"a design must be evaluated in a search of this version to be explained, but {name[:12]} "
                "is not; run the search again"
            )
        gain, old, new = simultaneous_gain(baseline, [point_from_json(p) for p in evaluation.points])
        if old is None or new is None:
            raise NotFoundError(f"a design must have points to be explained, but {name[:12]} has none")
        return explanation(problem, database, discovery_of(problem, store, gain, old, new)).to_json()
