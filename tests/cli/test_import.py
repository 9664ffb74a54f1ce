"""`seis import`, and commands that take a config.json where a model is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.catalogue.published import PUBLISHED
from tests.catalogue.test_field_reports import V4_FLASH

Seis = Callable[..., Any]
CONFIG = PUBLISHED["qwen3-0.6b"].config


@pytest.fixture
def config(tmp_path: Path) -> str:
    folder = tmp_path / "tiny-model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG))
    return "tiny-model/config.json"


def test_document(seis: Seis, config: str) -> None:
    found = seis("import", config, "--json").document
    row = seis("models", config, "--json").document[0]
    assert {k: found[k] for k in row} == row
    assert set(found) - set(row) == {"assumptions", "not_understood"}
    assert found["name"] == "tiny-model"
    assert found["parameters"] == 596_049_920
    assert found["kv_bytes_per_token"]["bf16"]["4096"] == 114_688
    assert found["not_understood"] == []


def test_text_is_readable(seis: Seis, tmp_path: Path) -> None:
    configs = {name: published.config for name, published in PUBLISHED.items()} | {
        "deepseek-v4-flash": V4_FLASH
    }
    for name, config in configs.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(config))
        ran = seis("import", f"{name}.json")
        assert ran.code == 0, ran.err
        assert ran.out.startswith(name)
        assert max(len(line) for line in ran.out.splitlines()) <= 80, name


def test_what_was_not_understood_is_told_with_what_to_do(seis: Seis, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(
        json.dumps({**CONFIG, "memory_layers": [1, 2], "model_type": "novel"})
    )
    ran = seis("import", ".")
    assert ran.code == 0
    assert "- memory_layers = [1, 2]" in ran.out
    assert "- No reader knows the model_type novel" in ran.out
    assert "use the .roof file in\nplace of the model" in ran.out
    assert seis("import", ".", "--json").document["not_understood"] == [
        {"key": "memory_layers", "value": [1, 2]}
    ]


def test_design_is_written(seis: Seis, config: str, tmp_path: Path) -> None:
    assert seis("import", config, "--output", "tiny.roof").code == 0
    written = seis("show", "tiny.roof", "--json").document
    shown = seis("show", config, "--json").document
    assert written["design"] == shown["design"]
    assert (shown["origin"], shown["name"]) == ("model", "tiny-model")
    seis("import", config, "--output", "plain.roof", "--kv", "bf16")
    assert (tmp_path / "plain.roof").read_text() != (tmp_path / "tiny.roof").read_text()


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "tiny-model"),
        ("models", "tiny-model", "--json"),
        ("evaluate", "tiny-model", "--count", "1", "--batch", "8", "--json"),
        ("evaluate", "tiny-model/config.json", "--count", "8"),
        ("baseline", "tiny-model/config.json", "--count", "1", "--json"),
        ("verify", "tiny-model", "tiny-model/config.json", "--json"),
    ],
)
def test_a_path_stands_for_a_model(seis: Seis, config: str, arguments: tuple[str, ...]) -> None:
    assert seis(*arguments).code == 0


@pytest.mark.parametrize(
    ("arguments", "text", "sentence"),
    [
        (("import", "missing.json"), None, "no such file or directory"),
        (("import", "."), None, "must hold a config.json"),
        (("import", "config.json"), "{", "must be JSON"),
        (("import", "config.json"), "{}", "must state num_hidden_layers"),
        (("evaluate", "config.json"), '{"num_hidden_layers": -1}', "but is -1"),
        (("import", "config.json", "--output", "a.txt"), json.dumps(CONFIG), "must end in .roof"),
        (("import",), None, "path"),
    ],
)
def test_what_cannot_be_imported(
    seis: Seis, tmp_path: Path, arguments: tuple[str, ...], text: str | None, sentence: str
) -> None:
    if text is not None:
        (tmp_path / "config.json").write_text(text)
    plain, structured = seis(*arguments), seis(*arguments, "--json")
    assert (plain.code, structured.code) == (2, 2)
    assert sentence in plain.err.lower() or sentence in plain.err
    assert plain.err.count("\n") == 1
    assert sentence in structured.error["message"].lower() or sentence in structured.error["message"]


def test_a_search_of_a_changed_file_is_another_search(
    config: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agent import Problem

    monkeypatch.chdir(tmp_path)
    problem = Problem(config, "b300", 1)
    before = problem.hash
    assert Problem("tiny-model", "b300", 1).hash == before  # the directory names the same file
    (tmp_path / config).write_text(json.dumps({**CONFIG, "num_hidden_layers": 2}))
    assert Problem(config, "b300", 1).hash != before
