"""A search is alive as long as its process is, however long a candidate takes."""

from __future__ import annotations

import threading
from typing import Any, cast

import pytest

from agent import heart
from db import DatabaseError, SearchTakenError


class Store:
    """Counts beats; the first ones meet these errors."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.beats = 0
        self.enough = threading.Event()

    def heartbeat(self) -> None:
        self.beats += 1
        if self.beats > 2:
            self.enough.set()
        if self.errors:
            raise self.errors.pop(0)


def test_it_beats_through_a_time_without_a_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heart, "LOOK_SECONDS", 0.001)
    store = Store(DatabaseError("away"), DatabaseError("away"))
    with heart.Heart(cast(Any, store)):
        assert store.enough.wait(30)
    beats = store.beats
    assert beats > 2
    threading.Event().wait(0.01)
    assert store.beats == beats  # it ends with its block


def test_it_ends_where_another_process_has_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heart, "LOOK_SECONDS", 0.001)
    store = Store(SearchTakenError("taken"))
    with heart.Heart(cast(Any, store)) as beating:
        beating._thread.join(30)
        assert not beating._thread.is_alive()
    assert store.beats == 1
