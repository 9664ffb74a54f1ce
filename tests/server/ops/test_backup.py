"""Backups: whole while others write, put back only where nothing is lost by it."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from db import Database, OpenError
from server.ops.backup import BackupError, backup, restore
from tests.db.conftest import postgres, postgres_url

__all__ = ["postgres", "postgres_url"]

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)


def job(database: Database, number: int) -> None:
    database.create_job(kind="search", subject=str(number), request={"n": number})


def numbers(place: str | Path) -> set[int]:
    with Database.open(place) as database:
        return {j.request["n"] for j in database.list_jobs()}


def test_a_backup_during_writes_is_one_moment(tmp_path: Path) -> None:
    path, copy = tmp_path / "seis.db", tmp_path / "copy.db"
    stop = threading.Event()
    with Database.open(path) as database:
        job(database, 0)

        def write() -> None:
            number = 1
            while not stop.is_set():
                with database.transaction() as tx:  # both or none
                    tx.create_job(kind="search", subject="a", request={"n": number})
                    tx.create_job(kind="search", subject="b", request={"n": -number})
                number += 1
                stop.wait(0.002)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            backup(str(path), copy)
        finally:
            stop.set()
            writer.join()
    found = numbers(copy)
    assert 0 in found
    assert {n for n in found if n > 0} == {-n for n in found if n < 0}
    assert copy.stat().st_mode & 0o077 == 0
    assert [p.name for p in tmp_path.iterdir() if "partial" in p.name] == []


def test_the_way_back(tmp_path: Path) -> None:
    path, copy = tmp_path / "seis.db", tmp_path / "copy.db"
    with Database.open(path) as database:
        job(database, 1)
    backup(str(path), copy)
    with Database.open(path) as database:
        job(database, 2)
    with pytest.raises(BackupError, match="--replace"):
        restore(copy, str(path), NOW)
    kept = restore(copy, str(path), NOW, replace=True)
    with closing(sqlite3.connect(path)) as plain:  # readers and the writer still work side by side
        assert plain.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert numbers(path) == {1}
    assert kept is not None
    assert numbers(kept) == {1, 2}
    assert restore(copy, str(tmp_path / "new.db"), NOW) is None
    assert numbers(tmp_path / "new.db") == {1}


def test_a_database_in_use_is_not_replaced(tmp_path: Path) -> None:
    path, copy = tmp_path / "seis.db", tmp_path / "copy.db"
    with Database.open(path) as database:
        backup(str(path), copy)
        database.take_lease("schedules", "host:1:ab", 15.0)
    with pytest.raises(BackupError, match="stop it"):
        restore(copy, str(path), NOW, replace=True)


def test_what_is_no_backup_changes_nothing(tmp_path: Path) -> None:
    path, copy = tmp_path / "seis.db", tmp_path / "copy.db"
    with Database.open(path) as database:
        for number in range(50):
            job(database, number)
    backup(str(path), copy)
    content = copy.read_bytes()
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(content[: len(content) // 2])
    foreign = tmp_path / "foreign.db"
    with sqlite3.connect(foreign) as other:
        other.execute("CREATE TABLE mine (a)")
    other.close()
    dump = tmp_path / "dump"
    dump.write_bytes(b"PGDMP...")
    for wrong in (damaged, foreign, dump, tmp_path / "missing", tmp_path):
        with pytest.raises((BackupError, OpenError)):
            restore(wrong, str(path), NOW, replace=True)
    assert numbers(path) == set(range(50))
    with pytest.raises(BackupError, match="overwrite"):
        backup(str(path), copy)
    with pytest.raises(OpenError):
        backup(str(tmp_path / "none.db"), tmp_path / "x")
    assert copy.read_bytes() == content


def test_without_the_programs_of_postgresql_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.ops.backup.current_revision", lambda _: "x")
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(BackupError, match="pg_dump must be installed"):
        backup("postgresql://u:secret@h/d", tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.postgres
def test_a_backup_of_postgresql_and_back(postgres_url: str, tmp_path: Path) -> None:
    with Database.open(postgres_url) as database:
        job(database, 1)
        backup(postgres_url, tmp_path / "copy")
        job(database, 2)
    restore(tmp_path / "copy", postgres_url, NOW, replace=True)
    assert numbers(postgres_url) == {1}
