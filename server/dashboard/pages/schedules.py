"""Schedules with their next fires, runs, and the morning reports."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool

from db import utc_now
from server.dashboard.desk import AtDesk
from server.dashboard.pages.common import fields, see, shown
from server.dashboard.render import page
from server.schedules.request import ScheduleIn
from server.schedules.routes import add_schedule, fire_schedule
from server.schedules.routes import shown as schedule_json
from server.schedules.timetable import TimetableError

router = APIRouter()

Id = Annotated[str, Path(pattern=r"^[0-9a-f]{32}$")]
DEFAULTS = {
    "name": "overnight", "cron": "0 22 * * MON-FRI", "timezone": "UTC", "start": "22:00", "end": "06:00",
    "models": "deepseek-v4-pro gpt-oss-120b", "device": "b300-sxm", "count": "64", "structures": "1000",
    "turn": "one",
}  # fmt: skip


@router.get("/schedules")
@shown("schedules")
async def schedule_list(request: Request, at: AtDesk) -> Response:
    """Every schedule with its next five fires, and the last runs."""
    return await _page(request, at, dict(DEFAULTS), "", 200)


async def _page(request: Request, at: Any, values: dict[str, str], wrong: str, status: int) -> Response:
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
            "error": wrong,
        }  # fmt: skip

    return page(
        request, "schedules.html", await run_in_threadpool(data), here="schedules", title="Schedules",
        status=status, view={"values": values},
    )  # fmt: skip


@router.post("/schedules")
@shown("schedules")
async def plan(request: Request, at: AtDesk) -> Response:
    """Plan a nightly run over several models."""
    given = await fields(request)
    values = {**DEFAULTS, **{k: v for k, v in given.items() if k in DEFAULTS}}
    try:
        asked = ScheduleIn.model_validate(
            {
                "name": values["name"], "cron": values["cron"], "timezone": values["timezone"],
                "window": {"start": values["start"], "end": values["end"]} if values["start"] else None,
                "models": values["models"].replace(",", " ").split(), "turn": values["turn"],
                "job": {"device": values["device"], "count": int(values["count"]),
                        "budget": {"structures": int(values["structures"])}},
            }
        )  # fmt: skip
    except (ValidationError, TimetableError, ValueError) as error:
        said = error.errors()[0] if isinstance(error, ValidationError) else {"loc": (), "msg": str(error)}
        where = ".".join(str(p) for p in said["loc"])
        return await _page(request, at, values, f"{where}: {said['msg']}".strip(": "), 422)
    await run_in_threadpool(add_schedule, asked, at.services, Response())
    return see("/schedules")


@router.post("/schedules/{schedule_id}/fire")
@shown("schedules")
async def fire(schedule_id: Id, request: Request, at: AtDesk) -> Response:
    """Fire now."""
    await run_in_threadpool(fire_schedule, schedule_id, at.services, Response())
    return see("/schedules")


@router.get("/reports")
@shown("reports")
async def report_list(request: Request, at: AtDesk) -> Response:
    """Morning reports, newest first."""

    def data() -> dict[str, Any]:
        runs = at.database.list_runs(reported=True, limit=50)
        return {"reports": [dict(r.report) for r in runs if r.report]}

    return page(request, "reports.html", await run_in_threadpool(data), here="reports", title="Reports")


@router.get("/reports/{run_id}")
@shown("reports")
async def report(run_id: Id, request: Request, at: AtDesk) -> Response:
    """One morning report."""

    def data() -> dict[str, Any]:
        run = at.database.get_run(run_id)
        return {"report": dict(run.report) if run.report else None, "run": run_id, "state": run.state}

    return page(request, "report.html", await run_in_threadpool(data), here="reports", title="Morning report")
