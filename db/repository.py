"""All repositories in one, and the transaction in which a whole round is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from db.errors import DatabaseError
from db.places import Place
from db.repositories.answers import Answers
from db.repositories.candidates import Candidates
from db.repositories.certificates import Certificates
from db.repositories.designs import Designs
from db.repositories.evaluations import Evaluations
from db.repositories.events import Events
from db.repositories.exchanges import Exchanges
from db.repositories.jobs import Jobs
from db.repositories.memories import Memories
from db.repositories.model_calls import ModelCalls
from db.repositories.schedules import Schedules
from db.repositories.searches import Searches
from db.repositories.statistics import Statistics
from db.repositories.tokens import Tokens
from db.translation import translated


class Repository(
    Designs,
    Certificates,
    Evaluations,
    Searches,
    Candidates,
    Statistics,
    Jobs,
    Events,
    Answers,
    Exchanges,
    ModelCalls,
    Memories,
    Schedules,
    Tokens,
):
    """Every method there is to read and write; see the repository of each concept."""


class Transaction(Repository):
    """A repository whose calls are stored together or not at all; use it inside its `with` block alone."""

    def __init__(self, session: Session, place: Place, now: Callable[[], datetime], writes: bool) -> None:
        self._session = session
        self._place = place
        self._clock = now
        self._writes = writes
        self._over = ""

    def end(self) -> None:
        """Refuse further calls; raises if an earlier error, caught by the caller, left nothing to commit."""
        failed, self._over = self._over, "it has ended"
        if failed:
            raise _unusable(failed)

    @contextmanager
    def _reading(self) -> Iterator[Session]:
        if self._over:
            raise _unusable(self._over)
        with translated(self._place):
            try:
                yield self._session
            except SQLAlchemyError:
                self._over = "a call in it failed"
                raise

    @contextmanager
    def _writing(self) -> Iterator[Session]:
        if not self._writes:
            raise DatabaseError("a snapshot must only be read, but got a write; use transaction() instead")
        with self._reading() as session:
            yield session

    def _now(self) -> datetime:
        return self._clock()


def _unusable(why: str) -> DatabaseError:
    return DatabaseError(f"a transaction must be open and whole to be used, but {why}; begin a new one")
