"""Drawings that the server makes, so that pages are complete without scripts; colours are classes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from markupsafe import Markup

from server.dashboard.history import X, Y
from server.dashboard.words import count, number, percent, seconds, short

Json = Mapping[str, Any]


def bar(value: float, most: float, kind: str = "new") -> Markup:
    """A horizontal bar; the text beside it says the same."""
    wide = 100 * value / most if most > 0 else 0
    return Markup(
        f'<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="fill f-{escape(kind)}" width="{wide:.2f}" height="8"/></svg>'
    )


def stacked(parts: Sequence[tuple[str, float]], whole: float) -> Markup:
    """Parts of a whole in one bar, such as memory by class."""
    at, found = 0.0, []
    for name, value in parts:
        wide = 100 * value / whole if whole else 0
        found.append(f'<rect class="m-{escape(name)}" x="{at:.2f}" width="{wide:.2f}" height="12"/>')
        at += wide
    return Markup(
        '<svg class="bar tall" viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="m-free" width="100" height="12"/>{"".join(found)}</svg>'
    )


class _Axes:
    """A frame with logarithmic axes."""

    def __init__(self, x: Sequence[float], y: Sequence[float], wide: int, high: int) -> None:
        self.x0, self.x1 = _range(x)
        self.y0, self.y1 = _range(y)
        self.wide, self.high = wide, high
        self.left, self.top, self.right, self.bottom = 58, 12, 12, 40

    def at(self, x: float, y: float) -> tuple[float, float]:
        u = math.log(max(x, 1e-30) / self.x0) / math.log(self.x1 / self.x0)
        v = math.log(max(y, 1e-30) / self.y0) / math.log(self.y1 / self.y0)
        across, down = self.wide - self.left - self.right, self.high - self.top - self.bottom
        return self.left + u * across, self.top + (1 - v) * down

    def frame(self, x_name: str, y_name: str) -> str:
        parts = []
        for t in _decades(self.x0, self.x1):
            px, _ = self.at(t, self.y0)
            base = self.high - self.bottom
            parts.append(f'<path class="grid" d="M{px:.1f} {self.top}V{base}"/>')
            parts.append(
                f'<text class="tick" x="{px:.1f}" y="{base + 16}" text-anchor="middle">{_tell(t)}</text>'
            )
        for t in _decades(self.y0, self.y1):
            _, py = self.at(self.x0, t)
            parts.append(f'<path class="grid" d="M{self.left} {py:.1f}H{self.wide - self.right}"/>')
            parts.append(
                f'<text class="tick" x="{self.left - 6}" y="{py + 4:.1f}" text-anchor="end">{_tell(t)}</text>'
            )
        parts.append(
            f'<text class="tick" x="{self.wide - self.right}" y="{self.high - 6}" text-anchor="end">'
            f"{escape(x_name)}</text>"
            f'<text class="tick" transform="translate(12 {self.top}) rotate(-90)" text-anchor="end">'
            f"{escape(y_name)}</text>"
        )
        return "".join(parts)


def _range(values: Sequence[float]) -> tuple[float, float]:
    known = [v for v in values if v > 0 and math.isfinite(v)]
    low, high = min(known, default=1.0), max(known, default=10.0)
    if high / low < 1.2:
        low, high = low / 1.2, high * 1.2
    margin = (high / low) ** 0.05
    return low / margin, high * margin


def _decades(low: float, high: float) -> list[float]:
    steps = (1,) if math.log10(high / low) > 3 else (1, 2, 5)
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    every = max(1, (last - first) // 8)
    return [s * 10.0**e for e in range(first, last + 1, every) for s in steps if low <= s * 10.0**e <= high]


def _tell(v: float) -> str:
    for factor, prefix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if v >= factor * (10 if prefix == "k" else 1):
            return f"{v / factor:g}{prefix}"
    return f"{v:g}" if v < 1000 else f"{v:,.0f}"


def frontier(chart: Json) -> Markup:
    """Both frontiers as steps: what the chart shows where no script runs."""
    old, new = chart["baseline"], chart["frontier"]
    if not old and not new:
        return Markup("")
    axes = _Axes([p[X] for p in [*old, *new]], [p[Y] for p in [*old, *new]], 760, 400)
    lines = "".join(_stairs(axes, points, kind) for points, kind in ((old, "old"), (new, "new")) if points)
    frame = axes.frame("tokens/s/user", "tokens/s/GPU")
    return Markup(
        '<svg class="fallback" viewBox="0 0 760 400" role="img" aria-label="Frontiers of throughput against '
        f'interactivity: conventional dashed, discovered solid">{frame}{lines}</svg>'
    )


def _stairs(axes: _Axes, points: Sequence[Json], kind: str) -> str:
    places = [axes.at(p[X], p[Y]) for p in sorted(points, key=lambda p: p[X])]
    d, last = f"M{axes.left} {places[0][1]:.1f}", ""
    for px, py in places:
        d += f"V{py:.1f}H{px:.1f}"
        last += f'<circle class="dot-{kind}" cx="{px:.1f}" cy="{py:.1f}" r="3"/>'
    return f'<path class="line-{kind}" d="{d}V{axes.high - axes.bottom}"/>{last}'


def steps(found: Sequence[tuple[int, float]]) -> Markup:
    """The gain of hypervolume over the number of structures tried."""
    if len(found) < 2:
        return Markup("")
    wide, high, left, base = 340, 150, 44, 122
    most = max(max(g for _, g in found), 1e-6) * 1.1
    last = max(n for n, _ in found)
    points = [
        (left + (wide - left - 8) * n / last, base - (base - 10) * max(0.0, g) / most) for n, g in found
    ]
    d = f"M{left} {base}" + "".join(f"H{x:.1f}V{y:.1f}" for x, y in points)
    ticks = "".join(
        f'<path class="grid" d="M{left} {base - (base - 10) * t:.1f}H{wide - 8}"/>'
        f'<text class="tick" x="{left - 5}" y="{base - (base - 10) * t + 4:.1f}" text-anchor="end">'
        f"{100 * most * t:.1f}%</text>"
        for t in (0.0, 0.45, 0.9)
    )
    said = f"Gain of hypervolume, {percent(found[-1][1])} after {count(last)} structures"
    return Markup(
        f'<svg class="steps" viewBox="0 0 {wide} {high}" role="img" aria-label="{said}">{ticks}'
        f'<path class="area-new" d="{d}V{base}Z"/><path class="line-new" d="{d}"/>'
        f'<text class="tick" x="{wide - 8}" y="{high - 8}" text-anchor="end">'
        f"{count(last)} structures</text></svg>"
    )


def roofline(sides: Json, roofs: Json) -> Markup:
    """Every operator with products or memory traffic, before (hollow) and after, under the device's roofs."""
    kernels = [
        (side, k["section"], k)
        for side in ("before", "after")
        for unit in sides[side]["units"]
        for k in unit["kernels"]
        if k["flops"] > 0 and k["bytes"] > 0 and k["seconds"] > 0
    ]
    if not kernels:
        return Markup("")
    peaks = sorted(roofs["flops_per_second"].items(), key=lambda p: p[1])
    memory = roofs["memory_bytes_per_second"]
    x = [k["flops"] / k["bytes"] for _, _, k in kernels]
    y = [k["flops"] / k["seconds"] for _, _, k in kernels]
    top = max([p for _, p in peaks] + y)
    if memory:
        x = [*x, top / memory]
    axes = _Axes(x, [*y, top * 1.6], 760, 420)
    parts = [axes.frame("FLOP per byte of memory", "FLOP/s per device")]
    for name, peak in peaks if len(peaks) < 4 else [p for p in peaks if p[0] in ("bf16", "fp8", "fp4")]:
        ridge = peak / memory if memory else axes.x0
        (px, py), (qx, _) = axes.at(max(ridge, axes.x0), peak), axes.at(axes.x1, peak)
        parts.append(f'<path class="roof" d="M{px:.1f} {py:.1f}H{qx:.1f}"/>')
        parts.append(
            f'<text class="tick" x="{qx:.1f}" y="{py - 5:.1f}" text-anchor="end">'
            f"{escape(name)} {short(peak, 'FLOP/s')}</text>"
        )
    if memory:
        (px, py), (qx, qy) = axes.at(axes.x0, axes.x0 * memory), axes.at(top / memory, top)
        parts.append(f'<path class="roof" d="M{px:.1f} {py:.1f}L{qx:.1f} {qy:.1f}"/>')
        mx, my = axes.at(axes.x0 * 1.6, axes.x0 * 1.6 * memory)
        parts.append(
            f'<text class="tick" x="{mx:.1f}" y="{my - 10:.1f}">memory {short(memory, "B/s")}</text>'
        )
    longest = max(k["seconds"] for _, _, k in kernels)
    for side, section, k in sorted(kernels, key=lambda i: -i[2]["seconds"]):
        px, py = axes.at(k["flops"] / k["bytes"], k["flops"] / k["seconds"])
        r = 3 + 9 * math.sqrt(k["seconds"] / longest)
        parts.append(
            f'<circle class="op op-{side}" cx="{px:.1f}" cy="{py:.1f}" r="{r:.1f}" '
            f'data-tip="{escape(_operator(side, section, k), quote=True)}">'
            f"<title>{escape(_operator(side, section, k))}</title></circle>"
        )
    return Markup(
        '<svg class="roofline" viewBox="0 0 760 420" role="img" aria-label="Roofline plot: operators before '
        f'and after; the table of operators has the same figures">{"".join(parts)}</svg>'
    )


def _operator(side: str, section: str, k: Json) -> str:
    return (
        f"{side}: {section} {k['name']}, {seconds(k['seconds'])} bound by {k['bound']}, "
        f"{number(k['flops'] / k['bytes'])} FLOP/byte, {short(k['flops'] / k['seconds'], 'FLOP/s')}"
    )
