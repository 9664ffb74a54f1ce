"""Jobs: a queue with leases, so that work survives the death of whoever does it.

Claiming and sweeping are separate statements over partial indexes: one statement for both would scan.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from sqlalchemy import ColumnElement, and_, delete, exists, func, or_, select, update
from sqlalchemy.orm import Session, aliased

from db.errors import ConflictError, NotFoundError
from db.records import Job, JobState, JsonObject
from db.repositories.store import Store, from_record, insert_once, rows, to_record
from db.schema import JobRow

LEASE_SECONDS = 10.0
"""A running job whose lease was not renewed for so long is free for another owner."""

MOST_ATTEMPTS = 5
"""Runs of a job that end with the death of its owner, after which it has failed."""

FINAL: tuple[JobState, ...] = ("done", "failed", "cancelled")

_WISHES: dict[tuple[str, JobState], dict[str, Any]] = {
    ("pause", "queued"): {"state": "paused"},
    ("pause", "running"): {"wanted": "pause"},
    ("pause", "paused"): {},
    ("resume", "paused"): {"state": "queued", "wanted": ""},
    ("resume", "queued"): {},
    ("resume", "running"): {"wanted": ""},
    ("cancel", "queued"): {"state": "cancelled"},
    ("cancel", "paused"): {"state": "cancelled"},
    ("cancel", "running"): {"wanted": "cancel"},
    ("cancel", "cancelled"): {},
}


class Jobs(Store):
    """Jobs by identifier. Writes of an owner that lost its lease change nothing and return None."""

    def create_job(self, *, kind: str, subject: str, request: JsonObject, priority: int = 0) -> Job:
        """Queue a job."""
        now = self._now()
        job = Job(
            id=uuid4().hex, kind=kind, state="queued", wanted="", priority=priority, subject=subject,
            request=dict(request), search_id=None, owner="", attempts=0, spent_seconds=0.0, progress={},
            result=None, problem=None, created_at=now, updated_at=now, heartbeat_at=now, started_at=None,
            finished_at=None,
        )  # fmt: skip
        with self._writing() as session:
            insert_once(session, JobRow, from_record(job))
        return job

    def get_job(self, job_id: str) -> Job:
        """The job of exactly this identifier. Raises NotFoundError."""
        with self._reading() as session:
            return to_record(Job, _row(session, job_id))

    def list_jobs(
        self,
        *,
        state: JobState | None = None,
        kind: str | None = None,
        before: tuple[datetime, str] | None = None,
        limit: int | None = None,
    ) -> tuple[Job, ...]:
        """Jobs, newest first; a page continues `before` the last one's time and identifier."""
        statement = select(JobRow).order_by(JobRow.created_at.desc(), JobRow.id.desc()).limit(limit)
        if state is not None:
            statement = statement.where(JobRow.state == state)
        if kind is not None:
            statement = statement.where(JobRow.kind == kind)
        if before is not None:
            when, name = before
            older = or_(JobRow.created_at < when, and_(JobRow.created_at == when, JobRow.id < name))
            statement = statement.where(older)
        with self._reading() as session:
            return tuple(to_record(Job, row) for row in rows(session, statement))

    def count_jobs(self) -> dict[JobState, int]:
        """How many jobs are in each state; states without any are 0."""
        counts: dict[JobState, int] = dict.fromkeys(
            ("queued", "running", "paused", "done", "failed", "cancelled"), 0
        )
        with self._reading() as session:
            for state, number in session.execute(select(JobRow.state, func.count()).group_by(JobRow.state)):
                counts[state] = number
        return counts

    def claim_job(self, owner: str) -> Job | None:
        """Take the queued job of the highest priority, the oldest first, whose subject nobody works on."""
        other = aliased(JobRow)
        taken = exists().where(other.state == "running", other.subject == JobRow.subject)
        statement = (
            select(JobRow)
            .where(JobRow.state == "queued", ~taken)
            .order_by(JobRow.priority.desc(), JobRow.created_at, JobRow.id)
            .limit(1)
        )
        with self._reading() as session:  # so that an idle coordinator takes no lock
            if not rows(session, statement):
                return None
        now = self._now()
        with self._writing() as session:
            found = rows(session, statement)
            if not found:
                return None
            row = found[0]
            values: dict[str, Any] = {
                "state": "running", "owner": owner, "wanted": "", "attempts": row.attempts + 1,
                "heartbeat_at": now, "updated_at": now, "started_at": row.started_at or now,
            }  # fmt: skip
            return replace(to_record(Job, row), **values) if _set(session, row.id, values) else None

    def renew_jobs(self, owner: str) -> tuple[Job, ...]:
        """Renew the leases of an owner; the jobs that are still its own, with what is wanted of each."""
        now = self._now()
        mine = and_(JobRow.state == "running", JobRow.owner == owner)
        with self._writing() as session:
            session.execute(
                update(JobRow).where(mine).values(heartbeat_at=now).execution_options(
                    synchronize_session=False
                )
            )  # fmt: skip
            return tuple(to_record(Job, row) for row in rows(session, select(JobRow).where(mine)))

    def advance_job(
        self,
        job_id: str,
        owner: str,
        *,
        progress: JsonObject,
        search_id: str | None,
        spent_seconds: float,
        attempts: int | None = None,
    ) -> Job | None:
        """Say how far a running job is, and how many attempts it counts now."""
        values: dict[str, Any] = {"progress": dict(progress), "spent_seconds": spent_seconds}
        if attempts is not None:
            values["attempts"] = attempts
        if search_id is not None:
            values["search_id"] = search_id
        return self._own(job_id, owner, values)

    def settle_job(
        self,
        job_id: str,
        owner: str,
        state: JobState,
        *,
        spent_seconds: float,
        search_id: str | None = None,
        result: JsonObject | None = None,
        problem: JsonObject | None = None,
        died: bool = False,
    ) -> Job | None:
        """End a run: for good, or until the job is resumed.

        A run that was let go of in order is no failed attempt; one whose process `died` stays one.
        """
        values: dict[str, Any] = {"state": state, "owner": "", "wanted": "", "spent_seconds": spent_seconds}
        if state not in FINAL and not died:
            values["attempts"] = 0
        if search_id is not None:
            values["search_id"] = search_id
        if state in FINAL:
            values |= {"result": result, "problem": problem, "finished_at": self._now()}
        return self._own(job_id, owner, values)

    def ask_job(self, job_id: str, wish: str) -> Job:
        """`pause`, `resume` or `cancel` a job. Raises NotFoundError, and ConflictError where it is over."""
        now = self._now()
        with self._writing() as session:
            row = _row(session, job_id)
            values = _WISHES.get((wish, row.state))
            if values is None:
                raise ConflictError(
                    f"a job must not be over to be asked to {wish}, but {job_id} is {row.state}; "
                    "submit it again"
                )
            if wish == "resume" and row.wanted == "cancel":
                raise ConflictError(
                    f"a job must not be ending to be resumed, but {job_id} is being cancelled; "
                    "submit it again"
                )
            if wish == "pause" and row.wanted == "cancel":
                return to_record(Job, row)
            values = dict(values)
            if values.get("state") == "cancelled":
                values["finished_at"] = now
            _set(session, job_id, values | {"updated_at": now})
            return to_record(Job, _row(session, job_id))

    def prioritise_job(self, job_id: str, priority: int) -> Job:
        """Change the place of a job in the queue. Raises NotFoundError."""
        with self._writing() as session:
            _row(session, job_id)
            _set(session, job_id, {"priority": priority, "updated_at": self._now()})
            return to_record(Job, _row(session, job_id))

    def free_jobs(
        self, *, dead: Collection[str] = (), lease_seconds: float = LEASE_SECONDS
    ) -> tuple[Job, ...]:
        """Take running jobs from owners that are dead or whose lease has run out; the jobs as they are now.

        Each is queued again, or ends as it was wanted to, or has failed after too many attempts.
        """
        now = self._now()
        late: ColumnElement[bool] = JobRow.heartbeat_at <= now - timedelta(seconds=lease_seconds)
        if dead:
            late = or_(late, JobRow.owner.in_(list(dead)))
        statement = select(JobRow).where(JobRow.state == "running", late)
        with self._reading() as session:
            if not rows(session, statement):
                return ()
        freed = []
        with self._writing() as session:
            for row in list(rows(session, statement)):
                _set(session, row.id, _freed(row) | {"owner": "", "wanted": "", "updated_at": now})
                freed.append(row.id)
            return tuple(to_record(Job, _row(session, name)) for name in freed)

    def forget_jobs(self, older_than_seconds: float) -> int:
        """Remove jobs that ended so long ago; returns how many. What their searches found stays."""
        limit = self._now() - timedelta(seconds=older_than_seconds)
        old = and_(JobRow.state.in_(FINAL), JobRow.finished_at < limit)
        with self._writing() as session:
            return len(session.execute(delete(JobRow).where(old).returning(JobRow.id)).all())

    def owners_of_jobs(self) -> tuple[str, ...]:
        """Whoever has a running job."""
        with self._reading() as session:
            found: Sequence[str] = session.scalars(
                select(JobRow.owner).where(JobRow.state == "running").distinct()
            ).all()
        return tuple(sorted(found))

    def _own(self, job_id: str, owner: str, values: dict[str, Any]) -> Job | None:
        now = self._now()
        mine = and_(JobRow.state == "running", JobRow.owner == owner)
        with self._writing() as session:
            if not _set(session, job_id, values | {"updated_at": now, "heartbeat_at": now}, mine):
                return None
            return to_record(Job, _row(session, job_id))


def _freed(row: JobRow) -> dict[str, Any]:
    now = row.heartbeat_at
    if row.wanted == "cancel":
        return {"state": "cancelled", "finished_at": now}
    if row.wanted == "pause":
        return {"state": "paused"}
    if row.attempts >= MOST_ATTEMPTS:
        detail = (
            f"a job must not outlive {MOST_ATTEMPTS} owners, but each one that ran this died; "
            "look into the log for why, then submit it again"
        )
        return {"state": "failed", "finished_at": now, "problem": {"code": "owner_died", "detail": detail}}
    return {"state": "queued"}


def _row(session: Session, job_id: str) -> JobRow:
    found = rows(session, select(JobRow).where(JobRow.id == job_id))
    if not found:
        raise NotFoundError(f"a job must exist to be read, but there is none {job_id[:80]!r}; list the jobs")
    return found[0]


def _set(
    session: Session, job_id: str, values: dict[str, Any], allowed: ColumnElement[bool] | None = None
) -> bool:
    statement = update(JobRow).where(JobRow.id == job_id)
    if allowed is not None:
        statement = statement.where(allowed)
    done = statement.values(**values).execution_options(synchronize_session=False)
    return bool(session.execute(done.returning(JobRow.id)).all())
