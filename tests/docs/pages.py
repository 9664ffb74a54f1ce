"""The repository's documentation as the tests see it: pages, fenced blocks, tables, headings and links."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_FENCE = re.compile(r"^```(.*)$")
_LINK = re.compile(r"(?<!\!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(.+?) *$")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block. `kind` is the first word after the fence, `words` the others; `first` and `last` are
    the line numbers of its content, from 1; `follows` says that only blank lines part it from the last."""

    kind: str
    words: tuple[str, ...]
    text: str
    first: int
    last: int
    follows: bool

    def option(self, name: str, default: str = "") -> str:
        """The value of a word such as `exit=1`."""
        for word in self.words:
            key, mark, value = word.partition("=")
            if mark and key == name:
                return value
        return default


def pages() -> list[Path]:
    """README.md and every page of docs/."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a page. Raises ValueError for one that is not closed."""
    found: list[Block] = []
    opened: tuple[int, str] | None = None
    between = False
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        fence = _FENCE.match(line)
        if fence is None:
            between = between and (opened is not None or not line.strip())
        elif opened is None:
            opened = number, fence[1]
        else:
            start, info = opened
            kind, *words = info.split() or [""]
            body = "".join(f"{at}\n" for at in lines[start : number - 1])
            found.append(Block(kind, tuple(words), body, start + 1, number - 1, between))
            opened, between = None, True
    if opened is not None:
        raise ValueError(f"the block that opens in line {opened[0]} is not closed")
    return found


def prose(text: str) -> list[str]:
    """The lines outside fenced blocks."""
    found, inside = [], False
    for line in text.splitlines():
        if _FENCE.match(line):
            inside = not inside
        elif not inside:
            found.append(line)
    return found


def links(text: str) -> list[str]:
    """Targets of links and pictures."""
    return [m[1] or m[2] for line in prose(text) for m in _LINK.finditer(line)]


def anchors(text: str) -> set[str]:
    """What `#...` may point to: headings as code hosts spell them."""
    titles = [m[1] for line in prose(text) if (m := _HEADING.match(line))]
    return {re.sub(r"[^\w\- ]", "", t.lower()).replace(" ", "-") for t in titles}


def table(text: str, first_header: str) -> list[list[str]]:
    """The cells of the table whose first column has this header, without markup of code."""
    rows: list[list[str]] = []
    inside = False
    for line in prose(text):
        cells = [c.strip().replace("`", "") for c in line.strip().strip("|").split("|")]
        if line.startswith("|") and cells[0] == first_header:
            inside = True
        elif inside and not line.startswith("|"):
            return rows
        elif inside and not set(line) <= set("|-: "):
            rows.append(cells)
    return rows
