"""What people read: 80 columns, and the same as before where figures are settled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from seis.cli import units

Seis = Callable[..., Any]

MODELS = (
    "model                        total  active   KV @4k    @128k  FLOP @4k   @128k",
    "deepseek-v3                  671 B  36.6 B  35.1 kB  35.1 kB     143 G  2.30 T",
    "deepseek-v4-pro             1.57 T  48.9 B  6.14 kB  5.07 kB     109 G   132 G",
    "gpt-oss-120b                 117 B  5.13 B  19.0 kB  18.4 kB    11.5 G  49.0 G",
    "nemotron-3-ultra-550b-a55b   549 B  55.0 B  6.14 kB  6.14 kB     112 G   162 G",
)

DEVICES = (
    "device            BF16     FP8     FP4     GB    TB/s    scale-up   out   $/h",
    "b200-sxm         2,250   4,500   9,000    193       8      900 x8    50  4.89",
    "b300-sxm         2,250   4,500  13,500    288       8      900 x8   100  6.99",
    "cerebras-wse3        –       –       –     44  21,000        – x1     –     –",
    "hgx-b300                   8  b300-sxm              900   100  switched",
)


def test_models(seis: Seis) -> None:
    lines = seis("models").out.splitlines()
    assert set(MODELS) <= set(lines)
    assert max(len(line) for line in lines) <= 80


def test_one_model_states_its_precision_and_what_is_inferred(seis: Seis) -> None:
    said = " ".join(seis("models", "kimi-k3").out.split())
    assert "published MXFP4 routed experts, BF16 for the rest" in said
    assert "experts mxfp4" in said
    assert "state 449 MB per sequence, at any context" in said
    assert "SiTU is written as SiLU" in said
    assert "Every token is taken to choose 8 experts" in " ".join(seis("models", "longcat").out.split())


def test_devices(seis: Seis) -> None:
    lines = seis("devices").out.splitlines()
    assert set(DEVICES) <= set(lines)
    assert max(len(line) for line in lines) <= 80


def test_one_device_says_what_is_not_known_and_what_is_reached(seis: Seis) -> None:
    said = " ".join(seis("devices", "mi455x").out.split())
    assert "memory bandwidth 23.3 TB/s" in said
    assert "or 19.6 TB/s (earlier AMD material" in said
    assert "FP4 matrix rate unknown: AMD states 40.3 PFLOP/s" in said
    assert "gemm flops BF16" in said
    assert "full mesh" in " ".join(seis("devices", "platform-mi355x").out.split())


@pytest.mark.parametrize(
    "arguments",
    [
        ("models",), ("devices",), ("devices", "b300"), ("devices", "mi355x"), ("evaluate",),
        ("models", "glm-5.2"), ("evaluate", "--pp", "2", "--mtp", "1", "--tp", "8"),
        ("evaluate", "llama-3.1-70b", "--clock", "limit"),
        ("evaluate", "llama-3.1-70b", "--count", "1", "--device", "h100"),
        ("baseline", "gpt-oss-120b", "--count", "8"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_80_columns(seis: Seis, arguments: tuple[str, ...]) -> None:
    ran = seis(*arguments)
    assert ran.code == 0, ran.err
    assert max(map(len, ran.out.splitlines())) <= 80
    assert "[/" not in ran.out


def test_evaluate_leads_with_the_answer(seis: Seis) -> None:
    lines = seis("evaluate", "llama-3.1-70b", "--count", "8", "--tp", "8", "--batch", "64").out.splitlines()
    assert lines[0] == "llama-3.1-70b on 8 x b300-sxm: tp 8"
    assert lines[1] == "64 sequences of 8,192 tokens in flight, overlapped clock, achievable rates"
    assert lines[3].startswith("tokens/s/user  ")
    assert lines[4].startswith("tokens/s/GPU   ")


def test_what_does_not_fit_says_what_would(seis: Seis) -> None:
    weights = seis("evaluate", "llama-3.1-70b", "--device", "h100", "--count", "8", "--dp", "8").out
    assert "no; the weights alone are too large" in weights
    cache = seis("evaluate", "llama-3.1-70b", "--device", "b300", "--count", "1", "--batch", "4096").out
    assert "sequences would; lower --batch" in cache


def test_numbers_for_people() -> None:
    assert [units.number(v) for v in (19624.0, 162.4, 43.21, 4.346, 0.01234, 8.0)] == [
        "19,624", "162", "43.2", "4.35", "0.0123", "8"
    ]  # fmt: skip
    assert [units.seconds(v) for v in (1.5, 0.00435, 8.12e-4)] == ["1.50 s", "4.35 ms", "812 µs"]
    assert [units.size(v) for v in (4.15e10, 1.87e7, 512.0)] == ["41.5 GB", "18.7 MB", "512 B"]
    assert units.percent(0.1234) == "+12.3 %"
    assert [units.share(v) for v in (0.001, 0.123)] == ["<1 %", "12 %"]
    assert [units.column(v) for v in (0.0, 0.0001, 0.123, 12.0)] == ["–", "<.001", "0.123", "12"]


def test_one_is_not_many(seis: Seis) -> None:
    assert (
        "\n1 sequence of 128 tokens"
        in seis(
            "evaluate", "llama-3.1-8b", "--device", "h100", "--count", "1", "--batch", "1", "--context", "128"
        ).out
    )
