"""Small multiples as SVG: one panel per group, many named lines on shared logarithmic axes.

Highlighted lines are coloured, all others grey; every line bears its name at its right end, moved apart
where names would touch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from seis.plots.frame import Axis, Curve, axes, label

PANEL_WIDTH, PANEL_HEIGHT = 560, 420
LEFT, RIGHT, TOP, BOTTOM = 64, 150, 40, 46
HEAD = 76
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")  # Okabe and Ito
INK, QUIET, RULE, PAPER, OTHER = "#1f2933", "#5f6b76", "#e3e8ec", "#fdfdfc", "#9aa5b1"
FONT = "font-family='Helvetica Neue, Helvetica, Arial, sans-serif'"
LINE_HEIGHT = 12.0


def panels(
    groups: Mapping[str, Sequence[Curve]],
    title: str,
    subtitle: str,
    x_name: str,
    y_name: str,
    highlighted: Sequence[str] = (),
    columns: int = 2,
) -> str:
    """The document: `groups` maps a panel's title to its lines. Empty lines are left out."""
    drawn = {name: [c for c in curves if c.points] for name, curves in groups.items()}
    x, y = axes([c for curves in drawn.values() for c in curves])
    columns = max(1, min(columns, len(drawn)))
    rows = -(-len(drawn) // columns)
    width, height = columns * PANEL_WIDTH, HEAD + rows * PANEL_HEIGHT
    colours = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(highlighted)}
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}' "
        f"viewBox='0 0 {width} {height}' {FONT} role='img' aria-label='{escape(title, quote=True)}'>",
        f"<rect width='{width}' height='{height}' fill='{PAPER}'/>",
        _text(24, 34, title, 19, INK, weight="600"),
        _text(24, 58, subtitle, 13, QUIET),
    ]
    for number, (name, curves) in enumerate(drawn.items()):
        left, top = (number % columns) * PANEL_WIDTH, HEAD + (number // columns) * PANEL_HEIGHT
        parts.append(f"<g transform='translate({left} {top})'>")
        parts += [_text(LEFT, 22, name, 14, INK, weight="600"), *_grid(x, y, x_name, y_name)]
        parts += _lines(curves, x, y, colours)
        parts.append("</g>")
    return "\n".join([*parts, "</svg>", ""])


def _px(x: Axis, value: float) -> float:
    return LEFT + x.at(value) * (PANEL_WIDTH - LEFT - RIGHT)


def _py(y: Axis, value: float) -> float:
    return PANEL_HEIGHT - BOTTOM - y.at(value) * (PANEL_HEIGHT - TOP - BOTTOM)


def _text(
    x: float, y: float, text: str, size: int, fill: str, anchor: str = "start", weight: str = "400"
) -> str:
    return (
        f"<text x='{x:.1f}' y='{y:.1f}' font-size='{size}' font-weight='{weight}' fill='{fill}' "
        f"text-anchor='{anchor}'>{escape(text)}</text>"
    )


def _grid(x: Axis, y: Axis, x_name: str, y_name: str) -> list[str]:
    bottom, right = PANEL_HEIGHT - BOTTOM, PANEL_WIDTH - RIGHT
    parts = []
    for tick in x.ticks(7):
        at = _px(x, tick)
        parts.append(f"<line x1='{at:.1f}' y1='{TOP}' x2='{at:.1f}' y2='{bottom}' stroke='{RULE}'/>")
        parts.append(_text(at, bottom + 17, label(tick), 11, QUIET, "middle"))
    for tick in y.ticks(8):
        at = _py(y, tick)
        parts.append(f"<line x1='{LEFT}' y1='{at:.1f}' x2='{right}' y2='{at:.1f}' stroke='{RULE}'/>")
        parts.append(_text(LEFT - 8, at + 4, label(tick), 11, QUIET, "end"))
    parts.append(f"<line x1='{LEFT}' y1='{bottom}' x2='{right}' y2='{bottom}' stroke='{QUIET}'/>")
    parts.append(_text(right, bottom + 36, f"{x_name} →", 12, QUIET, "end"))
    parts.append(_text(right, 22, f"{y_name}", 12, QUIET, "end"))
    return parts


def _lines(curves: Sequence[Curve], x: Axis, y: Axis, colours: Mapping[str, str]) -> list[str]:
    parts = []
    ends: list[tuple[float, str]] = []
    for curve in sorted(curves, key=lambda c: c.name in colours):
        colour = colours.get(curve.name, OTHER)
        at = [(_px(x, a), _py(y, b)) for a, b in curve.sorted]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in at)
        thick = 2.4 if curve.name in colours else 1.2
        parts.append(
            f"<polyline points='{path}' fill='none' stroke='{colour}' stroke-width='{thick}' "
            "stroke-linejoin='round'/>"
        )
        parts += [f"<circle cx='{a:.1f}' cy='{b:.1f}' r='{thick}' fill='{colour}'/>" for a, b in at]
        ends.append((at[-1][1], curve.name))
    for (_, name), shown in zip(ends, _apart([height for height, _ in ends]), strict=True):
        named = colours.get(name)
        weight = "600" if named else "400"
        parts.append(_text(PANEL_WIDTH - RIGHT + 6, shown + 4, name, 10, named or QUIET, weight=weight))
    return parts


def _apart(wanted: Sequence[float]) -> list[float]:
    """Heights at least a line apart, each near the wanted one, inside the panel."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    placed = [0.0] * len(wanted)
    below = TOP - LINE_HEIGHT
    for i in order:
        below = placed[i] = max(wanted[i], below + LINE_HEIGHT)
    above = PANEL_HEIGHT - BOTTOM + LINE_HEIGHT
    for i in reversed(order):
        above = placed[i] = min(placed[i], above - LINE_HEIGHT)
    return placed
