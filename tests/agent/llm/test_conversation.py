"""What a model can do wrong, each over a real HTTP server; a conversation ends and never raises."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agent.llm.attempt import EndpointAttempt
from agent.llm.caller import Caller
from agent.llm.capabilities import MODES, Capabilities
from agent.llm.conversation import Conversation, End, Frame
from agent.llm.ledger import Ledger
from agent.llm.outside import LiveRecord, Outside
from agent.llm.settings import Limits, Settings
from agent.llm.toolkit import EDITS, TEXT, Tool
from db import Database
from tests.agent.llm.endpoint import Endpoint, Json, Response, says, serving, status
from tests.db.samples import new_search

FENCED = 'I think this is best:\n```json\n{"tool": "add", "arguments": {"text": "a"}}\n```\nDone.'
THOUGHT = (
    '<think>{"tool": "add", "arguments": {"text": "no"}}</think>{"action": {"tool": "add", "text": "a"}}'
)


class Talk:
    """A conversation with two tools, and what they were given."""

    def __init__(self, database: Database, endpoint: Endpoint, search_id: str) -> None:
        self.added: list[str] = []
        self.remembered: list[Capabilities] = []
        self.over = False
        settings = Settings("m", endpoint.url, limits=Limits(tokens=None, calls=40))
        caller = Caller(
            settings, Ledger(database, search_id, settings), EndpointAttempt(settings),
            capabilities=Capabilities(), remember=self.remembered.append, stop=lambda: False,
            sleep=lambda stop, seconds: None,
        )  # fmt: skip
        self.outside = Outside(LiveRecord(database, search_id), caller, None, self.remembered.append)
        self.tools = (
            Tool("add", "Adds.", {"text": TEXT}, self._add),
            Tool("edit", "Edits.", {"edits": EDITS}, lambda edits: len(edits)),
            Tool("finish", "Ends.", {}, self._finish),
        )

    def run(self, mode: str = "tools", turns: int = 6, context: int = 100_000) -> End:
        frame = Frame("m", None, 100, context, turns, 500)
        conversation = Conversation(self.outside, frame, self.tools, dict.fromkeys(MODES, "Act."), "Begin.")
        return conversation.run(mode, lambda: self.over)

    def _add(self, text: str) -> Json:
        self.added.append(text)
        return {"added": text * 1000}

    def _finish(self) -> None:
        self.over = True


@contextmanager
def talking(tmp_path: Path, *script: Response) -> Iterator[tuple[Talk, Endpoint]]:
    with Database.open(tmp_path / "a.sqlite") as database, serving(*script) as endpoint:
        yield Talk(database, endpoint, new_search(database).id), endpoint


END = says("", ("finish", {}))


def results(endpoint: Endpoint) -> list[str]:
    return [m["content"] for m in endpoint.requests[-1]["messages"] if m["role"] == "tool"]


def test_parallel_calls_are_all_done_and_answered_in_order(tmp_path: Path) -> None:
    with talking(tmp_path, says("", ("add", {"text": "a"}), ("add", {"text": "b"})), END) as (talk, endpoint):
        assert talk.run() == End("finished", "tools", "", 2)
        assert talk.added == ["a", "b"]
        said = endpoint.requests[-1]["messages"][2]
        answered = [m["tool_call_id"] for m in endpoint.requests[-1]["messages"] if m["role"] == "tool"]
        assert [c["id"] for c in said["tool_calls"]] == answered
        assert all(len(text) < 600 and "cut at 500" in text for text in results(endpoint))


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (("delete_everything", {}), "a tool must be one of add, edit, finish"),
        (("add", "{not json"), "one object of JSON"),
        (("add", "[1, 2]"), "one object of JSON"),
        (("add", {}), "needs the argument text"),
        (("add", {"text": {"a": 1}}), "must be a text"),
        (("edit", {"edits": "all"}), "must be a list"),
        (("edit", {"edits": [{"find": 1}]}), "must have the texts find and replace"),
        (("edit", "[" * 100_000), "one object of JSON"),
    ],
)
def test_a_wrong_call_is_told_to_the_model(tmp_path: Path, call: Any, told: str) -> None:
    with talking(tmp_path, says("", call), END) as (talk, endpoint):
        assert talk.run().reason == "finished"
        assert told in results(endpoint)[0]
        assert talk.added == []


def test_too_many_calls_at_once_are_not_done(tmp_path: Path) -> None:
    many = [("add", {"text": str(i)}) for i in range(40)]
    with talking(tmp_path, says("", *many), END) as (talk, endpoint):
        talk.run()
        assert len(talk.added) == 8
        assert "at most 8" in results(endpoint)[-1]


def test_a_loop_of_tools_has_an_end(tmp_path: Path) -> None:
    with talking(tmp_path, says("", ("add", {"text": "a"}))) as (talk, endpoint):
        assert talk.run(turns=5).reason == "turns"
        assert len(endpoint.requests) == 5


def test_a_conversation_stays_within_the_context(tmp_path: Path) -> None:
    with talking(tmp_path, says("", ("add", {"text": "a"}))) as (talk, _):
        assert talk.run(turns=50, context=2000).reason == "context"


@pytest.mark.parametrize(
    "text",
    [FENCED, THOUGHT, '{"action": "add", "text": "a"}', '{"name": "add", "parameters": {"text": "a"}}'],
)
@pytest.mark.parametrize("mode", MODES)
def test_an_action_in_text_is_understood(tmp_path: Path, text: str, mode: str) -> None:
    with talking(tmp_path, says(text), END) as (talk, _):
        assert talk.run(mode).reason == "finished"
        assert talk.added == ["a"]


@pytest.mark.parametrize(
    "answer",
    [
        says(""),
        says("I cannot help."),
        says("", refusal="no"),
        says('{"tool": "add", "argu', finish="length"),
    ],
)
def test_a_model_that_does_not_act_is_asked_in_other_ways_and_then_left(
    tmp_path: Path, answer: Response
) -> None:
    with talking(tmp_path, answer) as (talk, endpoint):
        end = talk.run(turns=30)
        assert (end.reason, end.mode) == ("mute", "text")
        assert len(endpoint.requests) == 9
        assert "tools" in endpoint.requests[0]
        assert "response_format" in endpoint.requests[4]
        assert not {"tools", "response_format"} & set(endpoint.requests[-1])


def test_an_answer_that_was_cut_off_is_told_so(tmp_path: Path) -> None:
    with talking(tmp_path, says('{"tool": "add"', finish="length"), END) as (talk, endpoint):
        assert talk.run().reason == "finished"
        assert "cut off" in endpoint.requests[-1]["messages"][-1]["content"]


def test_an_endpoint_without_tools_and_schema_is_asked_in_text_and_that_is_remembered(tmp_path: Path) -> None:
    script = (
        status(400, "m does not support tools"),
        status(400, "response_format is not supported"),
        says('{"tool": "finish", "arguments": {}}'),
    )
    with talking(tmp_path, *script) as (talk, endpoint):
        assert talk.run() == End("finished", "text", "", 1)
        assert [set(r) & {"tools", "response_format"} for r in endpoint.requests] == [
            {"tools"},
            {"response_format"},
            set(),
        ]
        assert talk.remembered[-1].mode == "text"


def test_a_round_done_again_asks_nothing_that_was_answered(tmp_path: Path) -> None:
    with Database.open(tmp_path / "a.sqlite") as database:
        search = new_search(database).id
        with serving(says("", ("add", {"text": "a"})), status(500)) as endpoint:
            first = Talk(database, endpoint, search)
            assert first.run().reason == "server"
        with serving(END) as endpoint:
            second = Talk(database, endpoint, search)
            assert second.run().reason == "finished"
            assert second.added == ["a"]
            assert len(endpoint.requests) == 1
        assert [e.number for e in database.list_exchanges(search)] == [0, 1]
