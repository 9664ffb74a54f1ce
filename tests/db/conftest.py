"""One suite, two databases: a test that asks for `database` or `url` runs on SQLite and a real PostgreSQL."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import URL, make_url

from db import Database

SERVER = os.environ.get("SEIS_TEST_POSTGRES", "postgresql+psycopg://postgres@127.0.0.1:5432/postgres")


def connect(url: URL) -> psycopg.Connection[tuple[object, ...]]:
    """A plain connection, each statement its own transaction."""
    plain = url.set(drivername="postgresql").render_as_string(hide_password=False)
    try:
        return psycopg.connect(plain, autocommit=True, connect_timeout=10)
    except psycopg.OperationalError as error:
        shown = url.render_as_string(hide_password=True)
        pytest.fail(
            f"these tests need a PostgreSQL server at {shown}, but there is none: start one, or name another "
            f"in SEIS_TEST_POSTGRES ({error})",
            pytrace=False,
        )


@pytest.fixture(scope="session")
def postgres() -> Iterator[URL]:
    """A database that lives as long as the tests do."""
    server = make_url(SERVER)
    name = f"seis_test_{secrets.token_hex(6)}"
    with connect(server) as administrator:
        administrator.execute(f'CREATE DATABASE "{name}"'.encode())
        try:
            yield server.set(database=name)
        finally:
            administrator.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())


@pytest.fixture
def postgres_url(postgres: URL) -> Iterator[str]:
    """An empty PostgreSQL schema of one test."""
    schema = f"test_{secrets.token_hex(6)}"
    with connect(postgres) as administrator:
        administrator.execute(f'CREATE SCHEMA "{schema}"'.encode())
        url = postgres.update_query_dict({"options": f"-csearch_path={schema}"})
        yield url.render_as_string(hide_password=False)
        administrator.execute(f'DROP SCHEMA "{schema}" CASCADE'.encode())


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where there is no database yet."""
    if request.param == "sqlite":
        return str(tmp_path / "seis.sqlite")
    found: str = request.getfixturevalue("postgres_url")
    return found


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    """An open, empty database."""
    with Database.open(url) as opened:
        yield opened
