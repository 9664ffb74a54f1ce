"""`seis compare`: its document, its tables, and what it refuses before any work."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Seis = Callable[..., Any]
SMALL = ("--devices", "h100", "--contexts", "8k,64k", "--counts", "8", "--workers", "1")


def test_document(seis: Seis, tmp_path: Path) -> None:
    plot, table = tmp_path / "a.svg", tmp_path / "a.csv"
    found = seis("compare", "deepseek-v4-f", "llama-3.1-70b", *SMALL, "--json",
                 "--plot", str(plot), "--output", str(table)).document  # fmt: skip
    assert set(found) == {
        "results", "ratios", "smallest_ratio", "largest_ratio", "setting", "clock", "kv", "counts", "points",
        "seconds",
    }  # fmt: skip
    assert [(r["model"], r["context"]) for r in found["results"]] == [
        (m, c) for m in ("deepseek-v4-flash", "llama-3.1-70b") for c in (8192, 65536)
    ]
    first = found["results"][0]
    assert first["peak_tokens_per_second_per_gpu"] == max(
        p["tokens_per_second_per_gpu"] for p in first["frontier"]
    )
    assert found["largest_ratio"] == found["ratios"][0]
    assert found["smallest_ratio"] == found["ratios"][-1]
    assert "llama-3.1-70b" in plot.read_text()
    assert len(table.read_text().splitlines()) == 5


def test_tables_fit_the_terminal(seis: Seis) -> None:
    ran = seis("compare", "deepseek-v4-f", "llama-3.1-70b", *SMALL)
    assert ran.code == 0
    assert max(map(len, ran.out.splitlines())) <= 80
    assert "times the peak of" in ran.out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--contexts", "8q"), "whole numbers"),
        (("--counts", "0"), "whole numbers"),
        (("--output", "a.xlsx"), "must name a file that ends in"),
        (("--plot", "a.png"), "--plot"),
        (("--devices", "nosuch"), "nosuch"),
    ],
)
def test_refused_at_once(seis: Seis, options: tuple[str, str], words: str) -> None:
    ran = seis("compare", "llama-3.1-70b", *options)
    assert ran.code == 2
    assert words in ran.err
    assert "Traceback" not in ran.err
