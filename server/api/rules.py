"""Rules of rewriting: what each does, and how it has fared."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BaseModel

from mutations.registry import rules
from mutations.rule import Rule
from server.api.common import Json, problems
from server.problems import Refusal
from server.services import Here

router = APIRouter(tags=["rules"])


class StatisticsOut(BaseModel):
    """How a rule fared while one resource was binding."""

    resource: str
    proposed: int
    accepted: int
    improved: int


class RuleOut(BaseModel):
    """A rule, with what its documentation says."""

    name: str
    family: str
    rewrites: str
    helps: str
    costs: str
    source: str
    delta: str
    relieves: list[str]
    exact: bool
    statistics: list[StatisticsOut]


@router.get("/rules", response_model=list[RuleOut])
def list_rules(here: Here) -> Any:
    """Every rule."""
    known = _statistics(here)
    return [_shown(r, known.get(r.name, [])) for r in rules()]


@router.get("/rules/{name}", response_model=RuleOut, responses=problems("not_found"))
def get_rule(name: Annotated[str, Path(min_length=1, max_length=100)], here: Here) -> Any:
    """One rule by its name."""
    for rule in rules():
        if rule.name == name:
            return _shown(rule, _statistics(here).get(name, []))
    raise Refusal("not_found", f"a rule must exist to be read, but there is none {name!r}; list the rules")


def _statistics(here: Any) -> dict[str, list[Json]]:
    found: dict[str, list[Json]] = {}
    for s in here.database.rule_statistics():
        found.setdefault(s.rule, []).append(
            {"resource": s.resource, "proposed": s.proposed, "accepted": s.accepted, "improved": s.improved}
        )
    return found


def _shown(rule: Rule, statistics: list[Json]) -> Json:
    d = rule.documentation
    return {
        "name": rule.name, "family": rule.family, "rewrites": d.rewrites, "helps": d.helps, "costs": d.costs,
        "source": d.source, "delta": rule.delta, "relieves": sorted(rule.relieves), "exact": rule.exact,
        "statistics": statistics,
    }  # fmt: skip
