"""Numbers for people: three significant digits and units of the field. Decimal prefixes throughout."""

from __future__ import annotations

import math


def number(value: float) -> str:
    """Three significant digits; thousands with a comma: 19,624, 162, 4.35, 0.0123."""
    if not math.isfinite(value):
        return "–"
    size = abs(value)
    if size >= 100 or value == int(value):
        return f"{value:,.0f}"
    if size >= 10:
        return f"{value:.1f}"
    if size >= 1:
        return f"{value:.2f}"
    return f"{value:.3g}"


def _scaled(value: float, steps: tuple[tuple[float, str], ...]) -> str:
    for scale, unit in steps:
        if abs(value) >= scale:
            return f"{number(value / scale)} {unit}"
    scale, unit = steps[-1]
    return f"{number(value / scale)} {unit}"


def seconds(value: float) -> str:
    """As s, ms or µs."""
    return _scaled(value, ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")))


def size(value: float) -> str:
    """Bytes as TB, GB, MB, kB or B, decimal."""
    return _scaled(value, ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")))


def flops(value: float) -> str:
    """FLOPs as PFLOP, TFLOP, GFLOP or MFLOP."""
    return _scaled(value, ((1e15, "PFLOP"), (1e12, "TFLOP"), (1e9, "GFLOP"), (1e6, "MFLOP")))


def count(value: float) -> str:
    """A count as T, B, M or plain: parameters."""
    return _scaled(value, ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1.0, ""))).strip()


def column(value: float) -> str:
    """A number under a heading that names its unit; a dash for nothing."""
    if value == 0 or not math.isfinite(value):
        return "–"
    return f"{value:.3f}" if 0.001 <= value < 1 else "<.001" if 0 < value < 0.001 else number(value)


def percent(value: float) -> str:
    """A gain or a loss: +12.3 %."""
    return f"{value * 100:+.1f} %"


def share(value: float) -> str:
    """A share of a whole in percent: 12 %, <1 %."""
    return "<1 %" if 0 < value < 0.005 else f"{value * 100:.0f} %"
