"""Schedules over the API: plan, change, try out, fire now."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, Field

from db import ConflictError, Schedule, utc_now
from server.api.common import Cursor, Json, Limit, Page, Utc, decode, encode, problems
from server.jobs.submit import check
from server.problems import Refusal
from server.schedules.request import MOST_FIRES, ScheduleIn, changed, make, next_fires
from server.schedules.runs import RunOut, shown_run
from server.schedules.scheduler import new_run
from server.schedules.timetable import TimetableError
from server.services import Here, Services

router = APIRouter(tags=["schedules"])

Id = Annotated[str, Path(pattern=r"^[0-9a-f]{32}$", description="A schedule's identifier.")]


class FireOut(BaseModel):
    """A coming fire; the change is what is done to the clocks on its day, 0 on most."""

    at: Utc
    local: str
    utc_offset: str
    clock_change_seconds: int


class WindowOut(BaseModel):
    """Local hours."""

    start: str
    end: str


class ScheduleOut(BaseModel):
    """A schedule; `jobs` are complete requests, with the text of uploaded models left out."""

    id: str
    name: str
    cron: str
    timezone: str
    enabled: bool
    next_fire_at: Utc | None
    next_fires: list[FireOut] = Field(description="The next five; days of changed clocks are marked.")
    grace_seconds: int
    catch_up: Literal["none", "latest", "all"]
    overlap: Literal["skip", "queue", "cancel"]
    window: WindowOut | None
    turn: Literal["all", "one"]
    jobs: list[Json]
    budget: Json
    notify: bool
    created_at: Utc
    updated_at: Utc
    href: str


def shown(schedule: Schedule, now: datetime) -> Json:
    """A schedule as JSON."""
    fires = next_fires(schedule.cron, schedule.timezone, now) if schedule.enabled else []
    window = {"start": schedule.window_start, "end": schedule.window_end} if schedule.window_start else None
    return {
        "id": schedule.id, "name": schedule.name, "cron": schedule.cron, "timezone": schedule.timezone,
        "enabled": schedule.enabled, "next_fire_at": schedule.next_fire_at, "next_fires": fires,
        "grace_seconds": schedule.grace_seconds, "catch_up": schedule.catch_up, "overlap": schedule.overlap,
        "window": window, "turn": schedule.turn,
        "jobs": [{"model": j["model"], "request": j["request"]} for j in schedule.jobs],
        "budget": dict(schedule.budget), "notify": schedule.notify, "created_at": schedule.created_at,
        "updated_at": schedule.updated_at, "href": f"/api/v1/schedules/{schedule.id}",
    }  # fmt: skip


@router.post(
    "/schedules", status_code=201, response_model=ScheduleOut,
    responses=problems("conflict", "unknown_name", "syntax", "design", "config", "overloaded"),
)  # fmt: skip
def add_schedule(body: ScheduleIn, here: Here, response: Response) -> Any:
    """Plan jobs; `models` with `turn` makes a week of nights over several models one request."""
    now = utc_now()
    schedule = _made(body, here, now)
    here.database.create_schedule(schedule)
    here.events.record("schedule.added", schedule.id, name=schedule.name)
    response.headers["Location"] = f"/api/v1/schedules/{schedule.id}"
    return shown(schedule, now)


@router.get("/schedules", responses=problems("invalid_cursor"))
def list_schedules(here: Here, limit: Limit = 50, cursor: Cursor = None) -> Page[ScheduleOut]:
    """Schedules by name."""
    (after,) = ("",) if cursor is None else decode(cursor, str)
    now = utc_now()
    found = here.database.list_schedules(after=after, limit=limit + 1)
    page = found[:limit]
    more = encode(page[-1].name) if len(found) > limit else None
    return Page[ScheduleOut](items=[ScheduleOut(**shown(s, now)) for s in page], next_cursor=more)


@router.get("/schedules/preview", responses=problems())
def preview_fires(
    here: Here,
    cron: Annotated[str, Query(min_length=9, max_length=100, description="A cron expression.")],
    timezone: Annotated[str, Query(min_length=1, max_length=64, description="An IANA time zone.")] = "UTC",
    count: Annotated[int, Query(ge=1, le=100)] = MOST_FIRES,
) -> list[FireOut]:
    """When an expression would fire, before it is planned."""
    try:
        return [FireOut(**f) for f in next_fires(cron, timezone, utc_now(), count)]
    except TimetableError as error:
        raise Refusal("invalid", str(error)) from None


@router.get("/schedules/{schedule_id}", response_model=ScheduleOut, responses=problems("not_found"))
def get_schedule(schedule_id: Id, here: Here) -> Any:
    """One schedule with its next fires."""
    return shown(here.database.get_schedule(schedule_id), utc_now())


@router.put(
    "/schedules/{schedule_id}", response_model=ScheduleOut,
    responses=problems("not_found", "conflict", "unknown_name", "syntax", "design", "config", "overloaded"),
)  # fmt: skip
def replace_schedule(schedule_id: Id, body: ScheduleIn, here: Here) -> Any:
    """Change a schedule as a whole; a run under way goes on as it began."""
    now = utc_now()
    before = here.database.get_schedule(schedule_id)
    after = changed(before, _made(body, here, now))
    here.database.update_schedule(after)
    here.events.record("schedule.changed", schedule_id, name=after.name)
    return shown(after, now)


@router.delete("/schedules/{schedule_id}", status_code=204, responses=problems("not_found", "conflict"))
def remove_schedule(schedule_id: Id, here: Here) -> Response:
    """Forget a schedule with its runs and reports; what its jobs found stays."""
    schedule = here.database.get_schedule(schedule_id)
    if any(r.schedule_id == schedule_id for r in here.database.active_runs()):
        raise ConflictError(
            f"a schedule must have no run under way to be removed, but {schedule.name!r} has one; "
            "cancel the run first"
        )
    here.database.remove_schedule(schedule_id)
    here.events.record("schedule.removed", schedule_id, name=schedule.name)
    return Response(status_code=204)


@router.post(
    "/schedules/{schedule_id}/fire", status_code=202, response_model=RunOut,
    responses=problems("not_found", "conflict"),
)  # fmt: skip
def fire_schedule(schedule_id: Id, here: Here, response: Response) -> Any:
    """Fire now, beside the timetable; window, overlap and budget hold as for any run."""
    schedule = here.database.get_schedule(schedule_id)
    now = utc_now().replace(microsecond=0)
    if schedule.overlap == "skip" and any(r.schedule_id == schedule_id for r in here.database.active_runs()):
        raise ConflictError(
            f"a run must be over before the next one, but {schedule.name!r} has one under way; wait for it"
        )
    run = new_run(schedule_id, now, now, "waiting", "")
    if not here.database.create_run(run):
        raise ConflictError("a schedule must fire once a second at most, but it just did; wait a moment")
    here.events.record("run.waiting", run.id, schedule=schedule.name, fire_at=now.isoformat())
    response.headers["Location"] = f"/api/v1/runs/{run.id}"
    return shown_run(run, schedule.name)


def _made(body: ScheduleIn, here: Services, now: datetime) -> Schedule:
    return make(body, now, lambda request: check(request, here.compute))
