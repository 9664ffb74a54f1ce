"""A frontier plot as SVG, written by hand: light background, two colours that colour-blind readers tell
apart, names beside the lines."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from html import escape

from seis.plots.frame import Axis, Curve, Xy, axes, label

WIDTH, HEIGHT = 880, 560
LEFT, RIGHT, TOP, BOTTOM = 76, 40, 98, 62
COLOURS = ("#0072B2", "#D55E00")  # Okabe and Ito: blue, vermilion
INK, QUIET, RULE, PAPER = "#1f2933", "#5f6b76", "#e3e8ec", "#fdfdfc"
FONT = "font-family='Helvetica Neue, Helvetica, Arial, sans-serif'"


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
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH}' height='{HEIGHT}' "
        f"viewBox='0 0 {WIDTH} {HEIGHT}' {FONT} role='img' aria-label='{escape(title, quote=True)}'>",
        f"<rect width='{WIDTH}' height='{HEIGHT}' fill='{PAPER}'/>",
        _text(LEFT, 36, title, 19, INK, weight="600"),
        _text(LEFT, 60, subtitle, 13, QUIET),
        *_grid(x, y, x_name, y_name),
    ]
    first = 2 - len(shown[:2]) if len(shown) == 1 else 0
    for number, curve in enumerate(shown[:2], first):
        parts.extend(_curve(curve, x, y, COLOURS[number], dashed=number == 0))
    parts.extend(_names(shown[:2], x, y, first))
    if gain is not None:
        parts.extend(_arrow(gain, x, y))
    return "\n".join([*parts, "</svg>", ""])


def _px(x: Axis, value: float) -> float:
    return LEFT + x.at(value) * (WIDTH - LEFT - RIGHT)


def _py(y: Axis, value: float) -> float:
    return HEIGHT - BOTTOM - y.at(value) * (HEIGHT - TOP - BOTTOM)


def _text(
    x: float, y: float, text: str, size: int, fill: str, anchor: str = "start", weight: str = "400"
) -> str:
    return (
        f"<text x='{x:.1f}' y='{y:.1f}' font-size='{size}' font-weight='{weight}' fill='{fill}' "
        f"text-anchor='{anchor}'>{escape(text)}</text>"
    )


def _grid(x: Axis, y: Axis, x_name: str, y_name: str) -> list[str]:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    parts = []
    for tick in x.ticks(12):
        at = _px(x, tick)
        parts.append(f"<line x1='{at:.1f}' y1='{TOP}' x2='{at:.1f}' y2='{bottom}' stroke='{RULE}'/>")
        parts.append(_text(at, bottom + 20, label(tick), 12, QUIET, "middle"))
    for tick in y.ticks(10):
        at = _py(y, tick)
        parts.append(f"<line x1='{LEFT}' y1='{at:.1f}' x2='{right}' y2='{at:.1f}' stroke='{RULE}'/>")
        parts.append(_text(LEFT - 10, at + 4, label(tick), 12, QUIET, "end"))
    parts.append(f"<line x1='{LEFT}' y1='{bottom}' x2='{right}' y2='{bottom}' stroke='{QUIET}'/>")
    parts.append(_text(right, bottom + 44, f"{x_name} →", 13, INK, "end"))
    parts.append(_text(LEFT - 50, TOP - 8, f"↑ {y_name}", 13, INK))
    return parts


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
            _text(mx + (12 if above else -12), my + (-10 if above else 20), curve.name, 14,
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
    (ox, oy), (nx, ny), text = gain
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
        _text(bx + 12, by - 8, text, 13, INK, weight="600")
        if bx < WIDTH - RIGHT - 9 * len(text)
        else _text(ax - 12, ay - 8, text, 13, INK, "end", "600"),
    ]
