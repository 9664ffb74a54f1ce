"""`seis search --llm` and `seis replay`: what is spent is shown, and the key is nowhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.agent.llm.endpoint import says, serving, status

Seis = Callable[..., Any]
SEARCH = ("search", "llama-3.1-70b", "--count", "8", "--structures", "44", "--workers", "1", "--llm")
KEY = "sk-very-secret-0123456789"


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BASE_URL", "MODEL", "PRICES", "DAY_TOKENS", "DAY_COST", "DAY_CALLS", "STREAM"):
        monkeypatch.delenv(f"SEIS_LLM_{name}", raising=False)
    monkeypatch.setenv("SEIS_LLM_API_KEY", KEY)


def test_what_was_spent_is_shown_and_a_replay_is_the_same(seis: Seis) -> None:
    with serving(says("", ("finish", {}))) as endpoint:
        options = ("--llm-model", "small", "--llm-base-url", endpoint.url, "--max-calls", "5")
        spent = seis(*SEARCH, *options, "--json").document["llm"]
        assert spent["calls"] == len(endpoint.requests) > 0
        assert (spent["prompt_tokens"], spent["dollars"]) == (100 * spent["calls"], 0.0)
        assert (spent["model"], spent["proposed"], spent["unanswered"]) == ("small", 0, {})
    again = seis("replay", "--workers", "1", "--json").document
    assert (again["identical"], again["candidates"]) == (True, 44)
    assert KEY not in str(spent)


def test_an_endpoint_that_does_not_answer_is_told(seis: Seis) -> None:
    with serving(status(401, f"no such key {KEY}")) as endpoint:
        ran = seis(*SEARCH, "--llm-model", "small", "--llm-base-url", endpoint.url)
    assert ran.code == 0
    assert "not answered (wrong_key)" in ran.out
    assert KEY not in ran.out + ran.err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--llm",), "must be named"),
        (("--max-calls", "5"), "needs --llm"),
        (("--llm", "--llm-model", "m", "--llm-base-url", "ftp://x"), "must begin with http"),
        (("--llm", "--llm-model", "m", "--llm-base-url", f"https://me:{KEY}@x/v1"), "no user, password"),
        (("--llm", "--llm-model", "unheard-of", "--max-cost", "1"), "needs the price"),
        (("--llm", "--llm-model", "m", "--max-tokens", "-1"), "at least 0"),
    ],
)
def test_options_that_cannot_be_used(seis: Seis, options: tuple[str, ...], told: str) -> None:
    ran = seis("search", "llama-3.1-70b", *options)
    assert ran.code == 2
    assert told in ran.err
    assert KEY not in ran.err
