"""What the pages say of the code is so: links, paths, commands, tables."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from seis.cli.main import app
from tests.docs import tables
from tests.docs.pages import ROOT, anchors, blocks, links, name_of, pages, prose, table

REFERENCE = (ROOT / "docs" / "rooflang.md").read_text(encoding="utf-8")
_FOLDERS = "rooflang|catalogue|evaluator|mutations|db|agent|seis|tests|docs|benchmarks"
_PATH = re.compile(rf"`((?:{_FOLDERS})/[\w./-]*)`")
_COMMAND = re.compile(r"\bseis ([a-z]+)\b(.*)")
every_page = pytest.mark.parametrize("page", pages(), ids=name_of)


def options(command: Any) -> set[str]:
    """Every option of a command and of those below it."""
    found = {option for p in command.params for option in p.opts}
    for inner in getattr(command, "commands", {}).values():
        found |= options(inner)
    return found


@every_page
def test_links_resolve(page: Path) -> None:
    for target in links(page.read_text(encoding="utf-8")):
        if target.startswith(("https://", "http://", "mailto:")):
            continue
        file, _, anchor = target.partition("#")
        found = (page.parent / file).resolve() if file else page
        assert found.exists(), target
        assert not anchor or anchor in anchors(found.read_text(encoding="utf-8")), target


@every_page
def test_named_files_exist(page: Path) -> None:
    for line in prose(page.read_text(encoding="utf-8")):
        for path in _PATH.findall(line):
            if not path.isupper() and "NAME" not in path:
                assert (ROOT / path).exists() or (ROOT / f"{path}.py").exists(), path


@every_page
def test_named_commands_and_options_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    spans = [span for line in prose(text) for span in re.findall(r"`([^`]+)`", line)]
    spans += [line for b in blocks(text) if b.kind in ("sh", "console") for line in b.text.splitlines()]
    commands = get_command(app).commands  # type: ignore[attr-defined]
    for span in spans:
        for name, rest in _COMMAND.findall(span):
            assert name in commands, f"seis {name}"
            known = options(commands[name])
            for option in re.findall(r"(?<!\S)--[a-z]+", rest.partition("|")[0]):
                assert option in known, f"seis {name} {option}"


def test_every_command_is_named_in_the_readme_or_the_tutorial() -> None:
    text = "".join((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/tutorial.md"))
    missing = [c for c in get_command(app).commands if f"seis {c}" not in text]  # type: ignore[attr-defined]
    assert not missing


def test_operator_table_is_that_of_the_language() -> None:
    assert table(REFERENCE, "operator") == tables.operators()


def test_every_operator_is_explained() -> None:
    told = set(re.findall(r"\*\*`(\w+)`\*\*", REFERENCE))
    assert told == {row[0] for row in tables.operators()}


def test_format_table_is_that_of_the_language() -> None:
    assert table(REFERENCE, "format") == tables.formats()


def test_limits_are_those_of_the_language() -> None:
    assert table(REFERENCE, "limit") == tables.limits()


def test_reserved_words_are_named() -> None:
    from rooflang.limits import RESERVED

    line = next(line for line in prose(REFERENCE) if line.endswith("cannot be names."))
    assert set(re.findall(r"`(\w+)`", line)) == RESERVED


def test_packages_are_named_by_the_architecture_page() -> None:
    rows = table((ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"), "folder")
    assert {row[0] for row in rows} == {
        "rooflang", "catalogue", "evaluator", "mutations", "db", "migrations", "agent", "server", "seis",
    }  # fmt: skip


@every_page
def test_results_block_is_delimited_where_there_is_one(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.count("<!-- results -->") == text.count("<!-- /results -->") <= 1


@every_page
def test_pages_hold_no_machine_paths(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"(?<![\w.])/(home|work|root|tmp|Users|opt)/", text)
