"""Bringing a database to another revision; alembic, slow to import, is imported when it is needed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine

from db.engine import BUSY_TIMEOUT_SECONDS, build_engine, use_write_ahead_log, writing
from db.errors import DatabaseError, OpenError
from db.places import Place, parse_place, prepare_file
from db.revisions import read_revision
from db.translation import translated

if TYPE_CHECKING:
    from alembic.config import Config


def upgrade(url_or_path: str | os.PathLike[str], revision: str = "head", scripts: Path | None = None) -> None:
    """Bring a database up to a revision, creating it if there is none; its data stays.

    All steps are one transaction: a process that dies in between leaves the old revision.
    `scripts` names another folder of migrations than the installed one.
    """
    place = parse_place(url_or_path)
    if place.file is not None:
        prepare_file(place.file, create=True)
    upgrade_place(place, BUSY_TIMEOUT_SECONDS, revision, scripts)


def upgrade_place(
    place: Place, busy_timeout_seconds: float, revision: str = "head", scripts: Path | None = None
) -> None:
    """Bring the database at a place up to a revision."""
    from alembic import command

    with _engine(place, busy_timeout_seconds) as engine:
        with engine.connect() as connection:
            read_revision(connection, str(place))  # before the file is touched
        use_write_ahead_log(engine, place, busy_timeout_seconds)
        with _changing(engine, place) as connection:
            command.upgrade(_configuration(connection, scripts), revision)


def downgrade(url_or_path: str | os.PathLike[str], revision: str, scripts: Path | None = None) -> None:
    """Take a database down to an older revision; `base` removes every table and all data."""
    from alembic import command

    place = _existing(url_or_path)
    with _engine(place, BUSY_TIMEOUT_SECONDS) as engine, _changing(engine, place) as connection:
        command.downgrade(_configuration(connection, scripts), revision)


def current_revision(url_or_path: str | os.PathLike[str]) -> str | None:
    """The revision of an existing database, or None for an empty one."""
    place = _existing(url_or_path)
    with _engine(place, BUSY_TIMEOUT_SECONDS) as engine, engine.connect() as connection:
        return read_revision(connection, str(place))


def _existing(url_or_path: str | os.PathLike[str]) -> Place:
    place = parse_place(url_or_path)
    if place.file is not None:
        prepare_file(place.file, create=False)
    return place


@contextmanager
def _engine(place: Place, busy_timeout_seconds: float) -> Iterator[Engine]:
    """An engine that lets go of its connections at the end."""
    engine = build_engine(place, busy_timeout_seconds, foreign_keys=False)
    try:
        with translated(place):
            yield engine
    finally:
        engine.dispose()


@contextmanager
def _changing(engine: Engine, place: Place) -> Iterator[Connection]:
    """A transaction that refuses what is not ours, and checks every reference before it is stored."""
    with writing(engine).begin() as connection:
        read_revision(connection, str(place))  # again, now that nobody else can change it
        yield connection
        if connection.dialect.name == "sqlite":
            broken = connection.exec_driver_sql("PRAGMA foreign_key_check").first()
            if broken is not None:
                raise DatabaseError(
                    f"every reference must hold after a migration, but table {broken[0]} of {place} has a "
                    "broken one, so nothing was changed; report this"
                )


def _configuration(connection: Connection, scripts: Path | None) -> Config:
    from alembic.config import Config

    configuration = Config()
    configuration.set_main_option("script_location", str(scripts or _installed_scripts()).replace("%", "%%"))
    configuration.attributes["connection"] = connection
    return configuration


def _installed_scripts() -> Path:
    """The folder of the package `migrations`, found without importing it."""
    found = find_spec("migrations")
    if found is None or not found.submodule_search_locations:
        raise OpenError("the package migrations must be installed with db, but it is missing; reinstall SEIS")
    return Path(found.submodule_search_locations[0])
