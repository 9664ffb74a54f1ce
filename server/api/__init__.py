"""The REST API under /api/v1: one file per resource."""

from __future__ import annotations

from fastapi import APIRouter, Depends

from server.access import routes as access
from server.api import (
    baselines,
    catalogue,
    designs,
    evaluations,
    events,
    health,
    jobs,
    lineage,
    notes,
    problems,
    rules,
    searches,
    validation,
    verifications,
)
from server.api.common import no_other_parameters
from server.schedules import routes as schedules
from server.schedules import runs

PREFIX = "/api/v1"


def router() -> APIRouter:
    """Every route."""
    every = APIRouter(prefix=PREFIX, dependencies=[Depends(no_other_parameters)])
    for part in (
        catalogue, designs, evaluations, verifications, baselines, jobs, searches, lineage, notes, rules,
        validation, events, schedules, runs, access, health, problems,
    ):  # fmt: skip
        every.include_router(part.router)
    return every
