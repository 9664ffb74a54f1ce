"""Baselines: the conventional frontiers that searches are compared with."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel

from server.api.common import Cursor, Json, Limit, Page, Utc, decode, encode, problems
from server.api.jobs import JobOut, accepted
from server.jobs.request import JobRequest
from server.jobs.submit import submit
from server.problems import Refusal
from server.services import Here

router = APIRouter(tags=["baselines"])


class BaselineOut(BaseModel):
    """A conventional frontier under its conditions."""

    model: str
    count: int
    scenario_hash: str
    device_hash: str
    evaluator_version: str
    setting: str
    clock: str
    created_at: Utc
    points: list[Json]


@router.post(
    "/baselines", status_code=202, response_model=JobOut,
    responses=problems("unknown_name", "syntax", "design", "config", "overloaded"),
)  # fmt: skip
def price_baseline(body: JobRequest, here: Here, response: Response) -> Any:
    """Submit a job that prices the conventional structures; its result has the frontier."""
    request = body.model_copy(update={"kind": "baseline"})
    return accepted(submit(request, here.database, here.events, here.compute), here, response)


@router.get("/baselines", responses=problems("invalid_cursor"))
def list_baselines(
    here: Here,
    model: Annotated[str | None, Query(max_length=100, min_length=1)] = None,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> Page[BaselineOut]:
    """Stored baselines, newest first."""
    (start,) = (0,) if cursor is None else decode(cursor, int)
    if not 0 <= start < 2**31:
        raise Refusal("invalid_cursor", "a cursor must come from the page before; leave it out")
    found = here.database.list_baselines(model=model, limit=start + limit + 1)[start:]
    items = [
        {
            "model": b.model, "count": b.count, "scenario_hash": b.conditions.scenario_hash,
            "device_hash": b.conditions.device_hash, "evaluator_version": b.conditions.evaluator_version,
            "setting": b.conditions.setting, "clock": b.conditions.clock, "created_at": b.created_at,
            "points": [dict(p) for p in b.points],
        }
        for b in found[:limit]
    ]  # fmt: skip
    more = encode(start + limit) if len(found) > limit else None
    return Page[BaselineOut](items=items, next_cursor=more)
