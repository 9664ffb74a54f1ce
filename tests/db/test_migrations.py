"""Revisions: the migrations make what the schema says, and carry data with them in both directions."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, NullPool, create_engine, inspect, text

import migrations
from db import Database, DatabaseError, current_revision, downgrade, upgrade
from db.places import parse_place
from db.revisions import HEAD, KNOWN, VERSION_TABLE
from db.schema import Base
from tests.db.samples import candidate, certificate, design, digest, evaluation, new_search

SCRIPTS = Path(migrations.__file__).parent

NEXT = '''
"""A revision that adds a column and, on request, fails after that."""
import sqlalchemy as sa
from alembic import op

revision = "0999"
down_revision = "{head}"

def upgrade():
    op.add_column("designs", sa.Column("note", sa.Text(), server_default="none", nullable=False))
    {then}

def downgrade():
    with op.batch_alter_table("designs") as table:
        table.drop_column("note")
'''


def scripts_with(folder: Path, then: str) -> Path:
    """The migrations and one more."""
    copied = folder / "scripts"
    shutil.copytree(SCRIPTS, copied, ignore=shutil.ignore_patterns("__pycache__"))
    (copied / "versions" / "0999_note.py").write_text(NEXT.format(then=then, head=HEAD))
    return copied


def fill(database: Database) -> str:
    """One of everything; returns the search's identifier."""
    search = new_search(database)
    database.save_design(design(1))
    standing = database.save_certificate(certificate(1))
    database.save_evaluation(evaluation(1, (1.0, 2.0)))
    database.record_candidate(candidate(search, 1, "accepted", certificate_hash=standing))
    return search.id


@contextmanager
def connected(url: str) -> Iterator[Connection]:
    """A connection beside the one under test."""
    engine = create_engine(parse_place(url).url, poolclass=NullPool)
    with engine.connect() as connection:
        yield connection


def test_the_known_revisions_are_those_of_the_migrations() -> None:
    configuration = Config()
    configuration.set_main_option("script_location", str(SCRIPTS))
    walked = ScriptDirectory.from_config(configuration).walk_revisions()
    assert tuple(script.revision for script in walked) == tuple(reversed(KNOWN))
    assert KNOWN[-1] == HEAD


def test_the_migrations_make_what_the_schema_says(database: Database, url: str) -> None:
    with connected(url) as connection:
        options = {"version_table": VERSION_TABLE, "compare_type": True}
        assert compare_metadata(MigrationContext.configure(connection, opts=options), Base.metadata) == []
        tables = inspect(connection)
        for table in Base.metadata.sorted_tables:
            expected = sorted(str(item.name) for item in table.constraints if item.name)
            found = [tables.get_pk_constraint(table.name)["name"]]
            found += [item["name"] for item in tables.get_foreign_keys(table.name)]
            found += [item["name"] for item in tables.get_unique_constraints(table.name)]
            found += [item["name"] for item in tables.get_check_constraints(table.name)]
            assert sorted(str(name) for name in found) == expected


def test_down_to_nothing_and_up_again(url: str) -> None:
    with Database.open(url) as database:
        fill(database)
    downgrade(url, "base")
    assert current_revision(url) is None
    with connected(url) as connection:
        assert set(inspect(connection).get_table_names()) == {VERSION_TABLE}
    upgrade(url)
    upgrade(url)
    assert current_revision(url) == HEAD
    with Database.open(url, create=False) as database:
        assert database.list_designs() == ()
        fill(database)


def test_data_survives_a_later_revision_and_the_way_back(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts = scripts_with(tmp_path, then="pass")
    with Database.open(url) as database:
        search_id = fill(database)
        before = database.list_candidates(search_id)
    upgrade(url, scripts=scripts)
    with connected(url) as connection:
        assert connection.scalar(text("SELECT note FROM designs")) == "none"
        assert connection.scalar(text(f"SELECT version_num FROM {VERSION_TABLE}")) == "0999"
    monkeypatch.setattr("db.revisions.KNOWN", (*KNOWN, "0999"))
    downgrade(url, HEAD, scripts=scripts)
    with Database.open(url, create=False) as database:
        assert database.get_design(digest(1)) == design(1)
        assert database.list_candidates(search_id) == before


def test_data_of_the_version_before_is_all_there_after_an_upgrade(url: str) -> None:
    with Database.open(url) as database:
        search_id = fill(database)
        before = (database.list_designs(), database.list_candidates(search_id), database.list_searches())
    downgrade(url, KNOWN[-2])
    assert current_revision(url) == KNOWN[-2]
    with Database.open(url) as database:  # as the new version is started on it
        after = (database.list_designs(), database.list_candidates(search_id), database.list_searches())
    assert after == before
    assert current_revision(url) == HEAD


def test_an_older_database_is_brought_up_to_date_when_opened(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Database.open(url) as database:
        fill(database)
    scripts = scripts_with(tmp_path, then="pass")
    monkeypatch.setattr("db.revisions.KNOWN", (*KNOWN, "0999"))
    monkeypatch.setattr("db.database.HEAD", "0999")
    monkeypatch.setattr("db.migrate._installed_scripts", lambda: scripts)
    with Database.open(url) as database:
        assert database.get_design(digest(1)) == design(1)
    assert current_revision(url) == "0999"


def test_a_revision_that_breaks_a_reference_is_refused(url: str, tmp_path: Path) -> None:
    with Database.open(url) as database:
        fill(database)
    with pytest.raises(DatabaseError):
        upgrade(url, scripts=scripts_with(tmp_path, then='op.execute("DELETE FROM designs")'))
    with Database.open(url, create=False) as database:
        assert database.get_design(digest(1)) == design(1)


def test_a_revision_that_fails_leaves_the_old_one_whole(url: str, tmp_path: Path) -> None:
    with Database.open(url) as database:
        fill(database)
    with pytest.raises(RuntimeError, match="half way"):
        upgrade(url, scripts=scripts_with(tmp_path, then='raise RuntimeError("half way")'))
    assert current_revision(url) == HEAD
    with connected(url) as connection:
        assert "note" not in {column["name"] for column in inspect(connection).get_columns("designs")}
    with Database.open(url, create=False) as database:
        assert database.get_design(digest(1)) == design(1)
