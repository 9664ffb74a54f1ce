"""Errors of SQLAlchemy and its drivers, turned into the tree of `db.errors`, one sentence each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DataError, IntegrityError, NoSuchModuleError, SQLAlchemyError, TimeoutError

from db.errors import BusyError, ConflictError, DatabaseError, InvalidValueError, OpenError

_BUSY_STATES = ("55P03", "40001", "40P01")
"""PostgreSQL: lock not available, serialization failure, deadlock."""


@contextmanager
def translated(place: object) -> Iterator[None]:
    """Let errors of SQLAlchemy out as DatabaseError; every other error passes unchanged."""
    try:
        yield
    except SQLAlchemyError as error:
        raise translate(error, place) from error


def translate(error: SQLAlchemyError, place: object) -> DatabaseError:
    """The DatabaseError that says what happened at `place`."""
    original = getattr(error, "orig", None)
    if isinstance(original, DatabaseError):
        return original
    name = str(getattr(original, "sqlite_errorname", "") or "")
    state = str(getattr(original, "sqlstate", "") or "")
    detail = _first_line(original or error)
    if (
        name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))
        or state in _BUSY_STATES
        or isinstance(error, TimeoutError)
    ):
        return busy(place)
    if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
        return OpenError(
            f"the file must be an intact SQLite database, but {place} is not ({detail}); "
            "restore a copy of it or name another file"
        )
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return OpenError(
            f"the database must be writable, but {place} is not ({detail}); "
            "change its permissions or choose another place"
        )
    if name.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
        return DatabaseError(
            f"the disk must take what is written, but {place} failed ({detail}); free space, then retry"
        )
    if isinstance(error, IntegrityError):
        return ConflictError(
            "designs, certificates and searches must be saved before what refers to them, and a status must "
            f"be a known one, but the database refused ({detail}); save those first"
        )
    if isinstance(error, DataError):
        return InvalidValueError(
            f"a value must fit its column, but the database refused it ({detail}); correct it"
        )
    if isinstance(error, NoSuchModuleError):
        return OpenError(
            f"a database must be SQLite or PostgreSQL, but got another kind ({detail}); use one of them"
        )
    return DatabaseError(f"the database must answer, but {place} did not ({detail}); check it, then retry")


def unreachable(error: Exception, place: object) -> OpenError:
    """For a first connection that failed."""
    return OpenError(
        f"PostgreSQL must be reachable and the database must exist, but {place} is not "
        f"({_first_line(error)}); start the server, create the database or correct the URL"
    )


def busy(place: object) -> BusyError:
    """For a lock that stayed taken."""
    return BusyError(
        f"the database must be free for writing within the time-out, but another process holds {place}; "
        "retry, or stop that process"
    )


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].strip().rstrip(".") if lines else type(error).__name__
