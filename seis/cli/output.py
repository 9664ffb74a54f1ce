"""What commands print: one JSON document, or dense tables of 80 columns."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

WIDTH = 80
GAP = 2


def console() -> Console:
    """A console of at most 80 columns; colours only in a terminal."""
    from rich.console import Console

    made = Console(highlight=False, emoji=False)
    if made.width > WIDTH or not made.is_terminal:
        made.width = WIDTH
    return made


def print_json(value: object) -> None:
    """The document, then a newline. Numbers that are not finite become null."""
    sys.stdout.write(json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def plain(value: Any) -> Any:
    """The value as JSON has it: dicts, lists, strings, finite numbers."""
    if isinstance(value, bool | str | int) or value is None:
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, Sequence | frozenset | set):
        return [plain(v) for v in value]
    if hasattr(value, "item"):  # a NumPy number or an array of one
        return plain(value.item())
    if hasattr(value, "isoformat"):
        return value.isoformat()
    raise TypeError(f"a JSON document must hold numbers, texts, lists and objects, but got {type(value)}")


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], align: str) -> str:
    """A table without lines for `console().print`; `align` has `l` or `r` per column.

    The first column gives way where a line would pass 80 columns. Cells are plain text.
    """
    lines = [list(columns), *(list(row) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    widths[0] = max(8, min(widths[0], WIDTH - sum(widths[1:]) - GAP * (len(columns) - 1)))
    shown = []
    for number, line in enumerate(lines):
        cells = [short(line[0], widths[0]), *line[1:]]
        padded = [
            c.rjust(w) if a == "r" else c.ljust(w) for c, w, a in zip(cells, widths, align, strict=True)
        ]
        text = sentence((" " * GAP).join(padded).rstrip())
        shown.append(f"[bold]{text}[/bold]" if number == 0 else text)
    return "\n".join(shown)


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """Names and values for `console().print`; long values wrap beside their name. Values may hold markup."""
    import textwrap

    found = list(rows)
    width = max(len(name) for name, _ in found)
    lines = []
    for name, value in found:
        room = WIDTH - width - GAP if "[" not in value else 10_000
        first, *others = textwrap.wrap(value, room) or [""]
        lines.append(f"[dim]{name.ljust(width)}[/dim]{' ' * GAP}{first}")
        lines += [" " * (width + GAP) + other for other in others]
    return "\n".join(lines)


def short(text: str, most: int) -> str:
    """The text, with an ellipsis where it is too long."""
    return text if len(text) <= most else text[: most - 1] + "…"


def sentence(text: str) -> str:
    """Text as rich prints it: brackets are not markup."""
    from rich.markup import escape

    return escape(text)
