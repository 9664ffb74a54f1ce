"""What opening accepts, and the one sentence that it says otherwise."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from sqlalchemy import make_url

import db
from db import (
    BusyError,
    Database,
    DatabaseError,
    NewerDatabaseError,
    OpenError,
    current_revision,
    downgrade,
    upgrade,
)
from tests.db.conftest import connect
from tests.db.samples import design, digest

NOBODY = 65534


@contextmanager
def ordinary_user() -> Iterator[None]:
    """Root may write anywhere; be somebody else for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def refusal(place: object, create: bool = True, kind: type[DatabaseError] = OpenError) -> str:
    """The one sentence with which opening is refused."""
    with pytest.raises(kind) as caught:
        Database.open(str(place), create, busy_timeout_seconds=0.05).close()
    message = str(caught.value)
    assert "\n" not in message
    assert " must " in message
    assert "; " in message, "it must say what to do"
    return message


def execute(url: str, *statements: str) -> None:
    """Change a database behind its back."""
    if "://" in url:
        with connect(make_url(url)) as server:
            for statement in statements:
                server.execute(statement.encode())
    else:
        with closing(sqlite3.connect(url)) as file, file:
            for statement in statements:
                file.execute(statement)


@pytest.fixture
def stored() -> Iterator[Path]:
    """A file with a database of one design, where every user can reach it."""
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        path = Path(folder) / "home" / "seis.sqlite"
        with Database.open(path) as database:
            database.save_design(design(1))
        yield path


def test_open_makes_folders_and_closes_with_its_block(tmp_path: Path) -> None:
    path = tmp_path / "100% new" / "deep" / "seis.sqlite"
    with Database.open(path) as database:
        assert database.save_design(design(1))
    assert [found.name for found in path.parent.iterdir()] == ["seis.sqlite"]
    with Database.open(f"sqlite:///{path}", create=False) as database:
        assert database.get_design(digest(1)) == design(1)
        assert repr(database) == f"Database.open({str(path)!r})"


def test_a_new_database_is_at_the_head(database: Database, url: str) -> None:
    assert current_revision(url) == db.HEAD


def test_opening_what_is_up_to_date_is_quick(stored: Path) -> None:
    def seconds() -> float:
        started = time.perf_counter()
        with Database.open(stored) as database:
            database.find_design(digest(1))
        return time.perf_counter() - started

    assert min(seconds() for _ in range(5)) < 0.05


def test_without_create_nothing_is_made(url: str, tmp_path: Path) -> None:
    if "://" in url:
        assert "is empty or older; open it once with create=True" in refusal(url, create=False)
    else:
        assert "must exist, but there is no file" in refusal(url, create=False)
        Path(url).touch()
        assert "is empty or older" in refusal(url, create=False)
        assert Path(url).read_bytes() == b""


def test_a_newer_database_is_left_alone(url: str) -> None:
    Database.open(url).close()
    execute(url, "UPDATE seis_revision SET version_num = '9999'")
    message = refusal(url, kind=NewerDatabaseError)
    assert f"revision up to {db.HEAD}" in message
    assert "has revision 9999, which a newer version of SEIS wrote" in message
    with pytest.raises(NewerDatabaseError):
        current_revision(url)
    with pytest.raises(NewerDatabaseError):
        downgrade(url, "base")


def test_tables_of_another_program_are_left_alone(url: str) -> None:
    execute(url, "CREATE TABLE designs (id INTEGER)")
    assert "holds tables of another program (designs)" in refusal(url)
    before = Path(url).read_bytes() if "://" not in url else b""
    with pytest.raises(OpenError, match="another program"):
        upgrade(url)
    assert "://" in url or Path(url).read_bytes() == before


def test_a_half_made_revision_table_is_an_empty_database(url: str) -> None:
    execute(url, "CREATE TABLE seis_revision (version_num VARCHAR(32) NOT NULL PRIMARY KEY)")
    with Database.open(url) as database:
        assert database.save_design(design(1))


def test_a_directory(tmp_path: Path) -> None:
    assert "must be a file" in refusal(tmp_path)


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "folder of a database must exist" in refusal(tmp_path / "file" / "seis.sqlite")


def test_a_read_only_file(stored: Path) -> None:
    stored.chmod(0o444)
    stored.parent.chmod(0o777)
    with ordinary_user():
        assert f"{stored} is read-only for this user" in refusal(stored)


def test_a_read_only_directory(stored: Path) -> None:
    stored.chmod(0o666)
    stored.parent.chmod(0o555)
    with ordinary_user():
        assert f"{stored.parent} is read-only for this user" in refusal(stored)
        assert f"{stored.parent} is read-only for this user" in refusal(stored.parent / "new.sqlite")
        assert "cannot be: Permission denied" in refusal(stored.parent / "new" / "new.sqlite")
    stored.parent.chmod(0o755)


@pytest.mark.parametrize(
    "content", [b"not a database, but long enough to look at" * 100, b"SQLite format 3\0" * 9]
)
def test_a_corrupt_file(stored: Path, content: bytes) -> None:
    stored.write_bytes(content)
    assert "must be an intact SQLite database" in refusal(stored)
    assert stored.read_bytes() == content


def test_a_file_that_is_corrupt_further_in(stored: Path) -> None:
    with closing(sqlite3.connect(stored)) as file:
        ((page,),) = file.execute("SELECT rootpage FROM sqlite_master WHERE name = 'designs'")
        ((size,),) = file.execute("PRAGMA page_size")
    content = bytearray(stored.read_bytes())
    content[(page - 1) * size : page * size] = b"\xff" * size
    stored.write_bytes(content)
    with (
        Database.open(stored) as database,
        pytest.raises(OpenError, match="must be an intact SQLite database"),
    ):
        database.list_designs()


def test_a_locked_file(stored: Path) -> None:
    with closing(sqlite3.connect(stored, isolation_level=None)) as holder:
        holder.execute("PRAGMA locking_mode = EXCLUSIVE")
        holder.execute("BEGIN EXCLUSIVE")
        assert "another process holds" in refusal(stored, kind=BusyError)


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (":memory:", "must be a file or a PostgreSQL URL"),
        ("", "must be a file or a PostgreSQL URL"),
        ("sqlite://", "must be a file or a PostgreSQL URL"),
        ("mysql://localhost/seis", "must be SQLite or PostgreSQL, but got 'mysql'"),
        ("://user:secret@host", "must look like postgresql://"),
        ("postgresql://user:secret@127.0.0.1:1/seis", "must be reachable"),
    ],
)
def test_other_places(place: str, message: str) -> None:
    found = refusal(place)
    assert message in found
    assert "secret" not in found


@pytest.mark.postgres
def test_a_missing_postgresql_database(postgres_url: str) -> None:
    missing = make_url(postgres_url).set(database="seis_missing").render_as_string(hide_password=False)
    message = refusal(missing)
    assert 'database "seis_missing" does not exist' in message
    assert "create the database or correct the URL" in message
