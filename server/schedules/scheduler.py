"""The leader's loop: fires what is due, moves runs along, reports those that are over.

Every server has one; a lease decides whose acts. Should two act for a moment, because one was held up for
longer than its lease, each change still happens once: it is conditional on what the database holds.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import datetime
from itertools import groupby
from uuid import uuid4

import structlog

from agent.owner import owner_name
from db import Database, DatabaseError, Schedule, ScheduledRun, utc_now
from server.events import EventLog
from server.schedules.lifecycle import Lifecycle
from server.schedules.policy import due
from server.schedules.timetable import Timetable
from server.schedules.webhook import Webhook

log = structlog.get_logger(__name__)

LEASE = "schedules"
LEASE_SECONDS = 15.0
TICK_SECONDS = 1.0


class Scheduler:
    """A thread; `start` and `stop` it. `now` is the clock that decides what is due."""

    def __init__(
        self,
        database: Database,
        events: EventLog,
        *,
        webhook: Webhook | None = None,
        notify: Callable[[], None] = lambda: None,
        tidy: Callable[[], None] = lambda: None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self.owner = owner_name()
        self.leads = False
        self.trouble = ""
        """Why the database could not be written at the last look; empty if it could."""
        self._database = database
        self._events = events
        self._webhook = webhook
        self._tidy = tidy
        self._now = now
        self._lifecycle = Lifecycle(database, events, notify, webhook is not None, now)
        self._faulty: set[str] = set()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="seis-schedules", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """End, and let another server lead at once."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        if self.leads:
            self.leads = False
            try:
                self._database.drop_lease(LEASE, self.owner)
            except DatabaseError as error:
                log.warning("lease_not_dropped", detail=str(error))

    @property
    def alive(self) -> bool:
        """Whether its thread runs."""
        return self._thread.is_alive()

    def _loop(self) -> None:
        while not self._stopping.is_set():
            began = time.monotonic()
            try:
                self.tick()
                self.trouble = ""
            except DatabaseError as error:
                self.trouble = str(error)
                log.warning("schedules_wait", detail=str(error))
            except Exception:
                log.exception("schedules_fault")
            self._stopping.wait(max(0.05, TICK_SECONDS - (time.monotonic() - began)))

    def tick(self) -> None:
        """One look at everything, if this server leads."""
        led, self.leads = self.leads, self._database.take_lease(LEASE, self.owner, LEASE_SECONDS)
        if not self.leads:
            return
        if not led:
            log.info("schedules_led", owner=self.owner)
        now = self._now()
        for schedule in self._database.due_schedules(now):
            self._alone(schedule.id, self._fire, schedule, now)
        active = sorted(self._database.active_runs(), key=lambda r: r.schedule_id)
        for schedule_id, runs in groupby(active, key=lambda r: r.schedule_id):
            self._alone(
                schedule_id, self._advance, schedule_id, sorted(runs, key=lambda r: (r.fire_at, r.id))
            )
        if self._webhook is not None:
            self._webhook.deliver(self._database, now)
        self._tidy()

    def _alone(self, schedule_id: str, step: Callable[..., None], *arguments: object) -> None:
        """A step of one schedule; a fault of one keeps no other from its turn."""
        try:
            step(*arguments)
        except DatabaseError:
            raise
        except Exception:
            if schedule_id not in self._faulty:
                self._faulty.add(schedule_id)
                log.exception("schedule_fault", schedule=schedule_id)

    def _fire(self, schedule: Schedule, now: datetime) -> None:
        """Enter a row for every fire that has come, and when the next one comes, or nothing."""
        first = schedule.next_fire_at
        if first is None:
            return
        timetable = Timetable.read(schedule.cron, schedule.timezone)
        found = due(timetable, first, now, schedule.grace_seconds, schedule.catch_up)
        made = []
        with self._database.transaction() as tx:
            if not tx.advance_schedule(schedule.id, first, found.next):
                return
            taken = any(r.schedule_id == schedule.id for r in tx.active_runs())
            for fire in found.missed:
                late = f"the fire of {fire:%Y-%m-%d %H:%M} UTC was more than {schedule.grace_seconds} s late"
                made.append(new_run(schedule.id, fire, now, "missed", late))
            for fire in found.run:
                if taken and schedule.overlap == "skip":
                    why = "the run before was still under way"
                    made.append(new_run(schedule.id, fire, now, "skipped", why))
                else:
                    made.append(new_run(schedule.id, fire, now, "waiting", ""))
            made = [run for run in made if tx.create_run(run)]
        for run in made:
            log.info("schedule_fired", schedule=schedule.id, run=run.id, state=run.state)
            self._events.record(
                f"run.{run.state}", run.id, schedule=schedule.name, fire_at=run.fire_at.isoformat()
            )

    def _advance(self, schedule_id: str, runs: list[ScheduledRun]) -> None:
        schedule = self._database.get_schedule(schedule_id)
        if schedule.overlap == "cancel":
            for run in runs[:-1]:
                self._lifecycle.cancel(run, "a later run took its place")
            runs = [self._database.get_run(r.id) for r in runs]
            runs = [r for r in runs if r.state in ("waiting", "running", "paused")]
        if runs:
            self._lifecycle.advance(schedule, runs[0])


def new_run(schedule_id: str, fire_at: datetime, now: datetime, state: str, reason: str) -> ScheduledRun:
    """A run that has just fired."""
    over = state in ("missed", "skipped")
    return ScheduledRun(
        id=uuid4().hex, schedule_id=schedule_id, fire_at=fire_at, state=state, reason=reason,  # type: ignore[arg-type]
        jobs=[], held=[], report=None, delivery="none", deliveries=0, created_at=now, started_at=None,
        finished_at=now if over else None,
    )  # fmt: skip
