"""`seis service` and prefill at the command line: documents, tables of 80 columns, errors in one sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Seis = Callable[..., Any]

DOCUMENT = {
    "feasible", "best", "nearest", "frontier", "unavailable", "isl", "osl", "model", "device", "count",
    "hit_rate", "mode", "mtp", "chunk", "routing", "max_ttft_seconds", "max_tpot_seconds", "clock",
    "setting", "points", "fitting", "seconds",
}  # fmt: skip
WAY = {
    "mode", "ttft_seconds", "transfer_seconds", "tpot_seconds", "latency_seconds",
    "tokens_per_second_per_user", "output_tokens_per_second_per_gpu", "total_tokens_per_second_per_gpu",
    "requests_per_second", "dollars_per_million_output_tokens", "limiting", "decode", "prefill",
}  # fmt: skip
ROLE = {"structure", "design", "configuration", "replicas", "devices", "batch", "seconds", "binding"}
GPT = ("service", "gpt-oss-120b", "--count", "4", "--isl", "2048", "--osl", "256")


def test_service(seis: Seis) -> None:
    found = seis(*GPT, "--json").document
    assert set(found) == DOCUMENT
    assert found["feasible"] is True
    assert found["nearest"] is None
    best = found["best"]
    assert set(best) == WAY
    assert set(best["decode"]) == ROLE
    assert best["output_tokens_per_second_per_gpu"] == max(
        w["output_tokens_per_second_per_gpu"] for w in found["frontier"]
    )
    assert best["tokens_per_second_per_user"] == pytest.approx(1 / best["tpot_seconds"])
    assert best["latency_seconds"] == pytest.approx(best["ttft_seconds"] + 255 * best["tpot_seconds"])
    assert best["requests_per_second"] == pytest.approx(best["output_tokens_per_second_per_gpu"] * 4 / 256)
    dollars = found["best"]["dollars_per_million_output_tokens"]
    assert dollars == pytest.approx(6.99 / 3600 / best["output_tokens_per_second_per_gpu"] * 1e6)


def test_a_mode_and_limits(seis: Seis) -> None:
    asked = ("--mode", "disaggregated", "--max-ttft", "0.2", "--max-tpot", "0.01", "--hit-rate", "0.5")
    best = seis(*GPT, *asked, "--json").document["best"]
    assert best["mode"] == "disaggregated"
    assert best["ttft_seconds"] <= 0.2
    assert best["tpot_seconds"] <= 0.01
    assert set(best["prefill"]) == ROLE
    used = sum(best[r]["replicas"] * best[r]["devices"] for r in ("prefill", "decode"))
    assert used <= 4


def test_what_cannot_be_met_is_said_and_never_relaxed(seis: Seis) -> None:
    ran = seis(*GPT, "--max-ttft", "0.000001", "--json")
    assert ran.code == 0
    found = ran.document
    assert found["feasible"] is False
    assert found["best"] is None
    assert found["frontier"] == []
    assert found["nearest"]["ttft_seconds"] > 0.000001
    text = seis(*GPT, "--max-ttft", "0.000001").out
    assert "infeasible: no way meets a TTFT of 1 µs" in text


def test_lengths_as_ranges_and_lists(seis: Seis) -> None:
    found = seis(*GPT[:4], "--isl", "1000-3000", "--osl", "100:3,300:1", "--json").document
    assert found["isl"] == pytest.approx(2000)
    assert found["osl"] == pytest.approx(150)


@pytest.mark.parametrize(
    "arguments",
    [
        GPT, (*GPT, "--max-tpot", "0.000001"), (*GPT, "--mode", "disaggregated", "--routing", "zipf:1"),
        ("evaluate", "gpt-oss-120b", "--count", "8", "--phase", "prefill"),
        ("service", "llama-3.1-70b", "--count", "1"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_80_columns(seis: Seis, arguments: tuple[str, ...]) -> None:
    ran = seis(*arguments)
    assert ran.code == 0, ran.err
    assert max(map(len, ran.out.splitlines())) <= 80
    assert "[/" not in ran.out


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        (("--isl", "many"), "scenario", "a length must be a whole number"),
        (("--hit-rate", "2"), "scenario", "a hit rate must be between 0 and 1, but got 2"),
        (("--max-ttft", "0"), "scenario", "a limit of TTFT must be more than 0 seconds"),
        (("--routing", "hot"), "scenario", "routing must be one of"),
        (("--mtp", "1"), "scenario", "must be 0 for a model without draft layers"),
        (("--chunk", "0"), "usage", "--chunk must be at least 1"),
        (("--count", "1", "--mode", "disaggregated"), "configuration", "at least 2 devices"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_unusable_input(seis: Seis, arguments: tuple[str, ...], kind: str, words: str) -> None:
    ran = seis("service", "gpt-oss-120b", "--count", "4", *arguments, "--json")
    assert ran.code == 2
    assert ran.error["kind"] == kind
    assert words in ran.error["message"]


def test_a_prefill_step(seis: Seis) -> None:
    arguments = ("evaluate", "gpt-oss-120b", "--count", "8", "--batch", "8", "--json")
    found = seis(*arguments, "--phase", "prefill", "--chunk", "1000").document
    assert found["phase"] == "prefill"
    assert found["queries"] == found["tokens_per_step"] == 1000
    step = found["step_seconds"]["overlapped"]
    assert found["tokens_per_second_per_gpu"] == pytest.approx(8 * 1000 / step / 8)
    assert seis(*arguments).document["phase"] == "decode"
    for wrong in (("--chunk", "10"), ("--phase", "prefill", "--chunk", "99999")):
        assert seis(*arguments, *wrong).error["kind"] == "usage"
