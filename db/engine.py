"""Connections with the same promises on both databases: one writer at a time, foreign keys, no endless wait.

A write transaction takes the write lock when it begins: `BEGIN IMMEDIATE` on SQLite, an advisory lock on
PostgreSQL. Processes that write the same rows in different orders therefore take turns and cannot deadlock.
"""

from __future__ import annotations

import sqlite3
import time
from functools import partial
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event

from db.columns import write_json
from db.places import Place
from db.translation import busy, unreachable

BUSY_TIMEOUT_SECONDS = 10.0
"""How long a writer waits for another one, unless told otherwise."""

_WRITES = "seis_writes"
_LOCK_SPACE = 0x5E15
"""The first half of the advisory lock's key; the second is the schema's name."""


def build_engine(place: Place, busy_timeout_seconds: float, foreign_keys: bool = True) -> Engine:
    """An engine for the place; connects to nothing yet.

    Without `foreign_keys`, SQLite does not check them at each statement, as rebuilding a table requires.
    """
    if place.file is not None:
        engine = create_engine(
            place.url, json_serializer=write_json, connect_args={"timeout": busy_timeout_seconds}
        )
        event.listen(engine, "connect", partial(_prepare_sqlite, foreign_keys))
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    connect_args = {} if "connect_timeout" in place.url.query else {"connect_timeout": 10}
    try:
        engine = create_engine(
            place.url, json_serializer=write_json, connect_args=connect_args, pool_pre_ping=True
        )
    except ImportError as error:
        raise unreachable(error, place) from None
    lock_timeout = max(1, round(busy_timeout_seconds * 1000))

    def begin(connection: Connection) -> None:
        if connection.get_execution_options().get(_WRITES):
            connection.exec_driver_sql(
                f"SET LOCAL lock_timeout = {lock_timeout}; "
                f"SELECT pg_advisory_xact_lock({_LOCK_SPACE}, hashtext(current_schema()))"
            )

    event.listen(engine, "begin", begin)
    return engine


def writing(engine: Engine) -> Engine:
    """The same engine; its transactions take the write lock."""
    return engine.execution_options(**{_WRITES: True})


def reading(engine: Engine) -> Engine:
    """The same engine; its transactions see one moment of the database throughout."""
    if engine.dialect.name == "postgresql":
        return engine.execution_options(isolation_level="REPEATABLE READ")
    return engine


def use_write_ahead_log(engine: Engine, place: Place, busy_timeout_seconds: float) -> None:
    """Let readers and the writer work side by side; the setting stays in the file."""
    if place.file is None:
        return
    deadline = time.monotonic() + busy_timeout_seconds
    connection = engine.raw_connection()
    try:
        cursor = connection.cursor()
        while cursor.execute("PRAGMA journal_mode").fetchone() != ("wal",):
            try:
                cursor.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                # SQLite does not wait here by itself while another process makes the same change.
                if not error.sqlite_errorname.startswith("SQLITE_BUSY"):
                    raise
                if time.monotonic() > deadline:
                    raise busy(place) from None
                time.sleep(0.005)
    finally:
        connection.close()


def _prepare_sqlite(foreign_keys: bool, connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # the driver opens no transaction by itself; _begin_sqlite does
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA foreign_keys = {int(foreign_keys)}")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    immediate = connection.get_execution_options().get(_WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")
