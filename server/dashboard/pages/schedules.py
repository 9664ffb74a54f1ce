"""Schedules with their next fires, runs, and the morning reports."""

from __future__ import annotations

from typing import Annotated, Any
from zoneinfo import available_timezones

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.encoders import jsonable_encoder
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool

from db import utc_now
from server.dashboard.desk import AtDesk
from server.dashboard.pages.common import fields, see
from server.dashboard.plans import DEFAULTS, read, values_of
from server.dashboard.render import page
from server.schedules.request import next_fires
from server.schedules.routes import add_schedule, fire_schedule, remove_schedule, replace_schedule
from server.schedules.routes import shown as schedule_json
from server.schedules.timetable import TimetableError

router = APIRouter()

ZONES = ("UTC", *(z for z in available_timezones() if "/" in z and not z.startswith("Etc/")))

Id = Annotated[str, Path(pattern=r"^[0-9a-f]{32}$")]
Edit = Annotated[str, Query(pattern=r"^([0-9a-f]{32})?$")]


@router.get("/schedules")
async def schedule_list(request: Request, at: AtDesk, edit: Edit = "") -> Response:
    """Every schedule with its next five fires, and the last runs; `edit` fills the form with one of them."""
    values = dict(DEFAULTS)
    if edit:
        values = values_of(await run_in_threadpool(at.database.get_schedule, edit))
    return await _page(request, at, values, {}, edit, 200)


async def _page(
    request: Request, at: Any, values: dict[str, str], wrong: dict[str, str], edited: str, status: int
) -> Response:
    def data() -> dict[str, Any]:
        now = utc_now()
        found = at.database.list_schedules(limit=200)
        names = {s.id: s.name for s in found}
        runs = at.database.list_runs(limit=20)
        return {
            "schedules": [schedule_json(s, now) for s in found],
            "runs": [
                {"id": r.id, "name": names.get(r.schedule_id, ""), "fire_at": r.fire_at, "state": r.state,
                 "reason": r.reason, "reported": r.report is not None}
                for r in runs
            ],
            "errors": wrong,
        }  # fmt: skip

    view = {"values": values, "edited": edited, "coming": _coming(values), "zones": sorted(ZONES)}
    return page(
        request, "schedules.html", await run_in_threadpool(data), here="schedules", title="Schedules",
        status=status, view=view,
    )  # fmt: skip


def _coming(values: dict[str, str]) -> list[dict[str, Any]]:
    """The next five fires of a form, none where they are not known yet."""
    try:
        return next_fires(values["cron"], values["timezone"], utc_now())
    except TimetableError:
        return []


async def _given(request: Request) -> dict[str, str]:
    given = await fields(request)
    return {**DEFAULTS, **{k: v for k, v in given.items() if k in DEFAULTS}}


@router.post("/schedules")
async def plan(request: Request, at: AtDesk) -> Response:
    """Plan runs over several models."""
    values = await _given(request)
    asked, wrong = await run_in_threadpool(read, values)
    if asked is None:
        return await _page(request, at, values, wrong, "", 422)
    await run_in_threadpool(add_schedule, asked, at.services, Response())
    return see("/schedules")


@router.post("/schedules/check")
async def check_plan(request: Request, at: AtDesk, edit: Edit = "") -> Response:
    """What is wrong with the fields so far, and when it would fire."""
    values = await _given(request)

    def content() -> dict[str, Any]:
        _, wrong = read(values, at.database.get_schedule(edit) if edit else None)
        return {"errors": wrong, "fires": _coming(values)}

    return JSONResponse(jsonable_encoder(await run_in_threadpool(content)))


@router.post("/schedules/{schedule_id}/edit")
async def edit_schedule(schedule_id: Id, request: Request, at: AtDesk) -> Response:
    """Change a schedule; what the form does not show stays."""
    values = await _given(request)
    before = await run_in_threadpool(at.database.get_schedule, schedule_id)
    asked, wrong = await run_in_threadpool(read, values, before)
    if asked is None:
        return await _page(request, at, values, wrong, schedule_id, 422)
    await run_in_threadpool(replace_schedule, schedule_id, asked, at.services)
    return see(f"/schedules#s-{schedule_id}")


@router.post("/schedules/{schedule_id}/remove")
async def forget_schedule(schedule_id: Id, request: Request, at: AtDesk) -> Response:
    """Remove a schedule with its runs and reports."""
    await run_in_threadpool(remove_schedule, schedule_id, at.services)
    return see("/schedules")


@router.post("/schedules/{schedule_id}/fire")
async def fire(schedule_id: Id, request: Request, at: AtDesk) -> Response:
    """Fire now."""
    await run_in_threadpool(fire_schedule, schedule_id, at.services, Response())
    return see("/schedules")


@router.get("/reports")
async def report_list(request: Request, at: AtDesk) -> Response:
    """Morning reports, newest first."""

    def data() -> dict[str, Any]:
        runs = at.database.list_runs(reported=True, limit=50)
        return {"reports": [dict(r.report) for r in runs if r.report]}

    return page(request, "reports.html", await run_in_threadpool(data), here="reports", title="Reports")


@router.get("/reports/{run_id}")
async def report(run_id: Id, request: Request, at: AtDesk) -> Response:
    """One morning report."""

    def data() -> dict[str, Any]:
        run = at.database.get_run(run_id)
        return {"report": dict(run.report) if run.report else None, "run": run_id, "state": run.state}

    return page(request, "report.html", await run_in_threadpool(data), here="reports", title="Morning report")
