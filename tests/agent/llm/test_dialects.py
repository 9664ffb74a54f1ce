"""Endpoints as they speak the protocol in their own ways; each says the same, and is understood alike."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agent.llm.endpoint import Handler, Json, Response, raw, says, status
from tests.agent.llm.test_caller import asking

WANTED = [("add", {"text": "a"}), ("finish", {})]
TOKENS = {"prompt_tokens": 30, "completion_tokens": 12}


def lines(*chunks: Json, end: str = "\n\n", between: str = "", usage: Any = TOKENS) -> Response:
    """A stream, with its usage in a chunk of its own at the end."""
    sent = [*chunks, {"choices": [], "usage": usage}]
    text = between.join(f"data: {json.dumps({'id': 'x', 'object': 'chat.completion.chunk', **c})}{end}"
                        for c in sent)  # fmt: skip
    return raw(text + f"data: [DONE]{end}", "text/event-stream; charset=utf-8")


def chunk(delta: Json, finish: str | None = None, **more: Any) -> Json:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}


def call(name: str, arguments: Any, **more: Any) -> Json:
    return {"type": "function", "function": {"name": name, "arguments": arguments}, **more}


OPENAI = lines(
    chunk({"role": "assistant", "content": None, "refusal": None}, usage=None),
    chunk({"tool_calls": [call("add", "", index=0, id="c1")]}, usage=None),
    chunk({"tool_calls": [{"index": 0, "function": {"arguments": '{"text":'}}]}, usage=None),
    chunk({"tool_calls": [{"index": 0, "function": {"arguments": ' "a"}'}}]}, usage=None),
    chunk({"tool_calls": [call("finish", "{}", index=1, id="c2")]}, usage=None),
    chunk({}, "stop", usage=None),
    usage={**TOKENS, "completion_tokens_details": {"reasoning_tokens": 8}},
)
VLLM = lines(
    chunk({"role": "assistant", "content": ""}),
    chunk({"reasoning_content": "hm"}),
    chunk({"reasoning": "hm", "reasoning_content": "hm"}),
    chunk({"tool_calls": [call("add", None, index=0, id="chatcmpl-tool-1")]}),
    chunk({"tool_calls": [{"index": 0, "function": {"arguments": '{"text": "a"}'}}]}),
    chunk({"tool_calls": [call("finish", "{}", index=1, id="chatcmpl-tool-2")]}),
    chunk({"content": ""}, "tool_calls", stop_reason=None),
)
SGLANG = lines(
    chunk({"role": "assistant", "content": None, "reasoning_content": None, "tool_calls": None}),
    chunk({"role": None, "tool_calls": [call("add", '{"text": "a"}', index=0, id="call_a")]}),
    chunk({"role": None, "tool_calls": [call("finish", "", index=1, id="call_b")]}),
    chunk({"content": None, "tool_calls": None}, "tool_calls", matched_stop=None),
)
OLLAMA = lines(  # every call has index 0, in a chunk of its own, and the stream ends with stop
    chunk({"role": "assistant", "content": "", "tool_calls": [call("add", '{"text":"a"}', index=0, id="1")]}),
    chunk({"role": "assistant", "content": "", "tool_calls": [call("finish", {}, index=0, id="2")]}),
    chunk({"role": "assistant", "content": ""}, "stop"),
)
NO_INDEX = lines(
    chunk({"role": "", "content": None, "tool_calls": [call("add", {"text": "a"}, id="a1")]}),
    chunk({"tool_calls": [call("finish", {}, id="a2")]}),
    chunk({}, "tool_calls"),
)
LLAMA_CPP = lines(
    chunk({"role": "assistant", "content": None}),
    chunk({"reasoning_content": "hm"}, timings={"predicted_n": 1}),
    chunk({"tool_calls": [call("add", "{", index=0, id="r4nd0m")]}),
    chunk({"tool_calls": [{"index": 0, "function": {"arguments": '"text":"a"}'}}]}),
    chunk({"tool_calls": [call("finish", "{}", index=1, id="r4nd0n")]}),
    chunk({}, "tool_calls"),
    end="\r\n\r\n",
    between=": keep-alive\r\n\r\n",
)


def whole(*calls: Json, content: Any = None, **more: Any) -> Response:
    message = {"role": "assistant", "content": content, "tool_calls": list(calls), **more}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return raw(json.dumps({"id": "x", "choices": [choice], "usage": TOKENS}))


STREAMS = {
    "OpenAI": OPENAI, "vLLM": VLLM, "SGLang": SGLANG, "Ollama": OLLAMA, "no index": NO_INDEX,
    "llama.cpp": LLAMA_CPP,
    "not streamed": whole(call("add", {"text": "a"}, id="1"), call("finish", "{}", id="2"), reasoning="hm"),
    "no ids": whole(call("add", '{"text": "a"}'), call("finish", None), content=""),
}  # fmt: skip


@pytest.mark.parametrize("name", STREAMS)
def test_calls_of_tools_are_understood(tmp_path: Path, name: str) -> None:
    with asking(tmp_path, STREAMS[name]) as (ask, _):
        answer = ask()
        assert answer["outcome"] == "answered", answer
        calls = answer["reply"]["calls"]
        assert [(c["name"], json.loads(c["arguments"] or "{}")) for c in calls] == WANTED
        assert len({c["id"] for c in calls}) == 2
        assert answer["reply"]["text"] == ""
        spent = ask.spent
        assert (spent.calls, spent.prompt_tokens, spent.output_tokens) == (1, 30, 12)
        assert spent.reasoning_tokens == (8 if name == "OpenAI" else 0)


@pytest.mark.parametrize(
    "content",
    [[{"type": "text", "text": "he"}, {"type": "text", "text": "llo"}], "hello"],
)
def test_content_may_come_in_parts(tmp_path: Path, content: Any) -> None:
    with asking(tmp_path, whole(content=content)) as (ask, _):
        assert ask()["reply"]["text"] == "hello"


def test_reasoning_alone_is_an_answer_without_text(tmp_path: Path) -> None:
    """A reasoning model may use up its answer by thinking."""
    stream = lines(chunk({"reasoning_content": "hm " * 100}), chunk({}, "length"))
    with asking(tmp_path, stream) as (ask, _):
        reply = ask()["reply"]
        assert (reply["text"], reply["finish"]) == ("", "length")


def test_an_error_in_a_stream_is_tried_again(tmp_path: Path) -> None:
    error = raw('data: {"error": {"message": "CUDA out of memory", "code": 500}}\n\n', "text/event-stream")
    with asking(tmp_path, error, says("well")) as (ask, endpoint):
        assert ask()["outcome"] == "answered"
        assert len(endpoint.requests) == 2


REFUSALS: dict[str, tuple[str, Callable[[], Response]]] = {
    "vLLM": ("tools", lambda: status(
        400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set')),
    "Ollama": ("tools", lambda: status(400, "registry.ollama.ai/library/gemma does not support tools")),
    "llama.cpp": ("tools", lambda: status(500, "tools param requires --jinja flag")),
    "SGLang": ("tools", lambda: plain(400, {"object": "error", "message": "tool call parser is not set"})),
    "llama.cpp, schema": ("schema", lambda: status(500, "failed to parse grammar")),
    "vLLM, schema": ("schema", lambda: status(400, "Grammar error: Unsupported json_schema")),
}  # fmt: skip


def plain(code: int, content: Json) -> Response:
    def respond(handler: Handler, body: Json) -> None:
        handler.send(code, json.dumps(content).encode())

    return respond


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refused_way_of_acting_is_seen_at_once(tmp_path: Path, name: str) -> None:
    """llama.cpp #9522, #10732, #11847: a schema was refused, or made a status of 500."""
    mode, trouble = REFUSALS[name]
    with asking(tmp_path, trouble()) as (ask, endpoint):
        assert ask(mode)["outcome"] == "unsupported"
        assert len(endpoint.requests) == 1


def test_a_server_that_knows_no_model_of_that_name(tmp_path: Path) -> None:
    said = plain(404, {"error": {"message": 'model "m" not found, try pulling it first'}})
    with asking(tmp_path, said) as (ask, _):
        answer = ask()
        assert answer["outcome"] == "no_such_model"
        assert "try pulling it" in answer["message"]
