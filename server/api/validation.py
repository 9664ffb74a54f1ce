"""Validation: published measurements held against their bounds."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from server.api.common import Json, immutable, problems
from server.services import Here
from server.work.models import validation

router = APIRouter(tags=["validation"])


class ValidationOut(BaseModel):
    """Counts of measurements, which of them break their bound, and what fraction of it they reach."""

    rows: int
    placed: int
    violations: list[str]
    not_placed: list[Json]
    fraction_of_bound: dict[str, dict[str, Json]]


@router.get("/validation", response_model=ValidationOut, responses=problems("timed_out", "overloaded"))
async def get_validation(here: Here, request: Request) -> Response:
    """Hold the catalogued measurements against their bounds."""
    return immutable(request, await here.compute.run(validation, None), seconds=0)
