"""What the repositories share: a session to read, a session to write, inserts that may be repeated."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import fields
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

from sqlalchemy import ColumnElement, Select, Table, Text, and_, literal, or_, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import InstrumentedAttribute, Session

from db.columns import is_hex
from db.errors import AmbiguousPrefixError, InvalidValueError, NotFoundError
from db.schema import Base

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Row = TypeVar("Row", bound=Base)
Record = TypeVar("Record", bound="DataclassInstance")
Insert = sqlite.Insert | postgresql.Insert

SHORTEST_PREFIX = 4


class Store(ABC):
    """A source of sessions; a Database opens one per call, a Transaction shares one."""

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Session]:
        """A session that sees one moment of the database."""

    @abstractmethod
    def _writing(self) -> AbstractContextManager[Session]:
        """A session that holds the write lock."""

    @abstractmethod
    def _now(self) -> datetime:
        """The time that is written."""


def insert(dialect: str, kind: type[Base]) -> Insert:
    """An insert statement that can say what to do on conflict."""
    table = table_of(kind)
    return postgresql.insert(table) if dialect == "postgresql" else sqlite.insert(table)


@cache
def _insert_once(dialect: str, kind: type[Base]) -> Insert:
    return insert(dialect, kind).on_conflict_do_nothing()


def execute(
    session: Session, build: Callable[[str, type[Base]], Insert], kind: type[Base], values: Mapping[str, Any]
) -> int:
    """Run an insert statement with one row; returns how many rows it changed.

    `build` makes the statement from a dialect and a row class; cache it, for it costs more than running it.
    """
    connection = session.connection()
    result = connection.execute(
        build(connection.dialect.name, kind), dict(values), execution_options={"preserve_rowcount": True}
    )
    return result.rowcount


def insert_once(session: Session, kind: type[Base], values: Mapping[str, Any]) -> bool:
    """Insert a row unless it, or another with the same unique key, is there; True if it was inserted."""
    return execute(session, _insert_once, kind, values) > 0


def table_of(kind: type[Base]) -> Table:
    """The table behind a row class."""
    return cast(Table, kind.__table__)


def rows(session: Session, statement: Select[Row]) -> Sequence[Row]:
    """The rows as they are now, even if the session has seen older ones."""
    return session.scalars(statement.execution_options(populate_existing=True)).all()


def to_record(kind: type[Record], row: Base) -> Record:
    """The frozen record with the same fields as the row."""
    return kind(**{item.name: getattr(row, item.name) for item in fields(kind)})


def from_record(record: DataclassInstance) -> dict[str, Any]:
    """The record's fields by name, not copied."""
    return {item.name: getattr(record, item.name) for item in fields(record)}


def find_by_prefix(
    session: Session, kind: type[Row], column: InstrumentedAttribute[str], prefix: str, noun: str
) -> Row:
    """The one row whose name is, or begins with, `prefix`; raises NotFoundError or AmbiguousPrefixError."""
    wanted = prefix.lower()
    if len(wanted) < SHORTEST_PREFIX or not is_hex(wanted):
        raise InvalidValueError(
            f"a {noun} must be named by at least {SHORTEST_PREFIX} hexadecimal digits of its hash, "
            f"but got {prefix[:80]!r}; give more of it"
        )
    found = rows(session, select(kind).where(starts_with(column, wanted)).order_by(column).limit(2))
    if not found:
        raise NotFoundError(
            f"a {noun} must be stored to be read, but none begins with {wanted}; check the hash"
        )
    if len(found) > 1:
        first, second = (getattr(row, column.key) for row in found)
        raise AmbiguousPrefixError(
            f"a prefix must name one {noun}, but {wanted} begins {first} and {second}; give more digits"
        )
    return found[0]


Older = tuple[datetime, str]
"""The time and name of the last item of a page; the next page goes on from there."""


def older(time: Any, name: Any, before: Older) -> ColumnElement[bool]:
    """What follows in the order of falling time and rising name; an index on the time serves it."""
    when, last = before
    return and_(time <= when, or_(time < when, name > last))


def starts_with(column: InstrumentedAttribute[str], prefix: str) -> ColumnElement[bool]:
    """A range that an index serves: 'g' sorts after every hexadecimal digit."""
    return (column >= literal(prefix, Text())) & (column < literal(prefix + "g", Text()))
