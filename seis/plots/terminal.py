"""A frontier plot of braille characters: discovered as a solid line, the baseline as a dotted one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from seis.plots.frame import Axis, Curve, axes, label

# Bits of a braille cell by (column, row) of its 2 x 4 dots.
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
COLOURS = ("blue", "dark_orange3")
Cell = tuple[str, str]
_EVERY = (4, 1)  # a dotted line shows every fourth dot


def plot(curves: Sequence[Curve], x_name: str, y_name: str, width: int = 78, height: int = 16) -> str:
    """Lines of text with rich markup: the first curve dotted, the second solid. Log axes, labelled."""
    curves = [c for c in curves if c.points]
    if not curves:
        return "no point fits in memory"
    x, y = axes(curves)
    left = max(len(label(t)) for t in y.ticks(height // 2)) + 1
    columns = width - left - 1
    cells = _draw(curves, x, y, columns, height)
    lines = [_legend(curves, y_name, width)]
    marks = {height - 1 - round(y.at(t) * (height - 1)): label(t) for t in y.ticks(height // 2)}
    for row in range(height):
        text = "".join(_run(*run) for run in groupby((cells(c, row) for c in range(columns)), lambda c: c[1]))
        name = marks.get(row, "")
        lines.append(f"[dim]{name.rjust(left - 1)} {'┤' if name else '│'}[/dim]{text.rstrip()}")
    lines.extend(_foot(x, left, columns, x_name))
    return "\n".join(lines)


def _legend(curves: Sequence[Curve], y_name: str, width: int) -> str:
    samples = ("⠂⠐ ⠂", "⠒⠒⠒⠒") if len(curves) > 1 else ("⠒⠒⠒⠒",)
    names = "  ".join(f"{s} {c.name}" for s, c in zip(samples, curves, strict=False))
    room = max(1, width - len(y_name) - len(names))
    shown = "  ".join(
        f"[{colour}]{s}[/] {c.name}"
        for s, c, colour in zip(samples, curves, COLOURS if len(curves) > 1 else COLOURS[1:], strict=False)
    )
    return f"[dim]{y_name}[/dim]{' ' * room}{shown}"


def _foot(x: Axis, left: int, columns: int, x_name: str) -> list[str]:
    rule, names = ["─"] * columns, [" "] * (columns + 4)
    end = -1
    for t in x.ticks(10):
        text = label(t)
        at = round(x.at(t) * (columns - 1))
        rule[at] = "┬"
        start = max(0, at - len(text) // 2)
        if start > end:
            names[start : start + len(text)] = text
            end = start + len(text)
    return [
        f"[dim]{' ' * left}└{''.join(rule)}[/dim]",
        f"[dim]{' ' * (left + 1)}{''.join(names).rstrip()}[/dim]",
        f"[dim]{' ' * (left + 1)}{x_name.rjust(columns)}[/dim]",
    ]


def _run(colour: str, cells: Iterable[Cell]) -> str:
    """Neighbouring cells of one colour."""
    text = "".join(character for character, _ in cells)
    return f"[{colour}]{text}[/]" if colour else text


def _draw(curves: Sequence[Curve], x: Axis, y: Axis, columns: int, height: int) -> Callable[[int, int], Cell]:
    """Characters and colours by (column, row); a cell has the colour of the last curve in it."""
    bits: dict[tuple[int, int], int] = {}
    owner: dict[tuple[int, int], int] = {}
    first = len(_EVERY) - len(curves[:2])
    for number, curve in enumerate(curves[:2], first):
        seen: set[tuple[int, int]] = set()
        for position, (px, py) in enumerate(_dots(curve, x, y, columns * 2, height * 4)):
            if position % _EVERY[number] or (px, py) in seen:
                continue
            seen.add((px, py))
            place = (px // 2, py // 4)
            if owner.get(place, number) != number:
                bits[place] = 0
            owner[place] = number
            bits[place] = bits.get(place, 0) | _DOTS[px % 2][py % 4]

    def cell(column: int, row: int) -> Cell:
        at = (column, row)
        return (chr(0x2800 + bits[at]), COLOURS[owner[at]]) if at in bits else (" ", "")

    return cell


def _dots(curve: Curve, x: Axis, y: Axis, wide: int, high: int) -> list[tuple[int, int]]:
    """Dots along the line through the curve's points, in order."""
    at = [(x.at(a) * (wide - 1), (1 - y.at(b)) * (high - 1)) for a, b in curve.sorted]
    found: list[tuple[int, int]] = []
    for (ax, ay), (bx, by) in zip(at, [*at[1:], at[-1]], strict=True):
        steps = max(1, round(max(abs(bx - ax), abs(by - ay))))
        for i in range(steps + 1):
            dot = (round(ax + (bx - ax) * i / steps), round(ay + (by - ay) * i / steps))
            if not found or found[-1] != dot:
                found.append(dot)
    return found
