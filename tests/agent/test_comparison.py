"""Comparisons: the best over cluster sizes, ratios by device and context, and tables that read back."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow.parquet
import pytest

from agent.comparison import Asked, Comparison, compare, ratios, span, write_table
from agent.errors import ProblemError
from catalogue.devices import load_device
from catalogue.models import load_model
from evaluator.baseline import baselines
from evaluator.frontier import pareto
from evaluator.scenario import Scenario
from mutations.start import starting_designs

MODELS = ("deepseek-v4-flash", "llama-3.1-70b")
ASKED = Asked(MODELS, ("h100-sxm", "b300-sxm"), (8192, 65536), (1, 8))


@pytest.fixture(scope="module")
def found() -> Comparison:
    return compare(ASKED, workers=1)


def test_every_case_is_there_in_order(found: Comparison) -> None:
    assert [(r.model, r.device, r.context) for r in found.results] == [
        (m, d, c) for m in ASKED.models for d in ASKED.devices for c in ASKED.contexts
    ]


def test_the_peak_is_that_of_the_baseline(found: Comparison) -> None:
    structures = starting_designs(load_model("llama-3.1-70b"))
    device = load_device("b300-sxm")
    same = baselines(structures, device, ASKED.counts, Scenario(8192), setting="physical")
    best = max(p.tokens_per_second_per_gpu for b in same.values() for p in b.points)
    peak = found.at("llama-3.1-70b", "b300-sxm", 8192).peak
    assert peak is not None
    assert peak.tokens_per_second_per_gpu == best


def test_frontiers_hold_nothing_that_is_beaten(found: Comparison) -> None:
    import numpy as np

    for result in found.results:
        user = np.array([p.tokens_per_second_per_user for p in result.frontier])
        gpu = np.array([p.tokens_per_second_per_gpu for p in result.frontier])
        assert len(pareto(user, gpu)) == len(result.frontier) == len(result.counts)


def test_longer_contexts_are_slower(found: Comparison) -> None:
    for model in ASKED.models:
        for device in ASKED.devices:
            short, long = (found.at(model, device, c).peak for c in ASKED.contexts)
            assert short is not None
            assert long is not None
            assert short.tokens_per_second_per_gpu >= long.tokens_per_second_per_gpu


def test_what_does_not_fit_has_a_reason() -> None:
    result = compare(Asked(("llama-3.1-70b",), ("h100-sxm",), (8192,), (1,)), workers=1).results[0]
    assert result.peak is None
    assert "must fit on 1 devices" in result.reason


def test_ratios_compare_like_with_like(found: Comparison) -> None:
    pairs = ratios(found, ["deepseek-v4-flash"])
    assert {(p.device, p.context) for p in pairs} == {(d, c) for d in ASKED.devices for c in ASKED.contexts}
    for pair in pairs:
        ours, theirs = (found.at(m, pair.device, pair.context).peak for m in (pair.reference, pair.other))
        assert ours is not None
        assert theirs is not None
        assert pair.times == ours.tokens_per_second_per_gpu / theirs.tokens_per_second_per_gpu
    ends = span(pairs)
    assert ends is not None
    assert ends[0].times == min(p.times for p in pairs)
    assert ends[1].times == max(p.times for p in pairs)
    assert span(ratios(found, [])) is None


def test_processes_find_the_same(found: Comparison) -> None:
    assert compare(ASKED, workers=2) == found


def test_tables_read_back(found: Comparison, tmp_path: Path) -> None:
    rows = [r.row() for r in found.results]
    for suffix in (".csv", ".json", ".parquet"):
        write_table(found, tmp_path / f"table{suffix}")
    assert json.loads((tmp_path / "table.json").read_text()) == rows
    assert pyarrow.parquet.read_table(tmp_path / "table.parquet").to_pylist() == rows
    with (tmp_path / "table.csv").open() as file:
        read = list(csv.DictReader(file))
    assert [float(r["peak_tokens_per_second_per_gpu"]) for r in read] == [
        r["peak_tokens_per_second_per_gpu"] for r in rows
    ]
    with pytest.raises(ProblemError, match=r"must end in \.csv"):
        write_table(found, tmp_path / "table.xlsx")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"models": ()}, "must have models"),
        ({"contexts": (0,)}, "at least 1"),
        ({"counts": (8, 8)}, "differ"),
    ],
)
def test_nonsense_is_refused(change: dict[str, tuple[int, ...]], words: str) -> None:
    whole = {"models": MODELS, "devices": ("h100-sxm",), "contexts": (8192,), **change}
    with pytest.raises(ProblemError, match=words):
        Asked(**whole)  # type: ignore[arg-type]
