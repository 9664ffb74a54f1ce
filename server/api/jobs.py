"""Jobs: submit, list, follow, pause, resume, cancel, move up, clone, export."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from db import ConflictError, Job, JobState
from server.api.common import Cursor, Json, Limit, Page, Utc, decode, encode, moment, problems
from server.jobs.request import JobRequest, Stored, Strict
from server.jobs.submit import enqueue, submit
from server.services import Here, Services

router = APIRouter(tags=["jobs"])

Id = Annotated[str, Path(pattern=r"^[0-9a-f]{32}$", description="A job's identifier.")]


class LanguageOut(BaseModel):
    """The language model of a job; where it does not answer, the other proposers go on without it."""

    model: str
    unanswered: dict[str, str] = Field(description="Why it does not answer: a code, and a sentence.")


class ProgressOut(BaseModel):
    """How far a search is; counts are of the whole search, seconds of the run."""

    phase: str
    round: int
    structures: int
    target: int
    accepted: int
    refused: int
    failed: int
    points: int
    best_gain: float
    seconds: float
    remaining_seconds: float | None
    llm: LanguageOut | None = Field(None, description="Null where the job asks no language model.")


class JobOut(BaseModel):
    """A job. `wanted` is what a running one is about to do; `result` is left out of lists."""

    id: str
    kind: str
    state: Literal["queued", "running", "paused", "done", "failed", "cancelled"]
    wanted: str
    priority: int
    model: str
    device: str
    count: int
    request: Json
    search: str | None = Field(description="The search whose frontier and discoveries it adds to.")
    attempts: int
    spent_seconds: float
    progress: ProgressOut | None
    problem: Json | None = Field(description="Why it failed.")
    created_at: Utc
    updated_at: Utc
    started_at: Utc | None
    finished_at: Utc | None
    href: str
    result: Json | None = None


class PriorityIn(Strict):
    """A new place in the queue."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"priority": 5}]})

    priority: int = Field(ge=-1000, le=1000, description="Jobs of a higher one are run first.")


def shown(job: Job, result: bool = False) -> Json:
    """A job as JSON."""
    stored = Stored.model_validate(job.request)
    return {
        "id": job.id, "kind": job.kind, "state": job.state, "wanted": job.wanted, "priority": job.priority,
        "model": stored.model, "device": stored.request.device, "count": stored.request.count,
        "request": stored.request.model_dump(mode="json"), "search": job.search_id,
        "attempts": job.attempts, "spent_seconds": job.spent_seconds, "progress": dict(job.progress) or None,
        "problem": job.problem, "created_at": job.created_at, "updated_at": job.updated_at,
        "started_at": job.started_at, "finished_at": job.finished_at, "href": f"/api/v1/jobs/{job.id}",
        "result": dict(job.result) if result and job.result is not None else None,
    }  # fmt: skip


def accepted(job: Job, here: Services, response: Response) -> Json:
    """The answer to a submitted job: where to follow it."""
    here.notify()
    response.headers["Location"] = f"/api/v1/jobs/{job.id}"
    response.headers["Retry-After"] = "1"
    return shown(job)


@router.post(
    "/jobs", status_code=202, response_model=JobOut,
    responses=problems("unknown_name", "syntax", "design", "config", "overloaded"),
)  # fmt: skip
def submit_job(body: JobRequest, here: Here, response: Response) -> Any:
    """Submit a search or baseline; follow it at Location or by its events."""
    return accepted(submit(body, here.database, here.events, here.compute), here, response)


@router.get("/jobs", responses=problems("invalid_cursor"))
def list_jobs(
    here: Here,
    state: Annotated[JobState | None, Query()] = None,
    kind: Annotated[Literal["search", "baseline"] | None, Query()] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[JobOut]:
    """Jobs, newest first."""
    before = None
    if cursor is not None:
        when, name = decode(cursor, str, str)
        before = (moment(when), name)
    found = here.database.list_jobs(state=state, kind=kind, before=before, limit=limit + 1)
    page = found[:limit]
    more = encode(page[-1].created_at.isoformat(), page[-1].id) if len(found) > limit else None
    return Page[JobOut](items=[JobOut(**shown(j)) for j in page], next_cursor=more)


@router.get("/jobs/{job_id}", response_model=JobOut, responses=problems("not_found"))
def get_job(job_id: Id, here: Here) -> Any:
    """One job, with its result when it is done."""
    return shown(here.database.get_job(job_id), result=True)


@router.get("/jobs/{job_id}/export", response_model=JobOut, responses=problems("not_found", "conflict"))
def export_job(job_id: Id, here: Here) -> Response:
    """A job that is over, as a file to keep."""
    job = here.database.get_job(job_id)
    if job.state not in ("done", "failed", "cancelled"):
        raise ConflictError(f"a job must be over to be exported, but {job_id} is {job.state}; wait for it")
    content = JobOut(**shown(job, result=True)).model_dump(mode="json")
    name = f'attachment; filename="seis-job-{job.id[:12]}.json"'
    return JSONResponse(content, headers={"Content-Disposition": name})


@router.post("/jobs/{job_id}/pause", response_model=JobOut, responses=problems("not_found", "conflict"))
def pause_job(job_id: Id, here: Here) -> Any:
    """Stop a job until it is resumed; the round in work is done again then."""
    return ask(job_id, "pause", here)


@router.post("/jobs/{job_id}/resume", response_model=JobOut, responses=problems("not_found", "conflict"))
def resume_job(job_id: Id, here: Here) -> Any:
    """Queue a paused job again."""
    return ask(job_id, "resume", here)


@router.post("/jobs/{job_id}/cancel", response_model=JobOut, responses=problems("not_found", "conflict"))
def cancel_job(job_id: Id, here: Here) -> Any:
    """End a job for good; what its search has found stays."""
    return ask(job_id, "cancel", here)


@router.put("/jobs/{job_id}/priority", response_model=JobOut, responses=problems("not_found"))
def prioritise_job(job_id: Id, body: PriorityIn, here: Here) -> Any:
    """Move a job in the queue."""
    job = here.database.prioritise_job(job_id, body.priority)
    here.events.record("job.priority", job_id, priority=job.priority)
    return shown(job)


@router.post(
    "/jobs/{job_id}/clone", status_code=202, response_model=JobOut, responses=problems("not_found"),
)  # fmt: skip
def clone_job(job_id: Id, here: Here, response: Response) -> Any:
    """Submit the same again; a finished search goes on from where it ended."""
    job = here.database.get_job(job_id)
    stored = Stored.model_validate(job.request)
    return accepted(enqueue(stored, here.database, here.events, job.priority), here, response)


def ask(job_id: str, wish: str, here: Services) -> Json:
    """Ask for `pause`, `resume` or `cancel`; the job as it is then."""
    before = here.database.get_job(job_id).state
    job = here.database.ask_job(job_id, wish)
    if job.state != before:
        here.events.record(f"job.{job.state}", job_id, state=job.state)
    here.notify()
    return shown(job)
