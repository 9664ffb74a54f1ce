"""The handle on a database: opened once per process, used from any thread."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Self

from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from db.columns import utc_now
from db.engine import BUSY_TIMEOUT_SECONDS, build_engine, reading, writing
from db.errors import BusyError, DatabaseError, OpenError
from db.migrate import upgrade_place
from db.places import Place, parse_place, prepare_file
from db.repository import Repository, Transaction
from db.revisions import HEAD, read_revision
from db.translation import busy, translate, translated, unreachable


class Database(Repository):
    """A repository that stores each call by itself; `transaction()` stores many together.

    >>> with Database.open("seis.sqlite") as database:           # doctest: +SKIP
    ...     with database.transaction() as tx:
    ...         tx.save_design(design)
    """

    def __init__(
        self, engine: Engine, place: Place, busy_timeout_seconds: float, now: Callable[[], datetime]
    ) -> None:
        self._place = place
        self._busy_timeout_seconds = busy_timeout_seconds
        self._clock = now
        self._engine = engine
        self._start()

    @classmethod
    def open(
        cls,
        url_or_path: str | os.PathLike[str],
        create: bool = True,
        *,
        busy_timeout_seconds: float = BUSY_TIMEOUT_SECONDS,
        now: Callable[[], datetime] = utc_now,
    ) -> Self:
        """Open a SQLite file, or a PostgreSQL database by its URL.

        With `create`, a missing or empty database is made and an older one is brought up to date; without,
        both raise OpenError. Raises NewerDatabaseError for one that a newer version wrote, and OpenError
        for a place that cannot be used.
        """
        place = parse_place(url_or_path)
        if place.file is not None:
            prepare_file(place.file, create)
        engine = build_engine(place, busy_timeout_seconds)
        try:
            with translated(place):
                if _revision(engine, place) != HEAD:
                    if not create:
                        raise OpenError(
                            f"the database must be at revision {HEAD}, but {place} is empty or older; "
                            "open it once with create=True"
                        )
                    upgrade_place(place, busy_timeout_seconds)
        except BaseException:
            engine.dispose()
            raise
        return cls(engine, place, busy_timeout_seconds, now)

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Database.open({str(self._place)!r})"

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Write many things together: if the block, or the process, dies in between, none of them is stored.

        Other writers wait meanwhile, so compute first and write then. A write on the database itself inside
        the block raises DatabaseError; write through the transaction.
        """
        engine = self._live()
        with self._one_writer(), self._session(writing(engine)) as session:
            transaction = Transaction(session, self._place, self._clock, writes=True)
            yield transaction
            transaction.end()

    @contextmanager
    def snapshot(self) -> Iterator[Transaction]:
        """Read many things as they are at one moment, whatever is written meanwhile."""
        with self._session(reading(self._live())) as session:
            transaction = Transaction(session, self._place, self._clock, writes=False)
            yield transaction
            transaction.end()

    @contextmanager
    def _session(self, engine: Engine) -> Iterator[Session]:
        with translated(self._place), Session(engine) as session, session.begin():
            session.connection()  # begin now, so that the lock is held before the caller reads anything
            yield session

    @contextmanager
    def _one_writer(self) -> Iterator[None]:
        """Threads of one process queue here, where waiting is fair; SQLite's own lock only polls."""
        if getattr(self._local, "writes", False):
            raise DatabaseError(
                "a thread must have one write transaction at a time, but got a second one inside it; "
                "write through the first"
            )
        if not self._turn.acquire(timeout=self._busy_timeout_seconds):
            raise busy(self._place)
        self._local.writes = True
        try:
            yield
        finally:
            self._local.writes = False
            self._turn.release()

    @contextmanager
    def _reading(self) -> Iterator[Session]:
        with self._session(reading(self._live())) as session:
            yield session

    @contextmanager
    def _writing(self) -> Iterator[Session]:
        with self.transaction() as transaction, transaction._writing() as session:
            yield session

    def _now(self) -> datetime:
        return self._clock()

    def _live(self) -> Engine:
        """The engine; a forked child first lets go of the connections it inherited and must not share."""
        if self._process != os.getpid():
            self._engine.dispose(close=False)
            self._start()
        return self._engine

    def _start(self) -> None:
        self._process = os.getpid()
        self._turn = threading.Lock()
        self._local = threading.local()


def _revision(engine: Engine, place: Place) -> str | None:
    try:
        with engine.connect() as connection:
            return read_revision(connection, str(place))
    except OperationalError as error:
        translated_error = translate(error, place)
        if place.file is None and not isinstance(translated_error, BusyError):
            raise unreachable(error.orig or error, place) from error
        raise translated_error from error
