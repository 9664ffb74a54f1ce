"""The first page: what runs, what was found last, what comes next."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from db import utc_now
from server.api.jobs import shown as job_json
from server.dashboard.desk import AtDesk, Desk
from server.dashboard.found import latest
from server.dashboard.render import page
from server.schedules.routes import shown as schedule_json

router = APIRouter()


@router.get("/")
async def overview(request: Request, at: AtDesk) -> Response:
    """Running and waiting jobs, last discoveries, next runs."""
    data = await run_in_threadpool(_data, at)
    return page(request, "overview.html", data, here="overview", title="Overview")


def _data(at: Desk) -> dict[str, Any]:
    base = at.database
    now = utc_now()
    running = [job_json(j) for s in ("running", "paused", "queued") for j in base.list_jobs(state=s, limit=8)]
    ended = [j for j in base.list_jobs(limit=30) if j.state in ("done", "failed", "cancelled")][:5]
    coming = [schedule_json(s, now) for s in base.list_schedules(limit=50) if s.next_fire_at is not None]
    coming.sort(key=lambda s: s["next_fire_at"])
    return {
        "jobs": running,
        "ended": [job_json(j) for j in ended],
        "discoveries": latest(base, 0.0005, 8),
        "schedules": coming[:5],
        "counts": base.count_jobs(),
        "searches": len(base.list_searches(limit=1)),
    }
