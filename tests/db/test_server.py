"""A PostgreSQL server that restarts under an open database."""

from __future__ import annotations

import pytest
from sqlalchemy import make_url

from db import Database, DatabaseError
from tests.db.conftest import connect
from tests.db.samples import design

VICTIM = "seis_victim"


@pytest.fixture
def victim_url(postgres_url: str) -> str:
    """A database whose connections `end_connections` ends."""
    named = make_url(postgres_url).update_query_dict({"application_name": VICTIM})
    return named.render_as_string(hide_password=False)


def end_connections(url: str) -> None:
    """Do what a server does that restarts."""
    with connect(make_url(url).difference_update_query(["application_name"])) as administrator:
        ended = administrator.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND application_name = %s",
            [VICTIM],
        ).fetchall()
        assert ended
        assert all(done for (done,) in ended)


@pytest.mark.postgres
def test_a_server_that_drops_its_connections_is_met_again(victim_url: str) -> None:
    with Database.open(victim_url) as database:
        database.save_design(design(1))
        end_connections(victim_url)
        assert database.save_design(design(2))


@pytest.mark.postgres
def test_a_connection_lost_within_a_transaction_stores_nothing(victim_url: str) -> None:
    def lose(database: Database) -> None:
        with database.transaction() as tx:
            tx.save_design(design(1))
            end_connections(victim_url)
            tx.save_design(design(2))

    with Database.open(victim_url) as database:
        with pytest.raises(DatabaseError, match="the database must answer"):
            lose(database)
        assert database.list_designs() == ()
