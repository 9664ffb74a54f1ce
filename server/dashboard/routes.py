"""All pages and the static files as one router."""

from __future__ import annotations

from fastapi import APIRouter

from server.dashboard import static
from server.dashboard.pages import (
    catalogue,
    compare,
    design,
    discoveries,
    gap,
    jobs,
    new,
    overview,
    schedules,
    searches,
    system,
)

router = APIRouter(include_in_schema=False)
for part in (
    static, overview, new, jobs, searches, discoveries, design, compare, gap, catalogue, schedules, system,
):  # fmt: skip
    router.include_router(part.router)
