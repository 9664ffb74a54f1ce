"""The form of a schedule: its fields, what is wrong with them in words, and the schedule they ask for."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from db import Schedule
from server.names import device_name, model_name
from server.schedules.request import ScheduleIn
from server.schedules.timetable import Timetable, TimetableError, read_zone
from server.schedules.window import Window

DEFAULTS = {
    "name": "overnight", "cron": "0 22 * * MON-FRI", "timezone": "UTC", "start": "22:00", "end": "06:00",
    "models": "deepseek-v4-pro gpt-oss-120b", "device": "b300-sxm", "count": "64", "structures": "1000",
    "turn": "one", "overlap": "skip", "catch_up": "latest", "enabled": "yes",
}  # fmt: skip
NUMBERS = {"count": ("Devices", 65_536), "structures": ("Structures", 1_000_000)}


def values_of(schedule: Schedule) -> dict[str, str]:
    """The fields of a schedule that there is; device, count and structures are those of its first job."""
    job = dict(schedule.jobs[0]["request"])
    return {
        "name": schedule.name, "cron": schedule.cron, "timezone": schedule.timezone,
        "start": schedule.window_start, "end": schedule.window_end,
        "models": " ".join(j["model"] for j in schedule.jobs), "device": job["device"],
        "count": str(job["count"]), "structures": str(job["budget"]["structures"]), "turn": schedule.turn,
        "overlap": schedule.overlap, "catch_up": schedule.catch_up,
        "enabled": "yes" if schedule.enabled else "no",
    }  # fmt: skip


def read(values: dict[str, str], before: Schedule | None = None) -> tuple[ScheduleIn | None, dict[str, str]]:
    """(the schedule, what is wrong by field). What the form has no field for stays as it was `before`."""
    wrong: dict[str, str] = {}
    for name, check in (
        ("timezone", lambda: read_zone(values["timezone"])),
        ("cron", lambda: Timetable.read(values["cron"], values["timezone"])),
        ("start", lambda: _window(values)),
        ("device", lambda: device_name(values["device"])),
    ):
        if name == "cron" and "timezone" in wrong:
            continue
        try:
            check()
        except Exception as error:
            wrong[name] = _sentence(str(error))
    for name, (label, most) in NUMBERS.items():
        text = values[name].replace(",", "")
        if not (text.isascii() and text.isdigit() and 1 <= int(text) <= most):
            wrong[name] = f"{label} must be a whole number from 1 to {most:,}, but got “{values[name][:30]}”."
    uploaded = {j["model"] for j in before.jobs if j.get("text")} if before else set()
    models = values["models"].replace(",", " ").split()
    if not models:
        wrong["models"] = "At least one model must be named; write for example gpt-oss-120b."
    for m in models:
        try:
            m in uploaded or model_name(m)
        except Exception as error:
            wrong.setdefault("models", _sentence(str(error)))
    if not values["name"]:
        wrong["name"] = "A schedule must have a name; give it one."
    if wrong:
        return None, wrong
    try:
        return ScheduleIn.model_validate(_body(values, models, before)), {}
    except ValidationError as error:
        said = error.errors()[0]
        where = str(said["loc"][0]) if said["loc"] else "form"
        return None, {where if where in DEFAULTS else "form": _sentence(str(said["msg"]))}


def _body(values: dict[str, str], models: list[str], before: Schedule | None) -> dict[str, Any]:
    shown = values_of(before) if before else {}
    kept: dict[str, Any] = {}
    if before is not None:
        kept = {"grace_seconds": before.grace_seconds, "budget": dict(before.budget), "notify": before.notify}
    return {
        **kept, "name": values["name"], "cron": values["cron"], "timezone": values["timezone"],
        "window": {"start": values["start"], "end": values["end"]} if values["start"] else None,
        "turn": values["turn"], "overlap": values["overlap"], "catch_up": values["catch_up"],
        "enabled": values["enabled"] == "yes",
        "jobs": [_job(values, shown, m, before) for m in models],
    }  # fmt: skip


def _job(
    values: dict[str, str], shown: dict[str, str], model: str, before: Schedule | None
) -> dict[str, Any]:
    """A job: as it was, with what was changed in the form."""
    same = [j for j in before.jobs if j["model"] == model] if before else []
    old = same[0] if same else before.jobs[0] if before else {}
    job = dict(old.get("request", {}))
    for name in ("model", "text", "config", "name"):
        job.pop(name, None)
    if same and old.get("text"):
        job |= {"text": old["text"], "name": model}
    else:
        job["model"] = model
    for name in ("device", "count"):
        if values[name] != shown.get(name):
            job[name] = values[name].replace(",", "") if name == "count" else values[name]
    if values["structures"] != shown.get("structures"):
        job["budget"] = {**job.get("budget", {}), "structures": int(values["structures"].replace(",", ""))}
    return {k: int(v) if k == "count" else v for k, v in job.items()}


def _window(values: dict[str, str]) -> None:
    if values["start"] or values["end"]:
        try:
            zone = read_zone(values["timezone"])
        except TimetableError:
            zone = read_zone("UTC")
        Window.read(values["start"], values["end"], zone)


def _sentence(text: str) -> str:
    text = text.removeprefix("Value error, ")
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
