"""Searches: found by their settings, continued by one owner at a time."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from db import Database, SearchTakenError
from tests.db.samples import TIME, new_search


class Clock:
    """A clock that moves when told to."""

    def __init__(self) -> None:
        self.time = TIME

    def __call__(self) -> datetime:
        return self.time

    def move(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def timed(url: str, clock: Clock) -> Iterator[Database]:
    with Database.open(url, now=clock) as database:
        yield database


def test_a_search_comes_back_as_it_was(database: Database) -> None:
    search = new_search(database)
    assert database.get_search(search.id[:12]) == search
    assert (search.state, search.cursor, search.counters) == ("running", {}, {})


def test_the_newest_search_with_the_same_settings_is_found(timed: Database, clock: Clock) -> None:
    settings = {"model": "small", "device": "accelerator", "count": 8, "scenario_hash": "scenario", "seed": 7}
    first = new_search(timed)
    clock.move(1)
    second = new_search(timed)
    new_search(timed, seed=8)
    assert timed.find_search(**settings, setting="achievable") == second  # type: ignore[arg-type]
    assert timed.find_search(**settings, setting="achievable", clock="overlapped") == second  # type: ignore[arg-type]
    assert timed.find_search(**settings, setting="achievable", clock="limit") is None  # type: ignore[arg-type]
    assert timed.find_search(**settings, setting="physical") is None  # type: ignore[arg-type]
    timed.finish_search(first.id)
    assert [found.id for found in timed.list_searches(state="done")] == [first.id]
    assert len(timed.list_searches(limit=2)) == 2


def test_the_cursor_moves_and_the_search_ends(timed: Database, clock: Clock) -> None:
    search = new_search(timed)
    clock.move(5)
    moved = timed.update_cursor(search.id, {"proposers": {"exhaustive": [3, 4]}}, counters={"rounds": 1})
    assert moved.cursor == {"proposers": {"exhaustive": [3, 4]}}
    assert (moved.updated_at, moved.heartbeat_at, moved.created_at) == (clock.time, clock.time, TIME)
    kept = timed.update_cursor(search.id, {})
    assert kept.counters == {"rounds": 1}
    assert timed.finish_search(search.id, "interrupted").state == "interrupted"
    assert timed.resume_search(search.id).state == "running"


def test_a_living_owner_keeps_its_search(timed: Database, clock: Clock) -> None:
    search = new_search(timed, owner="first")
    clock.move(6)
    timed.heartbeat(search.id, owner="first")
    clock.move(6)
    with pytest.raises(SearchTakenError, match=r"is run by first .*stop that process or wait"):
        timed.resume_search(search.id, owner="second")
    assert timed.resume_search(search.id, owner="first").owner == "first"


def test_a_dead_owner_loses_its_search_and_may_not_write(timed: Database, clock: Clock) -> None:
    search = new_search(timed, owner="first")
    clock.move(15)
    assert timed.resume_search(search.id, owner="second").owner == "second"
    with pytest.raises(SearchTakenError):
        timed.update_cursor(search.id, {"stale": True}, owner="first")
    with pytest.raises(SearchTakenError):
        timed.finish_search(search.id, owner="first")
    with pytest.raises(SearchTakenError):
        timed.heartbeat(search.id, owner="first")
    assert timed.get_search(search.id).cursor == {}


def test_a_transaction_sees_its_own_writes(database: Database) -> None:
    search = new_search(database)
    with database.transaction() as tx:
        assert tx.get_search(search.id).cursor == {}
        tx.update_cursor(search.id, {"round": 1})
        assert tx.get_search(search.id).cursor == {"round": 1}
        assert database.get_search(search.id).cursor == {}, "others must not see it yet"
    assert database.get_search(search.id).cursor == {"round": 1}
