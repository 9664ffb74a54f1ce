"""Events: what happened, in order, kept so that a reader who was away can catch up."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

from sqlalchemy import delete, func, insert, select
from sqlalchemy.orm import Session

from db.records import Event, JsonObject
from db.repositories.store import Store, rows, to_record
from db.schema import EventRow


class Events(Store):
    """Events by number."""

    def record_event(self, kind: str, subject: str = "", data: JsonObject | None = None) -> Event:
        """Append an event."""
        now = self._now()
        values = {"kind": kind, "subject": subject, "data": dict(data or {}), "created_at": now}
        with self._writing() as session:
            number = session.execute(insert(EventRow).returning(EventRow.number), values).scalar_one()
        return Event(number=number, kind=kind, subject=subject, data=dict(data or {}), created_at=now)

    def list_events(
        self,
        *,
        after: int = 0,
        subject: str | None = None,
        kinds: Collection[str] = (),
        limit: int | None = None,
    ) -> tuple[Event, ...]:
        """Events with a number above `after`, in order."""
        statement = select(EventRow).where(EventRow.number > after).order_by(EventRow.number).limit(limit)
        if subject is not None:
            statement = statement.where(EventRow.subject == subject)
        if kinds:
            statement = statement.where(EventRow.kind.in_(list(kinds)))
        with self._reading() as session:
            return tuple(to_record(Event, row) for row in rows(session, statement))

    def last_event(self) -> int:
        """The number of the newest event; 0 if there is none."""
        with self._reading() as session:
            return self._newest(session)

    def forget_events(self, older_than_seconds: float) -> int:
        """Remove old events but the newest one; returns how many."""
        limit = self._now() - timedelta(seconds=older_than_seconds)
        with self._writing() as session:
            gone = session.execute(
                delete(EventRow)
                .where(EventRow.created_at < limit, EventRow.number < self._newest(session))
                .returning(EventRow.number)
            )
            return len(gone.all())

    @staticmethod
    def _newest(session: Session) -> int:
        return session.scalar(select(func.max(EventRow.number))) or 0
