"""Two RoofLang texts side by side, with what is equal folded away."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import Any

Json = dict[str, Any]
AROUND = 2
"""Equal lines kept beside a change."""


def side_by_side(before: str, after: str) -> list[Json]:
    """Rows of `kind` same, changed, removed, added or folded; line numbers begin at 1."""
    old, new = before.splitlines(), after.splitlines()
    found: list[Json] = []
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    operations = matcher.get_opcodes()
    for number, (kind, a, b, c, d) in enumerate(operations):
        if kind == "equal":
            found += _equal(old, a, b, c, number == 0, number == len(operations) - 1)
            continue
        for i in range(max(b - a, d - c)):
            left, right = a + i if a + i < b else None, c + i if c + i < d else None
            found.append(
                {
                    "kind": "changed"
                    if None not in (left, right)
                    else "added"
                    if left is None
                    else "removed",
                    "left": None if left is None else left + 1,
                    "old": "" if left is None else old[left],
                    "right": None if right is None else right + 1,
                    "new": "" if right is None else new[right],
                }
            )
    return found


def _equal(lines: list[str], a: int, b: int, c: int, first: bool, last: bool) -> list[Json]:
    head, tail = (0 if first else AROUND), (0 if last else AROUND)
    rows = [
        {"kind": "same", "left": a + i + 1, "old": lines[a + i], "right": c + i + 1, "new": lines[a + i]}
        for i in range(b - a)
    ]
    hidden = len(rows) - head - tail
    if hidden < 4:
        return rows
    fold = {"kind": "folded", "count": hidden, "left": None, "right": None, "old": "", "new": ""}
    return [*rows[:head], fold, *rows[len(rows) - tail :]]
