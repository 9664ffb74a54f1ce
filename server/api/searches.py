"""Searches: their frontiers beside the conventional ones, and what they discovered."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from agent.archive import point_from_json
from agent.store import SearchStore
from agent.stored import problem_of
from catalogue.errors import CatalogueError
from db import Search
from evaluator.errors import EvaluatorError
from evaluator.frontier import hypervolume_gain, simultaneous_gain
from server.api.common import Cursor, Json, Limit, Page, Sha, Utc, decode, encode, moment, page_of, problems
from server.jobs.result import priced
from server.names import device
from server.problems import Refusal
from server.services import Here
from server.work.discoveries import explain

router = APIRouter(tags=["searches"])

X, Y = "tokens_per_second_per_user", "tokens_per_second_per_gpu"
Id = Annotated[str, Path(pattern=r"^[0-9a-f]{4,32}$", description="A search's identifier, or its beginning.")]
Structure = Annotated[str, Path(pattern=Sha, description="A structure's hash, or its beginning.")]


class SearchOut(BaseModel):
    """A search as it stands."""

    id: str
    model: str
    device: str
    count: int
    context_tokens: int
    setting: str
    clock: str
    seed: int
    state: str
    counters: dict[str, int]
    created_at: Utc
    updated_at: Utc
    href: str


class FrontierOut(SearchOut):
    """Both frontiers; gains are relative, and null while there is no baseline."""

    baseline_frontier: list[Json]
    frontier: list[Json]
    simultaneous_gain: float | None
    hypervolume_gain: float | None


class DiscoveryOut(BaseModel):
    """A verified structure with its largest gain over the baseline on both axes at once."""

    search: str
    structure: str
    summary: str
    gain: float
    proposer: str
    certificate: str | None
    round: int
    href: str


class ExplanationOut(BaseModel, extra="allow"):
    """Why a structure is better; `text` says it in plain words."""

    text: str
    discovery: Json


def shown(search: Search) -> Json:
    """A search as JSON."""
    return {
        "id": search.id, "model": search.model, "device": search.device, "count": search.count,
        "context_tokens": int(search.scenario.get("context", 0)), "setting": search.setting,
        "clock": search.clock, "seed": search.seed, "state": search.state, "counters": dict(search.counters),
        "created_at": search.created_at, "updated_at": search.updated_at,
        "href": f"/api/v1/frontiers/{search.id}",
    }  # fmt: skip


@router.get("/frontiers", responses=problems("invalid_cursor"))
def list_frontiers(
    here: Here,
    model: Annotated[str | None, Query(max_length=100, min_length=1)] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[SearchOut]:
    """Searches, newest first; each has a frontier."""
    before = None
    if cursor is not None:
        when, name = decode(cursor, str, str)
        before = (moment(when), name)
    found = here.database.list_searches(model=model, before=before, limit=limit + 1)
    return Page[SearchOut](**page_of(found, limit, shown, lambda s: (s.created_at.isoformat(), s.id)))


@router.get(
    "/frontiers/{search_id}",
    response_model=FrontierOut,
    responses=problems("not_found", "ambiguous", "conflict"),
)
def get_frontier(search_id: Id, here: Here) -> Any:
    """The frontier that a search has found so far, beside the conventional one."""
    search = here.database.get_search(search_id)
    store = _store(search, here)
    old = store.baseline()
    points = [dict(p.values) for p in here.database.frontier(search.id, store.conditions, X, Y)]
    new = tuple(point_from_json(p) for p in points)
    kind = device(search.device)
    both = bool(old and new)
    return {
        **shown(search),
        "baseline_frontier": [priced(p.to_json(), kind) for p in old or ()],
        "frontier": [priced(p, kind) for p in points],
        "simultaneous_gain": simultaneous_gain(old or (), new)[0] if both else None,
        "hypervolume_gain": hypervolume_gain(old or (), new) if both else None,
    }


@router.get("/discoveries", responses=problems("invalid_cursor", "not_found", "ambiguous"))
def list_discoveries(
    here: Here,
    search: Annotated[str | None, Query(pattern=r"^[0-9a-f]{4,32}$", description="Of one search.")] = None,
    min_gain: Annotated[float, Query(ge=0, le=1000, description="Least gain; 0.05 is 5 %.")] = 0.0,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[DiscoveryOut]:
    """Structures that beat the baseline, the largest gain first."""
    (start,) = (0,) if cursor is None else decode(cursor, int)
    if not 0 <= start < 2**31:
        raise Refusal("invalid_cursor", "a cursor must come from the page before; leave it out")
    name = None if search is None else here.database.get_search(search).id
    found = here.database.list_discoveries(search_id=name, above=min_gain, offset=start, limit=limit + 1)
    items = [
        DiscoveryOut(
            search=c.search_id, structure=c.design_hash, summary=summary, gain=c.gain or 0.0,
            proposer=c.proposer, certificate=c.certificate_hash, round=c.round_number,
            href=f"/api/v1/discoveries/{c.search_id}/{c.design_hash}",
        )
        for c, summary in found[:limit]
    ]  # fmt: skip
    return Page[DiscoveryOut](items=items, next_cursor=encode(start + limit) if len(found) > limit else None)


@router.get(
    "/discoveries/{search_id}/{structure}", response_model=ExplanationOut,
    responses=problems("not_found", "ambiguous", "timed_out", "overloaded", "problem"),
)  # fmt: skip
async def get_discovery(search_id: Id, structure: Structure, here: Here) -> Any:
    """What a structure changes, where its time goes, and what its gain rests on."""
    order = {"database": here.settings.database_url, "search": search_id, "design": structure}
    return await here.compute.run(explain, order)


class ReasonOut(BaseModel):
    """Why candidates were not accepted."""

    reason: str = Field(description="A stable code.")
    count: int
    example: str
    detail: str


@router.get("/frontiers/{search_id}/rejected", responses=problems("not_found", "ambiguous"))
def list_rejected(search_id: Id, here: Here) -> list[ReasonOut]:
    """Refused and failed candidates by reason, the most frequent first."""
    search = here.database.get_search(search_id)
    return [
        ReasonOut(reason=r.reason, count=r.count, example=r.example.design_hash, detail=r.example.detail)
        for r in here.database.count_reasons(search.id)
    ]


def _store(search: Search, here: Any) -> SearchStore:
    """The stored search under the conditions of this version."""
    try:
        store = SearchStore(here.database, problem_of(search))
    except (CatalogueError, EvaluatorError, TypeError) as error:
        raise Refusal(
            "conflict", f"a search must be of this version to be read, but it is not ({error})"
        ) from None
    if store.conditions.scenario_hash != search.scenario_hash:
        raise Refusal(
            "conflict",
            f"a search must be of this version to be read, but {search.id[:12]} is of another one; "
            "submit it again",
        )
    store.search_id = search.id
    return store
