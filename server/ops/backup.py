"""Copies of the database that are whole, made while the service runs, and the way back."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path

from db import Database, DatabaseError, OpenError, current_revision
from db.places import Place, parse_place
from server.schedules.scheduler import LEASE

DUMP = b"PGDMP"


class BackupError(ValueError):
    """A backup that cannot be made or restored; the message is one sentence for the user."""


def backup(database: str, target: Path, replace: bool = False) -> int:
    """Copy a database into a file while others use it; its size in bytes.

    Raises BackupError, DatabaseError and OSError; a file that was there is then as it was.
    """
    place = parse_place(database)
    current_revision(database)  # there is one, and it is ours
    if target.exists() and not replace:
        raise BackupError(f"a backup must not overwrite {target}; name another file, or say --replace")
    if target.is_dir() or not target.parent.is_dir():
        raise BackupError(f"a backup must be a file in a folder that exists, but {target} is not; correct it")
    partial = _beside(target)
    try:
        if place.file is not None:
            _copy(place.file, partial)
            _check(partial)
        else:
            _run(["pg_dump", "--format=custom", "--no-owner", f"--file={partial}"], place)
        _flush(partial)
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)
    return target.stat().st_size


def restore(source: Path, database: str, now: datetime, replace: bool = False) -> Path | None:
    """Put a backup in the place of a database; the file that the old one is kept in, if there was one.

    Refuses while a server uses the database. Raises BackupError, DatabaseError and OSError.
    """
    if not source.is_file():
        raise BackupError(f"a backup must be a file, but there is none {source}; check the name")
    place = parse_place(database)
    with source.open("rb") as stream:
        dump = stream.read(len(DUMP)) == DUMP
    if dump == (place.file is not None):
        kinds = ("PostgreSQL", "SQLite") if dump else ("SQLite", "PostgreSQL")
        raise BackupError(f"a backup must be of the kind of the database, but is of {kinds[0]} and the "
                          f"database is {kinds[1]}; name another database")  # fmt: skip
    if place.file is None:
        _refuse_used(database, replace)
        _run(["pg_restore", "--clean", "--if-exists", "--no-owner", "--single-transaction",
              "--exit-on-error", str(source)], place)  # fmt: skip
        return None
    return _restore_file(source, place.file, now, replace)


def _restore_file(source: Path, target: Path, now: datetime, replace: bool) -> Path | None:
    _check(source)
    current_revision(source)
    kept = None
    if target.exists() and target.stat().st_size:
        _refuse_used(str(target), replace)
        kept = target.with_name(f"{target.name}.{now:%Y%m%d-%H%M%S}.old")
    partial = _beside(target)
    try:
        _copy(source, partial)
        _check(partial)
        with closing(sqlite3.connect(partial)) as opened:
            opened.execute("PRAGMA journal_mode = WAL")  # as every database of ours; a copy is one file
        _flush(partial)
        if kept is not None:
            _copy(target, kept)
            _flush(kept)
            for name in (f"{target}-wal", f"{target}-shm"):
                Path(name).unlink(missing_ok=True)
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)
    return kept


def _refuse_used(database: str, replace: bool) -> None:
    try:
        with Database.open(database, create=False) as opened:
            lease = opened.find_lease(LEASE)
            empty = not any(
                (opened.list_jobs(limit=1), opened.list_searches(limit=1), opened.list_schedules(limit=1),
                 opened.list_tokens(), opened.list_designs(limit=1))
            )  # fmt: skip
    except OpenError:
        lease, empty = None, False  # what cannot be read is what a backup is for
    if lease is not None:
        raise BackupError(
            f"a database must not be in use to be replaced, but the server {lease[0]} uses it; stop it, then "
            "wait for 15 seconds"
        )
    if not empty and not replace:
        raise BackupError("a database that holds something is only replaced with --replace; add it")


def _copy(source: Path, target: Path) -> None:
    """SQLite's own online copy: whole at one moment, whatever is written meanwhile."""
    try:
        with closing(sqlite3.connect(source, timeout=30)) as old, closing(sqlite3.connect(target)) as new:
            target.chmod(0o600)
            old.backup(new, pages=1000, sleep=0.01)
            new.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.Error as error:
        raise DatabaseError(
            f"a database must be readable and its copy writable, but {source} to {target} failed ({error}); "
            "check the disk and the file"
        ) from None


def _check(path: Path) -> None:
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as opened:
            found = opened.execute("PRAGMA integrity_check(1)").fetchone()[0]
    except sqlite3.Error as error:
        found = str(error)
    if found != "ok":
        raise BackupError(
            f"a backup must be an intact SQLite database, but {path} is not ({found}); use another"
        )


def _run(command: Sequence[str], place: Place) -> None:
    """A program of PostgreSQL; the password goes by the environment, which others cannot read."""
    if shutil.which(command[0]) is None:
        raise BackupError(
            f"{command[0]} must be installed to copy a PostgreSQL database, but it is not; install "
            "PostgreSQL's client programs of the server's version"
        )
    url = place.url
    given = {"PGHOST": url.host, "PGPORT": url.port and str(url.port), "PGUSER": url.username,
             "PGPASSWORD": url.password, "PGDATABASE": url.database,
             "PGOPTIONS": url.query.get("options")}  # fmt: skip
    environment = {**os.environ, **{k: str(v) for k, v in given.items() if v}}
    argument = [f"--dbname={url.database}"] if command[0] == "pg_restore" else []
    ran = subprocess.run(
        [command[0], *argument, "--no-password", *command[1:]], env=environment, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    if ran.returncode:
        said = (ran.stderr.strip().splitlines() or ["it said nothing"])[-1][:300]
        raise BackupError(f"{command[0]} must succeed, but did not ({said}); correct that, then retry")


def _beside(target: Path) -> Path:
    """An empty file in the same folder, which nobody else can read."""
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".partial", dir=target.parent)
    os.close(handle)
    return Path(name)


def _flush(path: Path) -> None:
    with path.open("rb+") as stream:
        os.fsync(stream.fileno())
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
