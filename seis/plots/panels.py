"""Small multiples as SVG: one panel per group, many named lines on shared logarithmic axes.

Highlighted lines are coloured, all others grey; every line bears its name at its right end, moved apart
where names would touch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from seis.plots.frame import Curve, axes
from seis.plots.marks import COLOURS, INK, OTHER, QUIET, Frame, opening, text

PANEL_WIDTH, PANEL_HEIGHT = 560, 420
LEFT, RIGHT, TOP, BOTTOM = 64, 150, 40, 46
HEAD = 76
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
    frame = Frame(x, y, LEFT, PANEL_WIDTH - RIGHT, TOP, PANEL_HEIGHT - BOTTOM)
    columns = max(1, min(columns, len(drawn)))
    rows = -(-len(drawn) // columns)
    width, height = columns * PANEL_WIDTH, HEAD + rows * PANEL_HEIGHT
    colours = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(highlighted)}
    parts = [
        opening(width, height, title),
        text(24, 34, title, 19, INK, weight="600"),
        text(24, 58, subtitle, 13, QUIET),
    ]
    for number, (name, curves) in enumerate(drawn.items()):
        left, top = (number % columns) * PANEL_WIDTH, HEAD + (number // columns) * PANEL_HEIGHT
        parts.append(f"<g transform='translate({left} {top})'>")
        parts += [text(LEFT, 22, name, 14, INK, weight="600"), *_grid(frame, x_name, y_name)]
        parts += _lines(curves, frame, colours)
        parts.append("</g>")
    return "\n".join([*parts, "</svg>", ""])


def _grid(frame: Frame, x_name: str, y_name: str) -> list[str]:
    names = [
        text(frame.right, frame.bottom + 36, f"{x_name} →", 12, QUIET, "end"),
        text(frame.right, 22, y_name, 12, QUIET, "end"),
    ]
    return [*frame.grid((7, 8), 11), *names]


def _lines(curves: Sequence[Curve], frame: Frame, colours: Mapping[str, str]) -> list[str]:
    parts = []
    ends: list[tuple[float, str]] = []
    for curve in sorted(curves, key=lambda c: c.name in colours):
        colour = colours.get(curve.name, OTHER)
        at = [(frame.across(a), frame.up(b)) for a, b in curve.sorted]
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
        parts.append(text(PANEL_WIDTH - RIGHT + 6, shown + 4, name, 10, named or QUIET, weight=weight))
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
