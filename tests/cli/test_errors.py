"""Bad input: one clear sentence, no traceback, the right exit code, one JSON object under --json."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from db import Database

Seis = Callable[..., Any]

CASES: list[tuple[tuple[str, ...], str, str]] = [
    (("evaluate", "deepseek-v9"), "unknown_name", "did you mean deepseek-v3"),
    (("evaluate", "deepseek"), "unknown_name", "write more of it"),
    (("evaluate", "--device", "b3000"), "unknown_name", "did you mean b300-sxm"),
    (("evaluate", "--batch", "0"), "usage", "--batch must be at least 1, but got 0"),
    (("evaluate", "--batch", "1e26"), "usage", "--batch must be a whole number, but got '1e26'"),
    (("evaluate", "--batch", "9" * 5000), "usage", "--batch must be a whole number, but got '999"),
    (
        ("evaluate", "--batch", "1" + "0" * 400),
        "usage",
        "but got a number of 401 digits; lower it",
    ),
    (("evaluate", "--batc", "1"), "usage", "'--batc' (did you mean --batch"),
    (("evaluate", "--context", "1" + "0" * 400), "scenario", "at most 1,000,000,000 tokens"),
    (("evaluate", "--count", "10000000"), "usage", "--count must be at most 1,000,000"),
    (("evaluate", "--mtp", "1000000000"), "usage", "--mtp must be at most 16"),
    (("evaluate", "--device", ""), "unknown_name", "`seis devices` lists"),
    (("evaluate", "--axis", "tp=²"), "usage", "NAME=N"),
    (("evaluate", "llama-3.1-8b", "--tp", "3"), "usage", "cannot divide FD = 14336 by tp 3;"),
    (("models", "."), "catalogue_file", "must hold a config.json"),
    (("models", "llama-3.1-8b", "more"), "usage", "cannot use more; see `seis models --help`"),
    (("import",), "usage", "PATH must be given"),
    (("gap", "llama-3.1-8b"), "usage", "--throughput must be given"),
    (("service", "--hit-rate", "much"), "usage", "--hit-rate must be a number, but got 'much'"),
    (("service", "--isl", "1" + "0" * 30), "scenario", "at most 1,000,000,000 tokens"),
    (("service", "--mtp", "17"), "usage", "--mtp must be at most 16"),
    (("compare", "--contexts", "99999999999"), "usage", "--contexts must be whole numbers"),
    (("wong",), "usage", "'wong'"),
    (("model",), "usage", "(did you mean 'models'?)"),
    (("evaluate", "--count", "0"), "usage", "--count must be at least 1, but got 0"),
    (("evaluate", "--context", "-1"), "scenario", "at least 1 token, but got -1"),
    (("evaluate", "--mtp", "-1"), "usage", "--mtp must be at least 0"),
    (("evaluate", "llama-3.1-70b", "--mtp", "1"), "usage", "without draft layers"),
    (("evaluate", "--tp", "0"), "usage", "--tp must be at least 1"),
    (("evaluate", "--tp", "128"), "usage", "at most --count 64"),
    (("evaluate", "--dp", "60"), "usage", "E = 384 by dp 60"),
    (("evaluate", "--ep", "7"), "usage", "try --ep 64"),
    (("evaluate", "--ep", "128"), "usage", "at most dp x cp x tp = 64"),
    (("evaluate", "--axis", "dp=2"), "usage", "use --tp, --dp"),
    (("evaluate", "--axis", "dp"), "usage", "NAME=N"),
    (("evaluate", "--clock", "soon"), "usage", "--clock must be limit, overlapped or serial, but got 'soon'"),
    (("evaluate", "--wrong"), "usage", "--wrong"),
    (("wrong",), "usage", "wrong"),
    (("baseline", "--count", "0"), "usage", "--count must be at least 1"),
    (("baseline", "--context", "0"), "scenario", "at least 1 token"),
    (("baseline", "--plot", "b.png"), "usage", "write b.svg"),
    (("baseline", "--plot", "b.jpg"), "usage", ".svg"),
    (("baseline", "--plot", "missing/b.svg"), "usage", "missing"),
    (("search", "--count", "0"), "usage", "--count must be at least 1"),
    (("search", "--structures", "0"), "usage", "--structures must be at least 1"),
    (("search", "--context", "-1"), "scenario", "at least 1 token"),
    (("search", "gpt-9"), "unknown_name", "did you mean gpt-oss"),
    (("show", "missing.roof"), "file", "missing.roof: no such file"),
    (("show", "abcdef"), "database", "no file seis.db"),
    (("frontier",), "database", "run `seis search` first"),
    (("explain",), "database", "run `seis search` first"),
]


@pytest.mark.parametrize(("arguments", "kind", "words"), CASES, ids=[" ".join(c[0])[:60] for c in CASES])
def test_one_sentence(seis: Seis, arguments: tuple[str, ...], kind: str, words: str) -> None:
    ran = seis(*arguments)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith("seis: ")
    assert ran.err.count("\n") == 1
    assert words in ran.err
    error = seis(*arguments, "--json").error
    assert error["kind"] == kind
    assert words in error["message"]


def test_help_and_version(seis: Seis) -> None:
    ran = seis()
    assert (ran.code, ran.err) == (0, "")
    assert "Usage: seis" in ran.out
    ran = seis("--version")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("seis ")


@pytest.mark.parametrize("count", ["1000000", "999983"])
def test_many_devices_are_no_more_work_than_few(seis: Seis, monkeypatch: Any, count: str) -> None:
    import seis.cli.defaults as defaults

    placed = []
    place = defaults.place
    monkeypatch.setattr(defaults, "place", lambda *given: placed.append(given) or place(*given))
    found = seis("evaluate", "deepseek-v4-pro", "--count", count, "--json").document
    assert found["configuration"]["dp"] == 384  # as many ranks as there are experts
    assert len(placed) < 100


def test_a_typo_has_its_line_and_a_caret(seis: Seis, tmp_path: Path) -> None:
    text = seis("show", "llama-3.1-70b").out.replace("swiglu(", "swigloo(")
    (tmp_path / "typo.roof").write_text(text, encoding="utf-8")
    line = next(i for i, t in enumerate(text.splitlines(), 1) if "swigloo" in t)
    ran = seis("evaluate", "typo.roof")
    assert ran.code == 2
    assert ran.err.startswith(f"seis: line {line}, column ")
    assert "did you mean 'swiglu'" in ran.err
    assert ran.err.rstrip().endswith("^")
    error = seis("verify", "typo.roof", "typo.roof", "--json").error
    assert error["line"] == line
    assert "swigloo" in error["source_line"]
    assert "\n" not in error["message"]


@pytest.mark.parametrize(
    "text", ["name: [", "name: own\nfigures: {power_watts: {value: 1}}\n", "device: h100\n"]
)
def test_a_device_file_has_a_kind_of_its_own(seis: Seis, tmp_path: Path, text: str) -> None:
    (tmp_path / "own.yaml").write_text(text, encoding="utf-8")
    error = seis("evaluate", "llama-3.1-70b", "--device", "own.yaml", "--json").error
    assert error["kind"] == "catalogue_file"
    assert "own.yaml" in error["message"]
    assert seis("devices", "own.yaml", "--json").error == error


def test_a_search_without_the_figures_it_needs(seis: Seis) -> None:
    error = seis("baseline", "llama-3.1-70b", "--device", "cerebras", "--count", "8", "--json").error
    assert error["kind"] == "unavailable"
    assert "cerebras-wse3 has no known BF16 matrix rate" in error["message"]


def test_a_file_that_is_no_text(seis: Seis, tmp_path: Path) -> None:
    (tmp_path / "junk.roof").write_bytes(bytes(range(256)))
    ran = seis("show", "junk.roof")
    assert ran.code == 2
    assert "must be UTF-8" in ran.err


@pytest.mark.parametrize("command", ["search", "frontier", "explain"])
def test_a_corrupt_database(seis: Seis, tmp_path: Path, command: str) -> None:
    (tmp_path / "seis.db").write_text("not a database, but long enough to look at")
    error = seis(command, "--json").error
    assert error["kind"] == "database"
    assert "intact SQLite database" in error["message"]
    assert (tmp_path / "seis.db").read_text().startswith("not a database")


@pytest.mark.parametrize("command", ["search", "frontier"])
def test_a_database_of_a_newer_version(seis: Seis, tmp_path: Path, command: str) -> None:
    Database.open(tmp_path / "seis.db").close()
    with sqlite3.connect(tmp_path / "seis.db") as connection:
        connection.execute("UPDATE seis_revision SET version_num = '9999'")
    connection.close()
    error = seis(command, "--json").error
    assert error["kind"] == "newer_database"
    assert "newer" in error["message"]


def test_a_place_that_cannot_be_written(seis: Seis, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ran = seis("search", "--database", "file/seis.db")
    assert ran.code == 2
    assert ran.err.count("\n") == 1


def test_faults_are_told_apart(seis: Seis, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str) -> None:
        raise KeyError(name)

    monkeypatch.setattr("seis.cli.models.count", broken)
    ran = seis("models", "--json")
    assert ran.code == 70
    assert "a fault of SEIS" in ran.err
    assert seis("models", "--json").error["kind"] == "fault"
