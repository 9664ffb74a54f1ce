"""The coordinator: claims jobs, runs each in a process, renews their leases, and takes over dead ones' jobs.

Several may share a database; leases keep a job with one of them. It is the only writer of running jobs.
"""

from __future__ import annotations

import threading
import time

import structlog

from agent.owner import is_dead, owner_name
from db import Database, DatabaseError, Job, JobState, SearchTakenError, utc_now
from db.repositories.jobs import MOST_ATTEMPTS
from db.repositories.searches import STALE_AFTER_SECONDS
from server.events import EventLog
from server.jobs.process import Run
from server.problems import document
from server.settings import Settings

log = structlog.get_logger(__name__)

TICK_SECONDS = 0.25
PROGRESS_SECONDS = 0.5
"""Progress is written at most so often per job."""
TIDY_SECONDS = 600.0
ANSWER_SECONDS = 86_400.0
"""Answers to requests with a key are kept for a day."""


class Coordinator:
    """A thread; `start` and `stop` it."""

    def __init__(self, database: Database, events: EventLog, settings: Settings) -> None:
        self.owner = owner_name()
        self._database = database
        self._events = events
        self._settings = settings
        self._runs: dict[str, Run] = {}
        self._written: dict[str, tuple[float, object]] = {}
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._renewed = self._swept = self._tidied = -1e9
        self._thread = threading.Thread(target=self._loop, name="seis-coordinator", daemon=True)

    def start(self) -> None:
        """Sweep up what dead processes left, and begin."""
        self.sweep()
        self._thread.start()

    def notify(self) -> None:
        """There is something to do: do not wait for the next tick."""
        self._renewed = -1e9
        self._wake.set()

    def stop(self) -> None:
        """End every run, and queue its job again for whoever comes next."""
        self._stopping.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()
        for run in list(self._runs.values()):
            run.stop()
            self._settle(run, "done" if run.result is not None else "queued")

    @property
    def alive(self) -> bool:
        """Whether its thread runs."""
        return self._thread.is_alive()

    def _loop(self) -> None:
        while not self._stopping.is_set():
            try:
                self.tick()
            except DatabaseError as error:
                log.warning("coordinator_waits", detail=str(error))
                self._stopping.wait(1.0)
            except Exception:
                log.exception("coordinator_fault")
                self._stopping.wait(1.0)
            self._wake.wait(TICK_SECONDS)
            self._wake.clear()

    def tick(self) -> None:
        """One look at everything."""
        now = time.monotonic()
        self._collect()
        if now - self._renewed > min(1.0, self._settings.lease_seconds / 4):
            self._renewed = now
            self._renew()
        if now - self._swept > min(2.0, self._settings.lease_seconds / 2):
            self._swept = now
            self.sweep()
        if now - self._tidied > TIDY_SECONDS:
            self._tidied = now
            self._database.forget_events(self._settings.event_days * 86_400)
            self._database.forget_answers(ANSWER_SECONDS)
        while len(self._runs) < self._settings.concurrent_jobs and not self._stopping.is_set():
            job = self._database.claim_job(self.owner)
            if job is None:
                break
            self._runs[job.id] = Run(job, self._settings, self._wake.set)
            self._tell("job.started", job)

    def sweep(self) -> None:
        """Free jobs and searches of dead owners."""
        owners = self._database.owners_of_jobs()
        dead = [o for o in owners if o != self.owner and is_dead(o)]
        for job in self._database.free_jobs(dead=dead, lease_seconds=self._settings.lease_seconds):
            self._tell("job.freed", job)
        for search in self._database.list_searches(state="running"):
            gone = is_dead(search.owner)
            if not gone and (utc_now() - search.heartbeat_at).total_seconds() <= STALE_AFTER_SECONDS:
                continue
            stale = {"stale_after_seconds": 0.0} if gone else {}
            try:
                self._database.resume_search(search.id, owner=self.owner, **stale)
                self._database.finish_search(search.id, "interrupted", owner=self.owner)
            except SearchTakenError:
                continue

    def _renew(self) -> None:
        if not self._runs:
            return
        mine = {job.id: job for job in self._database.renew_jobs(self.owner)}
        for run in list(self._runs.values()):
            job = mine.get(run.job_id)
            if job is None:  # another owner has it by now
                run.stop()
                self._forget(run)
            elif job.wanted and run.result is None:
                run.stop()
                self._settle(run, "cancelled" if job.wanted == "cancel" else "paused")

    def _collect(self) -> None:
        now = time.monotonic()
        for run in list(self._runs.values()):
            if run.over:
                run.stop()
                if run.broken and run.attempts < MOST_ATTEMPTS:
                    self._again(run)
                else:
                    self._settle(run, self._end_of(run))
                continue
            last, written = self._written.get(run.job_id, (-1e9, None))
            if run.progress is not None and run.progress is not written and now - last > PROGRESS_SECONDS:
                self._written[run.job_id] = (now, run.progress)
                self._advance(run)

    def _advance(self, run: Run) -> None:
        job = self._database.advance_job(
            run.job_id, self.owner, progress=run.progress or {}, search_id=run.search_id,
            spent_seconds=run.spent_seconds, attempts=run.attempts,
        )  # fmt: skip
        if job is not None:
            self._tell("job.progress", job)

    def _again(self, run: Run) -> None:
        """The process was killed, for want of memory perhaps, or had no database: as wished, or once more."""
        wanted = self._database.get_job(run.job_id).wanted
        wishes: dict[str, JobState] = {"cancel": "cancelled", "pause": "paused"}
        self._settle(run, wishes.get(wanted, "queued"), died=True)

    def _end_of(self, run: Run) -> JobState:
        if run.result is not None:
            return "done"
        if run.problem is None:
            detail = (
                f"the process of a job must end with a result, but it ended with code {run.code}; "
                "look into the log, then submit the job again"
            )
            run.problem = document("fault", detail)
        return "failed"

    def _settle(self, run: Run, state: JobState, died: bool = False) -> None:
        if run.progress is not None:
            self._advance(run)
        job = self._database.settle_job(
            run.job_id, self.owner, state, spent_seconds=run.spent_seconds, search_id=run.search_id,
            result=run.result, problem=run.problem, died=died,
        )  # fmt: skip
        self._forget(run)
        if job is not None:
            self._tell(f"job.{state}", job)

    def _forget(self, run: Run) -> None:
        self._runs.pop(run.job_id, None)
        self._written.pop(run.job_id, None)

    def _tell(self, kind: str, job: Job) -> None:
        log.info(kind, job=job.id, state=job.state)
        self._events.record(
            kind, job.id, state=job.state, progress=dict(job.progress), search=job.search_id,
            problem=None if job.problem is None else dict(job.problem),
        )  # fmt: skip
