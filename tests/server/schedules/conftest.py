"""A scheduler over a private database, a clock that the test turns, and jobs that the test ends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from db import Database, Job, Schedule, ScheduledRun
from server.compute import Compute
from server.events import EventLog
from server.events.local import LocalBus
from server.jobs.request import JobRequest, Stored
from server.jobs.submit import check
from server.schedules.request import ScheduleIn, make
from server.schedules.scheduler import Scheduler

NOWHERE = cast(Compute, None)  # nothing is uploaded here, so nothing is computed


def checked(request: JobRequest) -> Stored:
    """A request with full names."""
    return check(request, NOWHERE)


@dataclass
class Night:
    """A database and its clock."""

    path: str | Path
    now: datetime
    database: Database = field(init=False)

    def __post_init__(self) -> None:
        self.database = Database.open(self.path, now=lambda: self.now)

    def at(self, text: str) -> None:
        """Turn the clock to a time in UTC."""
        self.now = datetime.fromisoformat(text).replace(tzinfo=UTC)

    def later(self, **parts: float) -> None:
        self.now += timedelta(**parts)

    def scheduler(self, **options: Any) -> Scheduler:
        """Another server's scheduler on the same database."""
        events = EventLog(self.database, LocalBus())
        return Scheduler(self.database, events, now=lambda: self.now, **options)

    def plan(self, **values: Any) -> Schedule:
        """Enter a schedule; by default every night at 22:00 in Berlin, one baseline."""
        job = {"kind": "baseline", "model": "llama-3.1-8b", "device": "h100-sxm", "count": 8}
        content = {"name": "nightly", "cron": "0 22 * * *", "timezone": "Europe/Berlin", "job": job}
        made = make(ScheduleIn.model_validate(content | values), self.now, checked)
        self.database.create_schedule(made)
        return made

    def runs(self) -> list[ScheduledRun]:
        """Every run, by its fire."""
        return sorted(self.database.list_runs(), key=lambda r: r.fire_at)

    def states(self) -> list[str]:
        return [r.state for r in self.runs()]

    def jobs(self, run: ScheduledRun | None = None) -> list[Job]:
        """Jobs in the order of their submission."""
        return [self.database.get_job(name) for r in self.runs() if run in (None, r) for name in r.jobs]

    def work(self) -> None:
        """Claim every queued job, and do to the running ones what is wanted of them."""
        while self.database.claim_job("worker"):
            pass
        for job in self.database.renew_jobs("worker"):
            if job.wanted:
                state = "cancelled" if job.wanted == "cancel" else "paused"
                self.database.settle_job(job.id, "worker", state, spent_seconds=60.0)  # type: ignore[arg-type]

    def end(self, **result: Any) -> None:
        """End every running job well."""
        self.work()
        for job in self.database.renew_jobs("worker"):
            self.database.settle_job(job.id, "worker", "done", spent_seconds=90.0, result=result)


@pytest.fixture
def night(tmp_path: Path) -> Iterator[Night]:
    made = Night(tmp_path / "seis.db", datetime(2026, 5, 4, 12, tzinfo=UTC))
    yield made
    made.database.close()
