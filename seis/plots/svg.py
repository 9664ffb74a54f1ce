"""A frontier plot as SVG, written by hand: light background, two colours that colour-blind readers tell
apart, names beside the lines."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from seis.plots.frame import Axis, Curve, Xy, axes
from seis.plots.marks import COLOURS, INK, QUIET, Frame, opening, text

WIDTH, HEIGHT = 880, 560
LEFT, RIGHT, TOP, BOTTOM = 76, 40, 98, 62


def svg(
    curves: Sequence[Curve],
    title: str,
    subtitle: str,
    x_name: str,
    y_name: str,
    gain: tuple[Xy, Xy, str] | None = None,
) -> str:
    """The document. Of two curves the first is dashed; `gain` is an arrow between two points with a text."""
    shown = [c for c in curves if c.points]
    x, y = axes(shown)
    parts = [
        opening(WIDTH, HEIGHT, title),
        text(LEFT, 36, title, 19, INK, weight="600"),
        text(LEFT, 60, subtitle, 13, QUIET),
        *_grid(x, y, x_name, y_name),
    ]
    first = 2 - len(shown[:2]) if len(shown) == 1 else 0
    for number, curve in enumerate(shown[:2], first):
        parts.extend(_curve(curve, x, y, COLOURS[number], dashed=number == 0))
    parts.extend(_names(shown[:2], x, y, first))
    if gain is not None:
        parts.extend(_arrow(gain, x, y))
    return "\n".join([*parts, "</svg>", ""])


def _frame(x: Axis, y: Axis) -> Frame:
    return Frame(x, y, LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM)


def _px(x: Axis, value: float) -> float:
    return _frame(x, x).across(value)


def _py(y: Axis, value: float) -> float:
    return _frame(y, y).up(value)


def _grid(x: Axis, y: Axis, x_name: str, y_name: str) -> list[str]:
    names = [
        text(WIDTH - RIGHT, HEIGHT - BOTTOM + 44, f"{x_name} →", 13, INK, "end"),
        text(LEFT - 50, TOP - 8, f"↑ {y_name}", 13, INK),
    ]
    return [*_frame(x, y).grid((12, 10)), *names]


def _curve(curve: Curve, x: Axis, y: Axis, colour: str, dashed: bool) -> list[str]:
    at = [(_px(x, a), _py(y, b)) for a, b in curve.sorted]
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in at)
    dash = " stroke-dasharray='7 5'" if dashed else ""
    parts = [
        f"<polyline points='{path}' fill='none' stroke='{colour}' stroke-width='2.2' "
        f"stroke-linejoin='round'{dash}/>"
    ]
    radius = 3.2 if len(at) <= 60 else 2.0
    parts += [f"<circle cx='{a:.1f}' cy='{b:.1f}' r='{radius}' fill='{colour}'/>" for a, b in at]
    return parts


def _names(curves: Sequence[Curve], x: Axis, y: Axis, first: int) -> list[str]:
    """Each name beside its own line: the upper curve's above it, the lower one's below."""
    parts = []
    middles = [_middle(c, x, y, 0.3 if len(curves) > 1 else 0.5) for c in curves]
    upper = min(range(len(middles)), key=lambda i: middles[i][1])
    if len(curves) > 1 and middles[0] == middles[1]:
        upper = 1
    for number, (curve, (mx, my)) in enumerate(zip(curves, middles, strict=True)):
        above = number == upper
        parts.append(
            text(mx + (12 if above else -12), my + (-10 if above else 20), curve.name, 14,
                  COLOURS[number + first], "start" if above else "end", "600")
        )  # fmt: skip
    return parts


def _middle(curve: Curve, x: Axis, y: Axis, part: float) -> Xy:
    """The point of a curve nearest to this part of the picture's width."""
    wanted = LEFT + part * (WIDTH - LEFT - RIGHT)
    points = [(_px(x, a), _py(y, b)) for a, b in curve.sorted]
    for (ax, ay), (bx, by) in itertools.pairwise(points):
        if ax <= wanted <= bx and bx > ax:
            return wanted, ay + (by - ay) * (wanted - ax) / (bx - ax)
    return min(points, key=lambda p: abs(p[0] - wanted))


def _arrow(gain: tuple[Xy, Xy, str], x: Axis, y: Axis) -> list[str]:
    """From the old point to the new one, with what was gained on both axes."""
    (ox, oy), (nx, ny), words = gain
    ax, ay, bx, by = _px(x, ox), _py(y, oy), _px(x, nx), _py(y, ny)
    length = max(((bx - ax) ** 2 + (by - ay) ** 2) ** 0.5, 1e-9)
    ux, uy = (bx - ax) / length, (by - ay) / length
    head = " ".join(
        f"{px:.1f},{py:.1f}"
        for px, py in (
            (bx, by),
            (bx - 9 * ux - 4 * uy, by - 9 * uy + 4 * ux),
            (bx - 9 * ux + 4 * uy, by - 9 * uy - 4 * ux),
        )
    )
    return [
        f"<line x1='{ax:.1f}' y1='{ay:.1f}' x2='{bx:.1f}' y2='{by:.1f}' stroke='{INK}' stroke-width='1.6'/>",
        f"<polygon points='{head}' fill='{INK}'/>",
        # Beside the old point where the new one has no room at its right.
        text(bx + 12, by - 8, words, 13, INK, weight="600")
        if bx < WIDTH - RIGHT - 9 * len(words)
        else text(ax - 12, ay - 8, words, 13, INK, "end", "600"),
    ]
