"""A schedule as it is asked for, checked, and as it is shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from uuid import uuid4

from pydantic import ConfigDict, Field, JsonValue, field_validator, model_validator

from db import Schedule
from server.jobs.request import JobRequest, Name, Stored, Strict
from server.schedules.timetable import Timetable, read_zone
from server.schedules.window import Window

MOST_JOBS = 50
MOST_FIRES = 5

EXAMPLE: dict[str, JsonValue] = {
    "name": "overnight",
    "cron": "0 22 * * MON-FRI",
    "timezone": "Europe/Berlin",
    "window": {"start": "22:00", "end": "06:00"},
    "models": ["llama-3.1-8b", "gpt-oss-120b", "deepseek-v4-pro"],
    "turn": "one",
    "job": {"device": "h100-sxm", "count": 8, "budget": {"structures": 2000}},
    "budget": {"seconds": 25200},
}


class WindowIn(Strict):
    """Local hours in which work goes on; over midnight where it ends before it begins."""

    start: str = Field("22:00", max_length=5, description="HH:MM")
    end: str = Field("06:00", max_length=5, description="HH:MM")


class RunBudget(Strict):
    """What one run may use, in equal parts for its jobs."""

    seconds: float | None = Field(None, gt=0, le=31_536_000)
    structures: int | None = Field(None, ge=1, le=1_000_000)
    tokens: int | None = Field(None, ge=0, le=10**12, description="Tokens of the language model.")
    dollars: float | None = Field(None, ge=0, le=1e9, description="Dollars for it.")
    calls: int | None = Field(None, ge=0, le=1_000_000, description="Calls of it.")


class ScheduleIn(Strict):
    """When to begin which jobs. `models` makes one job of each from the template `job`."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    name: Annotated[str, Field(min_length=1, max_length=100, description="Its own name, in any words.")]
    cron: Annotated[
        str, Field(min_length=9, max_length=100, description="Minute, hour, day, month, weekday.")
    ]
    timezone: Annotated[str, Field(min_length=1, max_length=64, description="An IANA time zone.")] = "UTC"
    enabled: bool = True
    grace_seconds: int = Field(600, ge=1, le=86_400, description="A fire later than this is late.")
    catch_up: Literal["none", "latest", "all"] = Field(
        "latest", description="Which late fires are done: none, the latest, or all."
    )
    overlap: Literal["skip", "queue", "cancel"] = Field(
        "skip", description="While a run is under way, the next one is skipped, waits, or ends it."
    )
    window: WindowIn | None = Field(
        None, description="Outside of it jobs are paused; they resume in the next."
    )
    turn: Literal["all", "one"] = Field("all", description="Whether a run begins all jobs, or the next one.")
    models: list[Name] = Field([], max_length=MOST_JOBS, description="Models that `job` is begun for.")
    job: JobRequest | None = Field(None, description="One job, or the template of those of `models`.")
    jobs: list[JobRequest] = Field([], max_length=MOST_JOBS, description="Jobs, in place of a template.")
    budget: RunBudget = RunBudget()
    notify: bool = Field(False, description="Send the report to the address in SEIS_WEBHOOK_URL.")

    @field_validator("name")
    @classmethod
    def _visible(cls, value: str) -> str:
        if not value.strip() or any(ord(c) < 32 or ord(c) == 127 for c in value):
            raise ValueError("must be visible text on one line")
        return value.strip()

    @model_validator(mode="after")
    def _consistent(self) -> ScheduleIn:
        Timetable.read(self.cron, self.timezone)
        if self.window is not None:
            Window.read(self.window.start, self.window.end, read_zone(self.timezone))
        if (self.job is None) == (not self.jobs):
            raise ValueError("either job or jobs must be given")
        if self.models and self.job is None:
            raise ValueError("models need a template in job")
        if self.models and self.job is not None and any((self.job.model, self.job.text, self.job.config)):
            raise ValueError("a template must leave the model to models")
        return self

    def requests(self) -> list[JobRequest]:
        """The jobs, one by one."""
        if self.job is None:
            return list(self.jobs)
        if not self.models:
            return [self.job]
        return [self.job.model_copy(update={"model": m}) for m in self.models]


def make(asked: ScheduleIn, now: datetime, check: Callable[[JobRequest], Stored]) -> Schedule:
    """A new schedule. `check` completes a request, and raises for a job that cannot be."""
    window = asked.window
    return Schedule(
        id=uuid4().hex, name=asked.name, cron=" ".join(asked.cron.split()), timezone=asked.timezone,
        enabled=asked.enabled,
        next_fire_at=Timetable.read(asked.cron, asked.timezone).after(now) if asked.enabled else None,
        grace_seconds=asked.grace_seconds, catch_up=asked.catch_up, overlap=asked.overlap,
        window_start=window.start if window else "", window_end=window.end if window else "",
        turn=asked.turn, jobs=[check(r).model_dump(mode="json") for r in asked.requests()],
        budget=asked.budget.model_dump(exclude_none=True), notify=asked.notify, created_at=now,
        updated_at=now,
    )  # fmt: skip


def changed(before: Schedule, after: Schedule) -> Schedule:
    """A schedule in place of another; a fire that has come but was not seen yet is not lost by it."""
    same = (before.cron, before.timezone, before.enabled) == (after.cron, after.timezone, after.enabled)
    return replace(
        after, id=before.id, created_at=before.created_at,
        next_fire_at=before.next_fire_at if same else after.next_fire_at,
    )  # fmt: skip


def next_fires(cron: str, zone: str, now: datetime, count: int = MOST_FIRES) -> list[dict[str, Any]]:
    """The next fires with the local time, and what is done to the clocks on their day."""
    timetable = Timetable.read(cron, zone)
    found = []
    moment = now
    for _ in range(count):
        fire = timetable.after(moment)
        if fire is None:
            break
        moment = fire
        local = fire.astimezone(timetable.zone)
        shift = int(timetable.shift(fire).total_seconds())
        found.append(
            {
                "at": fire.astimezone(UTC), "local": local.isoformat(), "utc_offset": local.strftime("%z"),
                "clock_change_seconds": shift,
            }
        )  # fmt: skip
    return found
