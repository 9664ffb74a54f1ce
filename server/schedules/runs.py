"""Runs of schedules and their morning reports over the API."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel

from db import ConflictError, NotFoundError, RunState, ScheduledRun, utc_now
from server.api.common import Cursor, Json, Limit, Page, Utc, decode, encode, moment, problems
from server.schedules.lifecycle import Lifecycle
from server.schedules.markdown import markdown
from server.services import Here, Services

router = APIRouter(tags=["runs"])

Id = Annotated[str, Path(pattern=r"^[0-9a-f]{32}$", description="A run's identifier.")]
Of = Annotated[str | None, Query(pattern=r"^[0-9a-f]{32}$", description="Of one schedule.")]


class RunOut(BaseModel):
    """One fire of a schedule; `reason` says why it was missed, skipped, cancelled or failed."""

    id: str
    schedule: str
    name: str
    fire_at: Utc
    state: Literal["waiting", "running", "paused", "done", "failed", "cancelled", "skipped", "missed"]
    reason: str
    jobs: list[str]
    delivery: Literal["none", "due", "sent", "failed"]
    created_at: Utc
    started_at: Utc | None
    finished_at: Utc | None
    href: str
    report: str | None


class ReportSummaryOut(BaseModel):
    """A report in short."""

    run: str
    schedule: str
    name: str
    state: str
    fire_at: str
    finished_at: str
    tried: int
    discoveries: int
    first: list[Json]
    href: str


class ReportOut(BaseModel, extra="allow"):
    """What a run tried, what is new since the report before, what it spent, what to look at first."""

    run: str
    schedule: str
    name: str
    state: str
    fire_at: str
    timezone: str
    started_at: str | None
    finished_at: str
    reason: str
    tried: int
    accepted: int
    discoveries: int
    spent: Json
    first: list[Json]
    jobs: list[Json]


def shown_run(run: ScheduledRun, name: str) -> Json:
    """A run as JSON."""
    return {
        "id": run.id, "schedule": run.schedule_id, "name": name, "fire_at": run.fire_at, "state": run.state,
        "reason": run.reason, "jobs": list(run.jobs), "delivery": run.delivery, "created_at": run.created_at,
        "started_at": run.started_at, "finished_at": run.finished_at, "href": f"/api/v1/runs/{run.id}",
        "report": f"/api/v1/reports/{run.id}" if run.report is not None else None,
    }  # fmt: skip


@router.get("/runs", responses=problems("invalid_cursor"))
def list_runs(
    here: Here,
    schedule: Of = None,
    state: Annotated[RunState | None, Query()] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[RunOut]:
    """Runs, newest first."""
    found, more = _page(here, schedule, (state,) if state else (), None, limit, cursor)
    names = _names(here)
    items = [RunOut(**shown_run(r, names.get(r.schedule_id, ""))) for r in found]
    return Page[RunOut](items=items, next_cursor=more)


@router.get("/runs/{run_id}", response_model=RunOut, responses=problems("not_found"))
def get_run(run_id: Id, here: Here) -> Any:
    """One run."""
    run = here.database.get_run(run_id)
    return shown_run(run, here.database.get_schedule(run.schedule_id).name)


@router.post("/runs/{run_id}/cancel", response_model=RunOut, responses=problems("not_found", "conflict"))
def cancel_run(run_id: Id, here: Here) -> Any:
    """End a run and its jobs; what they have found stays, and is reported."""
    run = here.database.get_run(run_id)
    if run.state not in ("waiting", "running", "paused"):
        raise ConflictError(
            f"a run must not be over to be cancelled, but {run_id} is {run.state}; nothing is to be done"
        )
    delivers = here.settings.webhook_url is not None
    Lifecycle(here.database, here.events, here.notify, delivers, utc_now).cancel(run, "cancelled by request")
    return get_run(run_id, here)


@router.get("/reports", responses=problems("invalid_cursor"))
def list_reports(
    here: Here, schedule: Of = None, limit: Limit = 50, cursor: Cursor = None
) -> Page[ReportSummaryOut]:
    """Morning reports, newest first."""
    found, more = _page(here, schedule, (), True, limit, cursor)
    keys = ("run", "schedule", "name", "state", "fire_at", "finished_at", "tried", "discoveries", "first")
    items = [
        ReportSummaryOut(**{k: (r.report or {})[k] for k in keys}, href=f"/api/v1/reports/{r.id}")
        for r in found
    ]
    return Page[ReportSummaryOut](items=items, next_cursor=more)


@router.get("/reports/{run_id}", response_model=ReportOut, responses=problems("not_found"))
def get_report(run_id: Id, here: Here) -> Any:
    """The report of a run."""
    return _report(run_id, here)


@router.get(
    "/reports/{run_id}/markdown", response_class=Response,
    responses={200: {"content": {"text/markdown": {"schema": {"type": "string"}}},
                     "description": "Markdown."},
               **problems("not_found")},
)  # fmt: skip
def get_report_markdown(run_id: Id, here: Here) -> Response:
    """The report of a run for mail or chat."""
    return Response(markdown(_report(run_id, here)), media_type="text/markdown; charset=utf-8")


def _report(run_id: str, here: Services) -> Json:
    run = here.database.get_run(run_id)
    if run.report is None:
        raise NotFoundError(
            f"a run must have ended to have a report, but {run_id} is {run.state}; wait for its end"
        )
    return dict(run.report)


def _page(
    here: Services,
    schedule: str | None,
    states: tuple[RunState, ...],
    reported: bool | None,
    limit: int,
    cursor: str | None,
) -> tuple[tuple[ScheduledRun, ...], str | None]:
    before = None
    if cursor is not None:
        when, name = decode(cursor, str, str)
        before = (moment(when), name)
    found = here.database.list_runs(
        schedule_id=schedule, states=states, reported=reported, before=before, limit=limit + 1
    )
    page = found[:limit]
    more = encode(page[-1].created_at.isoformat(), page[-1].id) if len(found) > limit else None
    return page, more


def _names(here: Services) -> dict[str, str]:
    return {s.id: s.name for s in here.database.list_schedules()}
