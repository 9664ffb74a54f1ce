"""Notes, hypotheses, and the problems of searches that were run elsewhere."""

from __future__ import annotations

from datetime import timedelta
from functools import cache

from sqlalchemy import delete, select

from db.records import Author, Experience, Hypothesis, Note
from db.repositories.store import (
    Insert,
    Store,
    execute,
    find_by_prefix,
    from_record,
    insert,
    insert_once,
    rows,
    to_record,
)
from db.schema import Base, ExperienceRow, HypothesisRow, NoteRow


@cache
def _judge(dialect: str, kind: type[Base]) -> Insert:
    statement = insert(dialect, kind)
    judged = ("verdict", "prediction", "measurement", "trials", "updated_at")
    return statement.on_conflict_do_update(
        index_elements=["hypothesis_id"], set_={name: statement.excluded[name] for name in judged}
    )


class Memories(Store):
    """What is remembered over searches; rule statistics are in a repository of their own."""

    def save_note(self, note: Note) -> str:
        """Save a note unless it is there; returns its identifier."""
        with self._writing() as session:
            insert_once(session, NoteRow, {"note_id": note.note_id, **from_record(note)})
        return note.note_id

    def get_note(self, prefix: str) -> Note:
        """The note whose identifier is, or begins with, `prefix`; NotFoundError, AmbiguousPrefixError."""
        with self._reading() as session:
            return to_record(Note, find_by_prefix(session, NoteRow, NoteRow.note_id, prefix, "note"))

    def list_notes(self, *, author: Author | None = None, limit: int | None = None) -> tuple[Note, ...]:
        """Notes, newest first."""
        statement = select(NoteRow).order_by(NoteRow.created_at.desc(), NoteRow.note_id).limit(limit)
        if author is not None:
            statement = statement.where(NoteRow.author == author)
        with self._reading() as session:
            return tuple(to_record(Note, row) for row in rows(session, statement))

    def forget_notes(self, *, older_than_seconds: float = 0.0, author: Author | None = None) -> int:
        """Remove notes; returns how many."""
        limit = self._now() - timedelta(seconds=older_than_seconds)
        statement = delete(NoteRow).where(NoteRow.created_at <= limit)
        if author is not None:
            statement = statement.where(NoteRow.author == author)
        with self._writing() as session:
            return len(session.execute(statement.returning(NoteRow.note_id)).all())

    def save_hypothesis(self, hypothesis: Hypothesis) -> str:
        """Save a hypothesis, or the newest verdict on a known one; returns its identifier."""
        name = hypothesis.hypothesis_id
        with self._writing() as session:
            execute(session, _judge, HypothesisRow, {"hypothesis_id": name, **from_record(hypothesis)})
        return name

    def get_hypothesis(self, prefix: str) -> Hypothesis:
        """The hypothesis whose identifier is, or begins with, `prefix`."""
        with self._reading() as session:
            row = find_by_prefix(session, HypothesisRow, HypothesisRow.hypothesis_id, prefix, "hypothesis")
            return to_record(Hypothesis, row)

    def list_hypotheses(self) -> tuple[Hypothesis, ...]:
        """Hypotheses, newest verdict first."""
        statement = select(HypothesisRow).order_by(
            HypothesisRow.updated_at.desc(), HypothesisRow.hypothesis_id
        )
        with self._reading() as session:
            return tuple(to_record(Hypothesis, row) for row in rows(session, statement))

    def forget_hypotheses(self, *, older_than_seconds: float = 0.0, author: Author | None = None) -> int:
        """Remove hypotheses by the time of their newest verdict; returns how many."""
        limit = self._now() - timedelta(seconds=older_than_seconds)
        statement = delete(HypothesisRow).where(HypothesisRow.updated_at <= limit)
        if author is not None:
            statement = statement.where(HypothesisRow.author == author)
        with self._writing() as session:
            return len(session.execute(statement.returning(HypothesisRow.hypothesis_id)).all())

    def save_experience(self, experience: Experience) -> bool:
        """Remember the problem of a search that was run elsewhere; True if it was new."""
        with self._writing() as session:
            return insert_once(session, ExperienceRow, from_record(experience))

    def list_experiences(self) -> tuple[Experience, ...]:
        """Problems of searches that were run elsewhere, by identifier."""
        with self._reading() as session:
            found = rows(session, select(ExperienceRow).order_by(ExperienceRow.search_id))
            return tuple(to_record(Experience, row) for row in found)
