"""Schedules and their runs, and the lease of whoever fires them."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import and_, delete, func, or_, select, update

from db.errors import ConflictError, NotFoundError
from db.repositories.store import Older, Store, from_record, insert_once, rows, to_record
from db.schema import Base
from db.service_records import RunState, Schedule, ScheduledRun
from db.service_schema import LeaseRow, RunRow, ScheduleRow

ACTIVE: tuple[RunState, ...] = ("waiting", "running", "paused")
"""States of a run that is not over."""


class Schedules(Store):
    """Schedules and runs by identifier."""

    def create_schedule(self, schedule: Schedule) -> None:
        """Store a new schedule. Raises ConflictError for a name that another one has."""
        with self._writing() as session:
            if not insert_once(session, ScheduleRow, from_record(schedule)):
                raise _name_taken(schedule.name)

    def update_schedule(self, schedule: Schedule) -> None:
        """Replace a schedule. Raises NotFoundError, and ConflictError for a name that another one has."""
        with self._writing() as session:
            other = select(ScheduleRow).where(
                ScheduleRow.name == schedule.name, ScheduleRow.id != schedule.id
            )
            if rows(session, other):
                raise _name_taken(schedule.name)
            values = from_record(schedule)
            if not _set(session, ScheduleRow, schedule.id, values):
                raise _missing("schedule", schedule.id)

    def remove_schedule(self, schedule_id: str) -> None:
        """Forget a schedule and its runs; its jobs stay. Raises NotFoundError."""
        with self._writing() as session:
            session.execute(delete(RunRow).where(RunRow.schedule_id == schedule_id))
            gone = delete(ScheduleRow).where(ScheduleRow.id == schedule_id).returning(ScheduleRow.id)
            if not session.execute(gone).all():
                raise _missing("schedule", schedule_id)

    def get_schedule(self, schedule_id: str) -> Schedule:
        """Raises NotFoundError."""
        with self._reading() as session:
            found = rows(session, select(ScheduleRow).where(ScheduleRow.id == schedule_id))
            if not found:
                raise _missing("schedule", schedule_id)
            return to_record(Schedule, found[0])

    def list_schedules(self, *, after: str = "", limit: int | None = None) -> tuple[Schedule, ...]:
        """Schedules by name; a page continues `after` the last one's name."""
        statement = select(ScheduleRow).order_by(ScheduleRow.name).limit(limit)
        if after:
            statement = statement.where(ScheduleRow.name > after)
        with self._reading() as session:
            return tuple(to_record(Schedule, row) for row in rows(session, statement))

    def due_schedules(self, now: datetime) -> tuple[Schedule, ...]:
        """Enabled schedules whose next fire has come."""
        statement = select(ScheduleRow).where(ScheduleRow.enabled, ScheduleRow.next_fire_at <= now)
        with self._reading() as session:
            return tuple(to_record(Schedule, row) for row in rows(session, statement))

    def advance_schedule(self, schedule_id: str, seen: datetime, next_fire_at: datetime | None) -> bool:
        """Set the next fire, unless another server did so since it was `seen`; True if it was set."""
        statement = (
            update(ScheduleRow)
            .where(ScheduleRow.id == schedule_id, ScheduleRow.next_fire_at == seen, ScheduleRow.enabled)
            .values(next_fire_at=next_fire_at)
            .execution_options(synchronize_session=False)
        )
        with self._writing() as session:
            return bool(session.execute(statement.returning(ScheduleRow.id)).all())

    def create_run(self, run: ScheduledRun) -> bool:
        """Store a run; False if that fire of its schedule has one already."""
        with self._writing() as session:
            return insert_once(session, RunRow, from_record(run))

    def update_run(self, run_id: str, expected: RunState, **values: Any) -> bool:
        """Change a run that is still in the expected state; True if it was."""
        with self._writing() as session:
            return _set(session, RunRow, run_id, values, RunRow.state == expected)

    def get_run(self, run_id: str) -> ScheduledRun:
        """Raises NotFoundError."""
        with self._reading() as session:
            found = rows(session, select(RunRow).where(RunRow.id == run_id))
            if not found:
                raise _missing("run", run_id)
            return to_record(ScheduledRun, found[0])

    def list_runs(
        self,
        *,
        schedule_id: str | None = None,
        states: Collection[RunState] = (),
        reported: bool | None = None,
        before: Older | None = None,
        limit: int | None = None,
    ) -> tuple[ScheduledRun, ...]:
        """Runs, newest first; a page continues `before` the last one's time of creation and identifier."""
        statement = select(RunRow).order_by(RunRow.created_at.desc(), RunRow.id.desc()).limit(limit)
        if schedule_id is not None:
            statement = statement.where(RunRow.schedule_id == schedule_id)
        if states:
            statement = statement.where(RunRow.state.in_(list(states)))
        if reported is not None:
            statement = statement.where(RunRow.report.is_not(None) if reported else RunRow.report.is_(None))
        if before is not None:
            when, name = before
            older = or_(RunRow.created_at < when, and_(RunRow.created_at == when, RunRow.id < name))
            statement = statement.where(older)
        with self._reading() as session:
            return tuple(to_record(ScheduledRun, row) for row in rows(session, statement))

    def active_runs(self) -> tuple[ScheduledRun, ...]:
        """Runs that are not over, in the order of their fires."""
        statement = select(RunRow).where(RunRow.state.in_(ACTIVE)).order_by(RunRow.fire_at, RunRow.id)
        with self._reading() as session:
            return tuple(to_record(ScheduledRun, row) for row in rows(session, statement))

    def undelivered_runs(self) -> tuple[ScheduledRun, ...]:
        """Runs whose report is still to be sent, the oldest first."""
        statement = select(RunRow).where(RunRow.delivery == "due").order_by(RunRow.finished_at, RunRow.id)
        with self._reading() as session:
            return tuple(to_record(ScheduledRun, row) for row in rows(session, statement))

    def deliver_run(self, run_id: str, delivery: str, deliveries: int) -> None:
        """Note that sending a report was tried."""
        with self._writing() as session:
            _set(session, RunRow, run_id, {"delivery": delivery, "deliveries": deliveries})

    def count_runs(self, schedule_id: str | None = None) -> dict[str, int]:
        """How many runs are in each state that has any."""
        statement = select(RunRow.state, func.count()).group_by(RunRow.state)
        if schedule_id is not None:
            statement = statement.where(RunRow.schedule_id == schedule_id)
        with self._reading() as session:
            return dict(session.execute(statement).all())

    def count_begun(self, schedule_id: str) -> int:
        """How many runs of a schedule have begun."""
        statement = select(func.count()).where(
            RunRow.schedule_id == schedule_id, RunRow.started_at.is_not(None)
        )
        with self._reading() as session:
            return session.scalar(statement) or 0

    def forget_runs(self, older_than_seconds: float) -> int:
        """Remove runs that were over so long ago, with their reports; returns how many."""
        limit = self._now() - timedelta(seconds=older_than_seconds)
        old = and_(RunRow.state.not_in(ACTIVE), RunRow.created_at < limit, RunRow.delivery != "due")
        with self._writing() as session:
            return len(session.execute(delete(RunRow).where(old).returning(RunRow.id)).all())

    def take_lease(self, name: str, owner: str, seconds: float) -> bool:
        """Take or renew a lease; False while another owner has it. Nothing is written while it is fresh."""
        now = self._now()
        with self._reading() as session:
            known = rows(session, select(LeaseRow).where(LeaseRow.name == name))
            if known and known[0].owner != owner and known[0].expires_at > now:
                return False
            if (
                known
                and known[0].owner == owner
                and known[0].expires_at > now + timedelta(seconds=seconds * 2 / 3)
            ):
                return True
        until = now + timedelta(seconds=seconds)
        free = or_(LeaseRow.owner == owner, LeaseRow.expires_at <= now)
        statement = (
            update(LeaseRow)
            .where(LeaseRow.name == name, free)
            .values(owner=owner, expires_at=until)
            .execution_options(synchronize_session=False)
            .returning(LeaseRow.name)
        )
        with self._writing() as session:
            if session.execute(statement).all():
                return True
            return insert_once(session, LeaseRow, {"name": name, "owner": owner, "expires_at": until})

    def drop_lease(self, name: str, owner: str) -> None:
        """Give a lease back."""
        with self._writing() as session:
            session.execute(delete(LeaseRow).where(LeaseRow.name == name, LeaseRow.owner == owner))

    def find_lease(self, name: str) -> tuple[str, datetime] | None:
        """Owner and end of a lease, or None if nobody has it."""
        statement = select(LeaseRow).where(LeaseRow.name == name, LeaseRow.expires_at > self._now())
        with self._reading() as session:
            found = rows(session, statement)
            return (found[0].owner, found[0].expires_at) if found else None


def _set(session: Any, kind: type[Base], name: str, values: dict[str, Any], *conditions: Any) -> bool:
    key = kind.id  # type: ignore[attr-defined]
    statement = update(kind).where(key == name, *conditions).values(**values)
    done = statement.execution_options(synchronize_session=False).returning(key)
    return bool(session.execute(done).all())


def _missing(noun: str, name: str) -> NotFoundError:
    return NotFoundError(f"a {noun} must exist to be used, but there is none {name[:80]!r}; list the {noun}s")


def _name_taken(name: str) -> ConflictError:
    return ConflictError(
        f"a schedule's name must be its own, but another one is called {name[:80]!r}; choose another name"
    )
