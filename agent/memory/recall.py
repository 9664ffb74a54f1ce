"""What a search that begins takes from others: how rules fared, weighted by similarity, and structures.

It is plain JSON, stored with the search, so that what others do meanwhile changes nothing about it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from agent.memory.borrowed import borrow
from agent.memory.graft import Graft
from agent.memory.similarity import Facts, similarity
from agent.memory.transfer import Transfer
from agent.proposer import Json

if TYPE_CHECKING:
    import db
    from agent.store import SearchStore

NEIGHBOURS = 16
"""Searches, the most similar first, whose statistics count."""

WEIGHT = 8.0
"""Trials that a prior counts for at most, so that what a search sees itself soon outweighs it."""

DIGITS = 6


class Recalled:
    """What was recalled, read from its stored form."""

    def __init__(self, memory: Json) -> None:
        self._priors: Mapping[str, Mapping[str, list[float]]] = memory.get("priors", {})
        self.borrowed: list[Json] = list(memory.get("borrowed", []))

    @property
    def states(self) -> Json:
        """The first states of the proposers that play what was borrowed, by name."""
        lineages = [{"search": i["search"], "steps": i["steps"]} for i in self.borrowed if i["steps"]]
        return {Transfer.name: {"queue": self.borrowed}, Graft.name: {"lineages": lineages}}

    def prior(self, rule: str, resource: str) -> tuple[float, float]:
        """(trials, sum of gains) of a rule where a resource binds."""
        trials, gained = self._priors.get(rule, {}).get(resource, (0.0, 0.0))
        return trials, gained


def recall(store: SearchStore) -> Json:
    """What the database holds for a search; empty where it holds nothing of others."""
    with store.database.snapshot() as tx:
        mine = facts_of(store)
        known = sorted(
            ((similarity(mine, facts), scope) for scope, facts in sources(tx) if scope != store.search_id),
            key=lambda pair: -pair[0],
        )[:NEIGHBOURS]
        priors = _priors(tx, known, mine.model)
        borrowed = borrow(tx, store, [scope for _, scope in known])
    if not priors and not borrowed:
        return {}
    return {"priors": priors, "borrowed": borrowed}


def facts_of(store: SearchStore) -> Facts:
    """What of a search is compared with others."""
    p = store.problem
    return Facts(p.model, p.accelerator.name, p.count, p.scenario.context, p.kv, p.setting, p.clock)


def sources(database: db.Repository) -> Iterator[tuple[str, Facts]]:
    """(scope of its statistics, problem) of every search, newest first, then of those that were imported."""
    for search in database.list_searches():
        yield search.id, Facts.of(search)
    for experience in database.list_experiences():
        yield experience.search_id, Facts.from_json(experience.problem)


def _priors(
    database: db.Repository, known: list[tuple[float, str]], model: str
) -> dict[str, dict[str, list[float]]]:
    """Trials and gains by rule and resource, capped at WEIGHT trials."""
    sums: dict[tuple[str, str], list[float]] = {}

    def add(rule: str, resource: str, trials: float, gained: float) -> None:
        pair = sums.setdefault((rule, resource), [0.0, 0.0])
        pair[0] += trials
        pair[1] += gained

    for weight, scope in known:
        for row in database.rule_statistics(scope):
            if row.resource:
                add(row.rule, row.resource, weight * row.proposed, weight * row.gained)
    for h in database.list_hypotheses():
        stated = h.author != "search" and h.verdict == "open" and h.model in ("", model)
        if stated and h.rule and h.resource and h.prediction is not None:
            add(h.rule, h.resource, 1.0, max(0.0, h.prediction))
    found: dict[str, dict[str, list[float]]] = {}
    for (rule, resource), pair in sorted(sums.items()):
        if pair[0] > 0:
            scale = min(1.0, WEIGHT / pair[0])
            found.setdefault(rule, {})[resource] = [_short(v * scale) for v in pair]
    return found


def _short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def statistics_of(database: db.Repository, scope: str) -> list[dict[str, Any]]:
    """The rule statistics of a search as plain JSON."""
    return [
        {"rule": r.rule, "resource": r.resource, "proposed": r.proposed, "accepted": r.accepted,
         "improved": r.improved, "gained": r.gained}
        for r in database.rule_statistics(scope)
    ]  # fmt: skip
