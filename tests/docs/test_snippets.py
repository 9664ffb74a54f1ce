"""Every snippet of the documentation runs, and prints what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import blocks, name_of, pages
from tests.docs.snippets import Runner, alike


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_snippets_run_and_print_what_is_shown(page: Path, tmp_path: Path) -> None:
    faults = []
    for printed in Runner(tmp_path).run(blocks(page.read_text(encoding="utf-8"))):
        where = f"{name_of(page)}, line {printed.block.first}"
        if printed.problem:
            faults.append(f"{where}: {printed.problem}")
        elif printed.differs and printed.expected is not None:
            faults.append(f"{where} prints\n{printed.output}\nbut the page shows\n{printed.expected.text}")
    assert not faults, "\n\n".join(faults)


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_shown_output_belongs_to_a_block_that_prints_it(page: Path) -> None:
    found = blocks(page.read_text(encoding="utf-8"))
    for before, block in zip([None, *found], found, strict=False):
        if block.kind == "text":
            assert before is not None, block
            assert block.follows, block
            assert before.kind in ("sh", "python"), block


def test_a_line_of_dots_stands_for_any_lines() -> None:
    assert alike("a  \nb\nc\n", "a\nb\nc\n")
    assert alike("a\nb\nc\nd\n", "a\n...\nd\n")
    assert alike("a\nd\n", "a\n...\nd\n")
    assert not alike("a\nb\n", "a\n...\nc\n")
    assert not alike("a\nb\n", "a\n")


def test_a_failing_block_is_a_fault(tmp_path: Path) -> None:
    page = "```sh\nfalse\n```\n```sh exit=1\nfalse\n```\n"
    failing, right = blocks(page)
    assert [bool(p.problem) for p in Runner(tmp_path).run([failing])] == [True]
    assert [bool(p.problem) for p in Runner(tmp_path).run([right])] == [False]
    wrong = blocks("```python\nprint(1)\n```\n\n```text\n2\n```\n")
    assert [p.differs for p in Runner(tmp_path).run(wrong)] == [True, False]
