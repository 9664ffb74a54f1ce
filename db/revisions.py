"""Which revisions of the schema this version knows; kept apart from alembic, which is slow to import."""

from __future__ import annotations

from sqlalchemy import Connection, inspect, text

from db.errors import NewerDatabaseError, OpenError
from db.schema import Base

KNOWN = ("0001", "0002", "0003", "0004", "0005", "0006")
"""Every revision in `migrations/versions`, oldest first."""

HEAD = KNOWN[-1]
"""The revision that this version reads and writes."""

VERSION_TABLE = "seis_revision"
"""The table in which alembic keeps the revision of a database."""


def read_revision(connection: Connection, place: str) -> str | None:
    """The revision of a database, or None for an empty one.

    Raises NewerDatabaseError for an unknown revision, and OpenError for the tables of another program.
    """
    tables = inspect(connection)
    if not tables.has_table(VERSION_TABLE):
        _refuse_foreign(connection, set(tables.get_table_names()), place)
        return None
    revision = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()
    if revision is None or revision in KNOWN:
        return revision
    raise NewerDatabaseError(
        f"the database must have a revision up to {HEAD}, but {place} has revision {revision}, which a newer "
        "version of SEIS wrote; install that version or name another database"
    )


def _refuse_foreign(connection: Connection, tables: set[str], place: str) -> None:
    """Never migrate another program's database; a PostgreSQL schema may be shared if no name clashes."""
    if connection.dialect.name == "postgresql":
        tables &= set(Base.metadata.tables)
    if tables:
        raise OpenError(
            f"a new database must be empty, but {place} holds tables of another program "
            f"({', '.join(sorted(tables)[:3])}); name another database"
        )
