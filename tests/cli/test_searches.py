"""`verify`, `search`, `frontier` and `explain`: documents, exit codes and what is kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from catalogue.models import load_model
from rooflang.printer import print_design

Seis = Callable[..., Any]
POINT = {"tokens_per_second_per_user", "tokens_per_second_per_gpu", "batch", "configuration", "design"}


def test_verify_accepts_and_refuses(seis: Seis, tmp_path: Path) -> None:
    from seis.cli.placing import Degrees, place

    text = print_design(place(load_model("llama-3.1-70b"), Degrees(dp=2, tp=4), "b300-sxm", 1))
    (tmp_path / "a.roof").write_text(text, encoding="utf-8")
    (tmp_path / "b.roof").write_text(text.replace("x = x + m_out", "x = x + x"), encoding="utf-8")
    same = seis("verify", "llama-3.1-70b", "a.roof", "--json")
    assert same.code == 0
    assert set(same.document) == {"verdict", "reasons", "layers", "false_accept_bound", "milliseconds"}
    assert same.document["verdict"] == "accepted"
    other = seis("verify", "llama-3.1-70b", "b.roof", "--json")
    assert other.code == 1
    assert other.document["verdict"] == "refused"
    assert all(set(r) == {"code", "where", "message", "hint"} for r in other.document["reasons"])
    assert all(r["hint"] for r in other.document["reasons"])
    assert "refused" in seis("verify", "llama-3.1-70b", "b.roof").out


def test_search(searched: tuple[str, Any]) -> None:
    found = searched[1].document
    assert set(found) == {
        "baseline_frontier", "frontier", "simultaneous_gain", "hypervolume_gain", "best", "structures",
        "accepted", "refused", "failed", "points", "seconds", "stopped", "search", "gap_to_limit",
        "gap_to_relaxation", "quiet_structures", "stagnant",
    }  # fmt: skip
    assert found["structures"] == 40
    assert all(set(p) == POINT for p in [*found["baseline_frontier"], *found["frontier"]])
    if found["best"] is not None:
        assert {"design", "summary", "certificate"} <= set(found["best"])
        assert found["best"]["gain"] == pytest.approx(found["simultaneous_gain"])


def test_frontier(seis: Seis, searched: tuple[str, Any], tmp_path: Path) -> None:
    place, search = searched
    found = seis("frontier", "--database", place, "--plot", "f.svg", "--json").document
    assert set(found) == {
        "baseline_frontier", "frontier", "simultaneous_gain", "hypervolume_gain", "search", "state", "model",
        "device", "count", "context", "clock", "setting", "gap_to_limit", "gap_to_relaxation",
    }  # fmt: skip
    for key in ("baseline_frontier", "simultaneous_gain", "hypervolume_gain", "search"):
        assert found[key] == search.document[key]
    assert (tmp_path / "f.svg").is_file()
    by_id = seis("frontier", found["search"][:8], "--database", place, "--json").document
    assert by_id == found


def test_explain(seis: Seis, searched: tuple[str, Any]) -> None:
    place, search = searched
    found = seis("explain", "--database", place, "--json").document
    assert set(found) == {
        "design", "summary", "gain", "old", "new", "changes", "seconds_by_section", "seconds_by_bound",
        "step_seconds", "bytes_per_gpu", "sensitivity", "certificate", "commands", "simulated",
        "simulated_gain", "vanishes",
    }  # fmt: skip
    assert found["gain"] == pytest.approx(search.document["simultaneous_gain"])
    assert found["certificate"]["verdict"] == "accepted"


def test_the_best_design_is_stored_with_its_numbers(seis: Seis, searched: tuple[str, Any]) -> None:
    place, search = searched
    best = search.document["best"]
    assert best is not None
    shown = seis("show", best["design"][:12], "--database", place, "--json").document
    assert shown["design"] == best["design"]
    new = best["new"]
    options = ["--mtp", str(new["configuration"]["drafted"])] if new["configuration"]["drafted"] else []
    again = seis("evaluate", best["design"], "--count", "8", "--batch", str(new["batch"]), *options,
                 "--database", place, "--json").document  # fmt: skip
    for key in ("tokens_per_second_per_user", "tokens_per_second_per_gpu"):
        assert again[key] == pytest.approx(new[key])
    explained = seis("explain", best["design"][:12], "--database", place, "--json").document
    assert explained["gain"] == pytest.approx(best["gain"])


def test_environment_names_the_database(
    seis: Seis, searched: tuple[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEIS_DATABASE", searched[0])
    assert seis("frontier", "--json").document["search"] == searched[1].document["search"]


@pytest.mark.parametrize("command", ["frontier", "explain"])
def test_print_80_columns(seis: Seis, searched: tuple[str, Any], command: str) -> None:
    ran = seis(command, "--database", searched[0])
    assert ran.code == 0
    assert max(map(len, ran.out.splitlines())) <= 80


def test_a_search_with_further_kinds_of_devices_is_another_search(seis: Seis) -> None:
    asked = ("search", "qwen3-0.6b", "--device", "h100", "--count", "2", "--structures", "1")
    mixed, alone = seis(*asked, "--other", "h200", "--json"), seis(*asked, "--json")
    assert mixed.document["search"] != alone.document["search"]
    again = seis(*asked, "--other", "h200", "--json").document
    assert again["search"] == mixed.document["search"]
    assert seis("frontier", again["search"][:12], "--json").code == 0
