"""The table of all rules for docs/mutations.md: `python -m mutations.table` writes it into the page."""

from __future__ import annotations

import re
from pathlib import Path

from mutations.device_kinds import device_kind
from mutations.registry import rules
from mutations.rule import Rule

PAGE = Path(__file__).resolve().parent.parent / "docs" / "mutations.md"
_BEGIN, _END = "<!-- rules -->", "<!-- end of rules -->"


def page(text: str) -> str:
    """The page with its tables as the rules say them."""
    start, end = text.index(_BEGIN) + len(_BEGIN), text.index(_END)
    return "\n\n".join((text[:start], *_families(), text[end:]))


def _families() -> list[str]:
    found: dict[str, list[Rule]] = {}
    for rule in (*rules(), device_kind(())):
        found.setdefault(rule.family, []).append(rule)
    return [f"### {_title(family)}\n\n{_table(same)}" for family, same in found.items()]


def _title(family: str) -> str:
    return family[0].upper() + family[1:]


def _table(same: list[Rule]) -> str:
    head = "| rule | rewrites | helps | costs | work | undone by | source |\n|---|---|---|---|---|---|---|"
    rows = []
    for rule in same:
        d = rule.documentation
        cells = (f"`{rule.name}`", d.rewrites, d.helps, d.costs, rule.delta, rule.inverse or "", d.source)
        rows.append("| " + " | ".join(_cell(c) for c in cells) + " |")
    return "\n".join([head, *rows])


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
