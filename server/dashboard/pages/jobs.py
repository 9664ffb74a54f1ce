"""Jobs: the list, one live job, and its buttons."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from server.api.jobs import accepted, ask
from server.api.jobs import shown as job_json
from server.dashboard.desk import AtDesk, Desk
from server.dashboard.pages.common import see
from server.dashboard.pages.searches import search_data
from server.dashboard.render import page
from server.jobs.request import Stored
from server.jobs.submit import enqueue
from server.problems import Refusal

router = APIRouter()

Id = Annotated[str, Path(pattern=r"^[0-9a-f]{32}$")]
STATES = ("queued", "running", "paused", "done", "failed", "cancelled")
PAGE = 50


@router.get("/jobs")
async def job_list(
    request: Request, at: AtDesk, state: str = "", start: Annotated[int, Query(ge=0, le=100_000)] = 0
) -> Response:
    """Jobs, newest first."""
    wanted = state if state in STATES else None

    def data() -> dict[str, Any]:
        found = at.database.list_jobs(state=wanted, limit=start + PAGE + 1)[start:]
        return {
            "jobs": [job_json(j) for j in found[:PAGE]], "counts": at.database.count_jobs(),
            "state": wanted, "start": start, "more": len(found) > PAGE,
        }  # fmt: skip

    return page(request, "jobs.html", await run_in_threadpool(data), here="jobs", title="Jobs")


@router.get("/jobs/{job_id}")
async def job_page(job_id: Id, request: Request, at: AtDesk) -> Response:
    """One job: its frontier, what it spent, who proposed, what was refused; and its buttons."""
    data = await run_in_threadpool(_job, at, job_id)
    title = f"{data['job']['model']} on {data['job']['count']} × {data['job']['device']}"
    return page(request, "job.html", data, here="jobs", title=title)


def _job(at: Desk, job_id: str) -> dict[str, Any]:
    job = at.database.get_job(job_id)
    found = job_json(job, result=False)
    last = at.database.last_event()
    search = None
    if job.search_id:
        search = search_data(at, at.database.get_search(job.search_id))
    return {"job": found, "search": search, "last_event": last}


@router.post("/jobs/{job_id}/{wish}")
async def job_wish(job_id: Id, wish: str, request: Request, at: AtDesk) -> Response:
    """Pause, resume, cancel or submit again."""

    def act() -> str:
        if wish == "again":
            job = at.database.get_job(job_id)
            stored = Stored.model_validate(job.request)
            made = enqueue(stored, at.database, at.services.events, job.priority)
            accepted(made, at.services, Response())
            return made.id
        if wish not in ("pause", "resume", "cancel"):
            raise Refusal(
                "not_found", f"a wish must be pause, resume, cancel or again, but got {wish[:40]!r}"
            )
        ask(job_id, wish, at.services)
        return job_id

    return see(f"/jobs/{await run_in_threadpool(act)}")
