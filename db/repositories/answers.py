"""Answers to requests with a key, so that the same request sent twice is done once."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import delete, select, update

from db.records import Answer, JsonObject
from db.repositories.store import Store, from_record, insert_once, rows, to_record
from db.schema import AnswerRow


class Answers(Store):
    """Answers by key; the first one stays."""

    def save_answer(self, answer: Answer) -> bool:
        """Keep an answer; True if it was new."""
        with self._writing() as session:
            return insert_once(session, AnswerRow, from_record(answer))

    def complete_answer(self, key: str, status: int, headers: JsonObject, body: str) -> None:
        """Fill in an answer that was reserved with the status 0."""
        statement = update(AnswerRow).where(AnswerRow.key == key, AnswerRow.status == 0)
        with self._writing() as session:
            session.execute(statement.values(status=status, headers=dict(headers), body=body))

    def remove_answer(self, key: str) -> None:
        """Forget a reserved answer, so that the request can be done again."""
        with self._writing() as session:
            session.execute(delete(AnswerRow).where(AnswerRow.key == key, AnswerRow.status == 0))

    def find_answer(self, key: str) -> Answer | None:
        """The answer under a key, or None."""
        with self._reading() as session:
            found = rows(session, select(AnswerRow).where(AnswerRow.key == key))
            return to_record(Answer, found[0]) if found else None

    def forget_answers(self, older_than_seconds: float) -> int:
        """Remove old answers; returns how many."""
        limit = self._now() - timedelta(seconds=older_than_seconds)
        with self._writing() as session:
            gone = session.execute(
                delete(AnswerRow).where(AnswerRow.created_at < limit).returning(AnswerRow.key)
            )
            return len(gone.all())
