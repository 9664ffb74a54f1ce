"""Where a database is: a file for SQLite, or the URL of a PostgreSQL database."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from db.errors import OpenError


@dataclass(frozen=True, slots=True)
class Place:
    """A place that may hold a database; `file` is None for a server."""

    url: URL
    file: Path | None

    def __str__(self) -> str:
        """The path, or the URL without its password."""
        return str(self.file) if self.file else self.url.render_as_string(hide_password=True)


def parse_place(url_or_path: str | os.PathLike[str]) -> Place:
    """Read a path or a URL; raises OpenError for any other kind of database."""
    given = os.fspath(url_or_path)
    if given in ("", ":memory:"):
        raise OpenError(
            f"a database must be a file or a PostgreSQL URL, but got {given!r}; use a temporary file"
        )
    if "://" not in given:
        return _file_place(Path(given))
    try:
        url = make_url(given)
    except ArgumentError:
        raise OpenError(
            "a database URL must look like postgresql://user@host:port/name, but this does not; correct it"
        ) from None
    kind = url.drivername.partition("+")[0]
    if kind == "sqlite":
        return _file_place(Path(url.database)) if url.database else parse_place("")
    if kind in ("postgresql", "postgres"):
        return Place(url.set(drivername="postgresql+psycopg"), None)
    raise OpenError(
        f"a database must be SQLite or PostgreSQL, but got {kind!r}; give a file or a postgresql:// URL"
    )


def _file_place(path: Path) -> Place:
    path = path.expanduser()
    return Place(URL.create("sqlite+pysqlite", database=str(path)), path)


def prepare_file(path: Path, create: bool) -> None:
    """Check that SQLite can keep its file and the two beside it there; makes missing folders if `create`."""
    folder = path.parent
    try:
        if path.is_dir():
            raise OpenError(f"a database must be a file, but {path} is a directory; name a file in it")
        if path.exists():
            _need_writable(path, "file")
        elif not create:
            raise OpenError(
                f"the database must exist, but there is no file {path}; check the name or create it first"
            )
        else:
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OpenError(
            f"the folder of a database must exist or be created, but {folder} cannot be: "
            f"{error.strerror}; choose another place"
        ) from None
    _need_writable(folder, "directory")


def _need_writable(path: Path, kind: str) -> None:
    effective = os.access in os.supports_effective_ids
    if not os.access(path, os.R_OK | os.W_OK, effective_ids=effective):
        raise OpenError(
            f"the {kind} of a database must be writable, but {path} is read-only for this user; "
            "change its permissions or choose another place"
        )
