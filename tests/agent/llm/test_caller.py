"""What an endpoint can do wrong, each against a real HTTP server; nothing of it is an exception."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.llm.attempt import EndpointAttempt
from agent.llm.caller import Caller
from agent.llm.capabilities import Capabilities
from agent.llm.ledger import Ledger
from agent.llm.settings import Limits, Secret, Settings
from db import Database, ModelSpending
from tests.agent.llm.endpoint import (
    Endpoint,
    Response,
    drizzle,
    endless,
    half,
    raw,
    reset,
    says,
    serving,
    silent,
    status,
    trickle,
)

KEY = "sk-very-secret-0123456789"
REQUEST = {
    "model": "m",
    "messages": [{"role": "user", "content": "hello"}],
    "max_output_tokens": 50,
    "temperature": 0.5,
}


class Clock:
    """A time that moves when someone sleeps, or by itself with every look at it."""

    def __init__(self, step: float = 0.0) -> None:
        self.now = 0.0
        self.step = step
        self.slept: list[float] = []

    def __call__(self) -> float:
        self.now += self.step
        return self.now

    def sleep(self, stop: Callable[[], bool], seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


class Asked:
    """A caller at an endpoint, and everything around it that a test looks at."""

    def __init__(self, database: Database, endpoint: Endpoint, clock: Clock, **options: Any) -> None:
        self.stop: Callable[[], bool] = options.pop("stop", lambda: False)
        capabilities = options.pop("capabilities", Capabilities())
        options.setdefault("stream", True)
        self.settings = Settings("m", endpoint.url, Secret(KEY), **options)
        self.database = database
        self.clock = clock
        self.remembered: list[Capabilities] = []
        self.caller = Caller(
            self.settings, Ledger(database, "s", self.settings), EndpointAttempt(self.settings, clock),
            capabilities=capabilities, remember=self.remembered.append, stop=lambda: self.stop(),
            clock=clock, sleep=clock.sleep,
        )  # fmt: skip

    def __call__(self, mode: str = "tools", **more: Any) -> Any:
        return self.caller.exchange(REQUEST | more, mode)

    @property
    def spent(self) -> ModelSpending:
        return self.database.model_spending(search_id="s")


@contextmanager
def asking(
    tmp_path: Path, *script: Response, step: float = 0.0, **options: Any
) -> Iterator[tuple[Asked, Endpoint]]:
    with Database.open(tmp_path / "a.sqlite") as database, serving(*script) as endpoint:
        yield Asked(database, endpoint, Clock(step), **options), endpoint


@pytest.mark.parametrize("stream", [True, False])
def test_an_answer(tmp_path: Path, stream: bool) -> None:
    tools: Any = ("apply", {"a": 1}), ("other", {"b": "c"})
    with asking(tmp_path, says("hello", *tools, reasoning_content="hm"), stream=stream) as (ask, endpoint):
        answer = ask()
        assert answer["outcome"] == "answered"
        reply = answer["reply"]
        assert reply["text"] == "hello"
        assert [(c["name"], c["arguments"]) for c in reply["calls"]] == [
            ("apply", '{"a": 1}'),
            ("other", '{"b": "c"}'),
        ]
        assert "hm" not in str(answer)
        spent = ask.spent
        assert (spent.calls, spent.prompt_tokens, spent.output_tokens, spent.reasoning_tokens) == (
            1,
            100,
            20,
            7,
        )
        assert endpoint.requests[0].get("stream", False) is stream
        assert endpoint.headers[0]["authorization"] == f"Bearer {KEY}"


PASSING: dict[str, Response] = {
    "busy": status(429),
    "server error": status(500),
    "bad gateway": status(502, "<html>bad gateway</html>"),
    "reset": reset,
    "half an answer": half,
    "no choices": raw('{"choices": []}'),
    "half a text": raw('{"choices": [{"message": '),
}


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("name", PASSING)
def test_what_may_be_gone_is_tried_again(tmp_path: Path, name: str, stream: bool) -> None:
    """Also openevolve #427: status 200 without choices was an index out of range, in every round."""
    with asking(tmp_path, PASSING[name], PASSING[name], says("well"), stream=stream) as (ask, endpoint):
        assert ask()["outcome"] == "answered"
        assert len(endpoint.requests) == 3
        assert ask.clock.slept == [1.0, 2.0]
        assert ask.spent.calls == 3


def test_an_empty_stream_is_tried_again(tmp_path: Path) -> None:
    with asking(tmp_path, raw("data: [DONE]\n\n", "text/event-stream"), says("well")) as (ask, _):
        assert ask()["outcome"] == "answered"


@pytest.mark.parametrize(
    ("header", "waited"),
    [({"retry_after": "7"}, 7.0), ({"retry_after_ms": "250"}, 0.25), ({"retry_after": "soon"}, 1.0)],
)
def test_a_server_may_say_how_long_to_wait(tmp_path: Path, header: dict[str, str], waited: float) -> None:
    with asking(tmp_path, status(429, "slow down", **header), says("well")) as (ask, _):
        assert ask()["outcome"] == "answered"
        assert ask.clock.slept == [waited]


def test_nobody_waits_beyond_the_end_of_an_exchange(tmp_path: Path) -> None:
    with asking(tmp_path, status(429, retry_after="100000")) as (ask, endpoint):
        assert ask()["outcome"] == "busy"
        assert ask.clock.slept == []
    with asking(tmp_path, status(503), attempts=3) as (ask, endpoint):
        assert ask()["outcome"] == "server"
        assert len(endpoint.requests) == 3
        assert ask.spent.output_tokens == 0


LASTING: dict[str, tuple[Response, str]] = {
    "bad key": (status(401, f"Incorrect API key provided: {KEY}"), "wrong_key"),
    "forbidden": (status(403), "wrong_key"),
    "wrong model": (status(404, "The model m does not exist"), "no_such_model"),
    "html": (raw("<html><body>Welcome</body></html>", "text/html"), "not_an_endpoint"),
    "other json": (raw('{"hello": "world"}'), "not_an_endpoint"),
    "endless": (endless, "too_long"),
}


@pytest.mark.parametrize("name", LASTING)
def test_what_will_not_pass_is_not_tried_again(tmp_path: Path, name: str) -> None:
    trouble, kind = LASTING[name]
    with asking(tmp_path, trouble) as (ask, endpoint):
        answer = ask()
        assert answer["outcome"] == kind
        assert len(endpoint.requests) == 1
        assert KEY not in str(answer)


def test_a_compressed_answer_is_refused(tmp_path: Path) -> None:
    with asking(tmp_path, raw("{}", content_encoding="gzip")) as (ask, endpoint):
        assert ask()["outcome"] == "too_long"
        assert endpoint.headers[0]["accept-encoding"] == "identity"


def test_a_redirect_is_not_followed(tmp_path: Path) -> None:
    with serving(says("other")) as other:
        moved = status(307, location=f"{other.url}/chat/completions")
        with asking(tmp_path, moved) as (ask, _):
            assert ask()["outcome"] in ("unsupported", "refused")
        assert other.requests == []


def test_an_endpoint_that_streams_nothing_is_read_whole(tmp_path: Path) -> None:
    def whole(handler: Any, body: Any) -> None:
        says("well")(handler, {})

    with asking(tmp_path, whole) as (ask, _):
        assert ask()["reply"]["text"] == "well"


def test_silence_ends_by_the_clock(tmp_path: Path) -> None:
    with asking(tmp_path, silent, step=20.0, attempts=1) as (ask, _):
        assert ask()["outcome"] == "timeout"
        assert ask.spent.output_tokens == 50


@pytest.mark.parametrize("trouble", [silent, trickle, drizzle])
def test_a_stop_takes_effect_within_a_second(tmp_path: Path, trouble: Response) -> None:
    with asking(tmp_path, trouble) as (ask, endpoint):
        ask.stop = lambda: bool(endpoint.requests)
        started = time.monotonic()
        assert ask()["outcome"] == "stopped"
        assert time.monotonic() - started < 5.0  # a second, and what a busy machine adds


def test_refused_parameters_are_left_out_and_that_is_remembered(tmp_path: Path) -> None:
    script = (
        status(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
        status(400, "Unsupported value: 'temperature' does not support 0.5"),
        status(400, "unknown field stream_options"),
        says("well"),
    )
    with asking(tmp_path, *script) as (ask, endpoint):
        assert ask()["outcome"] == "answered"
        expected = Capabilities(output_limit="max_completion_tokens", temperature=False, usage=False)
        assert ask.remembered[-1] == expected
        last = endpoint.requests[-1]
        assert last["max_completion_tokens"] == 50
        assert not {"max_tokens", "temperature", "stream_options"} & set(last)


@pytest.mark.parametrize(
    ("mode", "code", "message", "outcome"),
    [
        ("tools", 400, "m does not support tools", "unsupported"),
        ("tools", 404, "No endpoints found that support tool use", "unsupported"),
        ("schema", 400, "Invalid parameter: response_format of type json_schema", "unsupported"),
        ("tools", 400, "no", "unsupported"),
        ("text", 400, "no", "refused"),
    ],
)
def test_a_refused_mode_is_told(tmp_path: Path, mode: str, code: int, message: str, outcome: str) -> None:
    with asking(tmp_path, status(code, message)) as (ask, endpoint):
        assert ask(mode)["outcome"] == outcome
        assert len(endpoint.requests) == 1


def test_the_key_is_covered_wherever_an_endpoint_repeats_it(tmp_path: Path) -> None:
    def echo(handler: Any, body: Any) -> None:
        key = handler.headers["authorization"].split()[-1]
        says(f"your key is {key}", ("note", {"text": key}))(handler, body)

    with asking(tmp_path, echo) as (ask, _):
        answer = ask()
        assert KEY not in str(answer)
        assert "your key is [key]" in answer["reply"]["text"]
        assert KEY not in repr(ask.settings)
        assert KEY not in str(ask.settings.public())
    assert KEY.encode() not in (tmp_path / "a.sqlite").read_bytes()


def test_without_usage_a_call_counts_at_its_worst(tmp_path: Path) -> None:
    with asking(tmp_path, says("a", usage=None), says("b", usage={"prompt_tokens": -5})) as (ask, _):
        ask()
        first = ask.spent
        assert first.prompt_tokens >= len("hello")
        assert first.output_tokens == 50
        ask()
        assert ask.spent.prompt_tokens == 2 * first.prompt_tokens


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        (Limits(tokens=150), "tokens of this search"),
        (Limits(calls=0), "calls of this search"),
        (Limits(cost=1e-7), "dollars of this search"),
        (Limits(seconds=0), "seconds of this search"),
        (Limits(day_tokens=150), "tokens of this day"),
        (Limits(day_calls=0), "calls of this day"),
        (Limits(day_cost=1e-7), "dollars of this day"),
    ],
)
def test_a_budget_is_enforced_before_a_call(tmp_path: Path, limits: Limits, told: str) -> None:
    from agent.llm.prices import Price

    with asking(tmp_path, says("a"), limits=limits, price=Price(1.0, 1.0, "test")) as (ask, endpoint):
        answer = ask()
        assert answer["outcome"] == "budget"
        assert told in answer["message"]
        assert endpoint.requests == []


def test_a_budget_counts_what_was_really_used(tmp_path: Path) -> None:
    with asking(tmp_path, says("a"), limits=Limits(tokens=600)) as (ask, endpoint):
        outcomes = [ask()["outcome"] for _ in range(6)]
        used = [o for o in outcomes if o == "answered"]
        assert outcomes == used + ["budget"] * (6 - len(used))
        assert len(used) == len(endpoint.requests) >= 2
        assert ask.spent.prompt_tokens + ask.spent.output_tokens <= 600


def test_the_day_is_shared_by_all_searches(tmp_path: Path) -> None:
    with asking(tmp_path, says("a"), limits=Limits(day_calls=2)) as (ask, _):
        assert ask()["outcome"] == "answered"
        other = Ledger(ask.database, "other", ask.settings)
        assert other.begin(REQUEST)[2] == ""
        assert "day" in other.begin(REQUEST)[2]
        assert ask()["outcome"] == "budget"


def test_a_broken_capability_falls_back(tmp_path: Path) -> None:
    assert Capabilities.from_json({"mode": "telepathy", "more": 1}) == Capabilities()
    assert Capabilities.from_json(replace(Capabilities(), mode="text").to_json()).mode == "text"
