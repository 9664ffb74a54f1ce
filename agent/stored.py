"""The problem of a search that is stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from agent.problem import Problem
from evaluator.scenario import Scenario

if TYPE_CHECKING:
    import db


def problem_of(search: db.Search) -> Problem:
    """What a stored search searches for. Raises CatalogueError where its model or device is gone."""
    facts: Mapping[str, Any] = search.scenario
    known = {f.name for f in fields(Scenario)}
    given: dict[str, Any] = {
        k: tuple(v) if isinstance(v, list) else v for k, v in facts.items() if k in known
    }
    scenario = Scenario(**given)
    return Problem(
        search.model, search.device, search.count, scenario, search.setting, search.clock, search.seed,
        facts.get("kv", "served"), facts.get("text", ""), tuple(facts.get("others", ())),
    )  # fmt: skip
