"""The page about mutations lists the rules as they are."""

from __future__ import annotations

from mutations.table import PAGE, page


def test_the_tables_are_those_of_the_rules() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page(text) == text, "run python -m mutations.table"
