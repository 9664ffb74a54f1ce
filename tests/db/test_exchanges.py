"""Exchanges and calls of language models: in order, stored once, worst until they have ended."""

from __future__ import annotations

from datetime import timedelta

import pytest

from db import ConflictError, Database, utc_now
from tests.db.samples import new_search


def test_exchanges_come_back_in_order_and_can_be_forgotten(database: Database) -> None:
    search = new_search(database).id
    assert database.next_exchange(search) == 0
    for number, kind in enumerate(("chat", "notes", "chat")):
        database.record_exchange(search, number, kind, '{"ask":1}', f'{{"answer":{number}}}')
    found = database.list_exchanges(search)
    assert [(e.number, e.kind, e.request, e.answer) for e in found] == [
        (0, "chat", '{"ask":1}', '{"answer":0}'),
        (1, "notes", '{"ask":1}', '{"answer":1}'),
        (2, "chat", '{"ask":1}', '{"answer":2}'),
    ]
    assert database.find_exchange(search, 1) == found[1]
    assert database.find_exchange(search, 3) is None
    assert database.next_exchange(search) == 3
    with pytest.raises(ConflictError):
        database.record_exchange(search, 1, "chat", "{}", "{}")
    database.forget_exchanges(search, 1)
    assert database.list_exchanges(search) == found[:1]


def test_a_call_counts_at_its_worst_until_it_has_ended(database: Database) -> None:
    def begin(search: str, cost: float | None) -> int:
        return database.begin_call(search, "http://a/v1", "m", prompt_tokens=100, output_tokens=50, cost=cost)

    first, _ = begin("one", 1.0), begin("two", None)
    spent = database.model_spending(search_id="one")
    assert (spent.calls, spent.prompt_tokens, spent.output_tokens, spent.cost) == (1, 100, 50, 1.0)
    database.end_call(
        first, "answered", prompt_tokens=10, output_tokens=5, reasoning_tokens=2, cost=0.1, seconds=3.5
    )
    spent = database.model_spending(search_id="one")
    assert (spent.prompt_tokens, spent.output_tokens, spent.reasoning_tokens) == (10, 5, 2)
    assert spent.seconds == 3.5
    today = database.model_spending(since=utc_now() - timedelta(hours=1))
    assert (today.calls, today.cost, today.unpriced_calls) == (2, 0.1, 1)
    assert database.model_spending(since=utc_now() + timedelta(hours=1)).calls == 0


def test_what_an_endpoint_can_do_is_remembered_by_model(database: Database) -> None:
    assert database.find_capabilities("http://a/v1", "m") is None
    database.save_capabilities("http://a/v1", "m", {"mode": "tools"})
    database.save_capabilities("http://a/v1", "m", {"mode": "text"})
    assert database.find_capabilities("http://a/v1", "m") == {"mode": "text"}
    assert database.find_capabilities("http://a/v1", "n") is None
