"""Structures of similar searches that are worth a try in another one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from agent.ancestry import Ancestry
from agent.memory.similarity import family
from agent.proposer import Json
from agent.versions import evaluator_version

if TYPE_CHECKING:
    import db
    from agent.store import SearchStore

X, Y = "tokens_per_second_per_user", "tokens_per_second_per_gpu"

LENDERS = 4
"""Searches of the same model or family, the most similar first, that lend structures."""

BEST = 96
"""Of each, structures by gain that are looked at, beside all on its frontier."""

MOST = 12
"""Structures that a search begins with at most."""

DIGITS = 6
"""Digits of a gain by which structures of one root are told apart."""


def borrow(database: db.Repository, store: SearchStore, scopes: Sequence[str]) -> list[Json]:
    """What is to be tried, the best of every lender first; no structure twice."""
    mine = {s.id: s for s in database.list_searches()}
    near = [mine[s] for s in scopes if s in mine and family(mine[s].model) == family(store.problem.model)]
    queues = [_of(database, store, search) for search in near[:LENDERS]]
    found: dict[str, Json] = {}
    for item in itertools.chain.from_iterable(itertools.zip_longest(*queues)):
        if item is not None and len(found) < MOST:
            found.setdefault(item["design"], item)
    return list(found.values())


def _of(database: db.Repository, store: SearchStore, search: db.Search) -> Iterator[Json]:
    ancestry = Ancestry(database, search.id)
    met: set[tuple[str, float]] = set()
    for name in _names(database, search):
        candidate = ancestry.candidates.get(name)
        if candidate is None or candidate.proposer == "baseline":
            continue
        path = ancestry.path(name)
        root = path[0].parent_hash if path else ""
        look = (root, round(candidate.gain or 0.0, DIGITS))
        if look in met:
            continue  # the same with a step that does nothing there
        met.add(look)
        held = candidate.certificate_hash
        same = bool(held) and (
            database.get_certificate(held or "").reference_structure_hash == store.reference_hash
        )
        if not same and not path:
            continue  # of another model, and no steps to repeat
        yield {
            "design": name,
            "same_model": same,
            "root": root,
            "root_name": database.get_design(root).summary if root else "",
            "steps": [s for step in path for s in step.parameters["steps"]],
            "same_matrix_work": all(step.parameters["same_matrix_work"] for step in path),
            "search": search.id,
        }


def _names(database: db.Repository, search: db.Search) -> list[str]:
    """Designs on a search's frontier, the most interactive first, and its best ones by gain."""
    from db import Conditions

    conditions = Conditions(
        scenario_hash=search.scenario_hash,
        device_hash=str(search.cursor.get("device", "")),
        evaluator_version=evaluator_version(),
        setting=search.setting,
        clock=search.clock,
    )
    front = [p.design_hash for p in database.frontier(search.id, conditions, X, Y)]
    best = [c.design_hash for c in database.best_candidates(search.id, BEST)]
    return list(dict.fromkeys([*front, *best]))
