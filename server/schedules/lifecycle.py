"""One run from its fire to its report: begun in the window, paused outside of it, over with its last job."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import structlog

from db import ConflictError, Database, Job, NotFoundError, Schedule, ScheduledRun
from server.events import EventLog
from server.jobs.request import Stored
from server.problems import refusal_of
from server.schedules.report import make_report
from server.schedules.timetable import read_zone
from server.schedules.window import Window

log = structlog.get_logger(__name__)

OVER = ("done", "failed", "cancelled")


class Lifecycle:
    """Moves runs along; each change is conditional on the state that was seen."""

    def __init__(
        self,
        database: Database,
        events: EventLog,
        notify: Callable[[], None],
        delivers: bool,
        now: Callable[[], datetime],
    ) -> None:
        self._database = database
        self._events = events
        self._notify = notify
        self._delivers = delivers
        self._now = now

    def advance(self, schedule: Schedule, run: ScheduledRun) -> None:
        """Take the next step of the oldest run of a schedule, if there is one to take."""
        zone = read_zone(schedule.timezone)
        window = Window.read(schedule.window_start, schedule.window_end, zone)
        is_open = window is None or window.is_open(self._now())
        if run.state == "waiting":
            if is_open:
                self._begin(schedule, run)
            return
        jobs = self._jobs(run)
        if all(job.state in OVER for job in jobs):
            self._finish(schedule, run, jobs)
        elif is_open and run.state == "paused":
            self._ask(run, [j for j in jobs if j.id in run.held], "resume")
            self._turn(run, "running", held=[])
        elif not is_open:
            self._hold(run, jobs)

    def cancel(self, run: ScheduledRun, reason: str) -> None:
        """End a run: at once if it has not begun, else when its jobs have ended."""
        if run.state == "waiting":
            values = {"reason": reason, "finished_at": self._now()}
            if self._turn(run, "cancelled", **values):
                return
            run = self._database.get_run(run.id)
        if run.state not in ("running", "paused"):
            return
        jobs = [j for j in self._jobs(run) if j.state not in OVER]
        self._ask(run, [j for j in jobs if j.wanted != "cancel"], "cancel")
        if run.reason != reason:
            self._database.update_run(run.id, run.state, reason=reason)
        if not jobs:
            self._finish(self._database.get_schedule(run.schedule_id), run, self._jobs(run))

    def _begin(self, schedule: Schedule, run: ScheduledRun) -> None:
        try:
            orders = [_order(s) for s in self._chosen(schedule)]
        except Exception as error:
            known = refusal_of(error)
            if known is None:
                log.exception("run_fault", run=run.id)
            why = known.detail if known else f"a fault of SEIS ({type(error).__name__}); look into the log"
            self._turn(run, "failed", reason=why, finished_at=self._now())
            return
        with self._database.transaction() as tx:
            if not tx.update_run(run.id, "waiting", state="running", started_at=self._now()):
                return  # another server began it
            made = [tx.create_job(**order) for order in orders]
            names = [job.id for job in made]
            tx.update_run(run.id, "running", jobs=names)
        for job in made:
            self._events.record("job.queued", job.id, state=job.state, model=job.request["model"])
        self._events.record("run.running", run.id, schedule=schedule.name, jobs=names)
        self._notify()

    def _chosen(self, schedule: Schedule) -> list[Stored]:
        """The requests of a run, each with its part of the run's budget."""
        stored = [Stored.model_validate(j) for j in schedule.jobs]
        if schedule.turn == "one":
            stored = [stored[self._database.count_begun(schedule.id) % len(stored)]]
        return [_limited(s, schedule.budget, len(stored)) for s in stored]

    def _hold(self, run: ScheduledRun, jobs: list[Job]) -> None:
        """The window is closed: pause what goes on, also what somebody resumed meanwhile."""
        going = [j for j in jobs if j.state in ("queued", "running") and j.wanted == ""]
        self._ask(run, going, "pause")
        held = sorted({*run.held, *(j.id for j in going)})
        if run.state != "paused" or held != list(run.held):
            self._turn(run, "paused", held=held)

    def _finish(self, schedule: Schedule, run: ScheduledRun, jobs: list[Job]) -> None:
        state = "done" if any(j.state == "done" for j in jobs) else "failed"
        if (jobs and all(j.state == "cancelled" for j in jobs)) or not jobs:
            state = "cancelled"
        finished = self._now()
        report = make_report(self._database, schedule, run, jobs, state, finished)
        delivery = "due" if schedule.notify and self._delivers else "none"
        self._turn(run, state, report=report, finished_at=finished, delivery=delivery, held=[])

    def _turn(self, run: ScheduledRun, state: str, **values: Any) -> bool:
        changed = self._database.update_run(run.id, run.state, state=state, **values)
        if changed:
            log.info("run", run=run.id, state=state)
            self._events.record(f"run.{state}", run.id, state=state, reason=values.get("reason", ""))
        return changed

    def _ask(self, run: ScheduledRun, jobs: list[Job], wish: str) -> None:
        for job in jobs:
            try:
                after = self._database.ask_job(job.id, wish)
            except (ConflictError, NotFoundError):  # it ended meanwhile, or somebody cancels it
                continue
            if after.state != job.state:
                self._events.record(f"job.{after.state}", job.id, state=after.state)
        if jobs:
            self._notify()

    def _jobs(self, run: ScheduledRun) -> list[Job]:
        found = []
        for name in run.jobs:
            try:
                found.append(self._database.get_job(name))
            except NotFoundError:  # removed by retention
                continue
        return found


def _order(stored: Stored) -> dict[str, Any]:
    """What a job is created from."""
    return {
        "kind": stored.request.kind, "subject": stored.problem().hash,
        "request": stored.model_dump(mode="json"), "priority": stored.request.priority,
    }  # fmt: skip


def _limited(stored: Stored, budget: Any, parts: int) -> Stored:
    """A request that uses at most its equal part of a run's budget."""
    own = stored.request.budget
    limits: dict[str, Any] = {}
    for name, value in budget.items():
        whole = isinstance(value, int) and name != "seconds"
        part = max(int(name == "structures"), value // parts) if whole else float(value) / parts
        mine = getattr(own, name)
        limits[name] = part if mine is None else min(mine, part)
    limited = own.model_copy(update=limits)
    return stored.model_copy(update={"request": stored.request.model_copy(update={"budget": limited})})
