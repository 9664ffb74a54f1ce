"""Logarithmic axes: the range that holds all points, ticks at 1, 2 and 5, and their labels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Xy = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Curve:
    """A named frontier: points (x, y), both above zero, in any order."""

    name: str
    points: tuple[Xy, ...]

    @property
    def sorted(self) -> tuple[Xy, ...]:
        return tuple(sorted(self.points))


@dataclass(frozen=True, slots=True)
class Axis:
    """A logarithmic axis from `low` to `high`."""

    low: float
    high: float

    def at(self, value: float) -> float:
        """Where a value lies: 0 at `low`, 1 at `high`."""
        return (math.log(value) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))

    def ticks(self, most: int) -> tuple[float, ...]:
        """Values 1, 2, 5 times powers of ten; powers alone where these are too many."""
        for steps in ((1, 2, 5), (1, 3), (1,)):
            first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
            found = [s * 10.0**e for e in range(first, last + 1) for s in steps]
            inside = tuple(v for v in found if self.low * 0.999 <= v <= self.high * 1.001)
            if len(inside) <= most:
                return inside
        return inside[:: math.ceil(len(inside) / most)]


def axis(values: Iterable[float], margin: float = 0.04) -> Axis:
    """The axis that holds all values with a margin on both sides."""
    found = [v for v in values if v > 0 and math.isfinite(v)]
    if not found:
        return Axis(1.0, 10.0)
    low, high = math.log(min(found)), math.log(max(found))
    extra = max(margin * (high - low), 0.05)
    return Axis(math.exp(low - extra), math.exp(high + extra))


def axes(curves: Sequence[Curve]) -> tuple[Axis, Axis]:
    """Both axes of a picture that holds these curves."""
    points = [p for c in curves for p in c.points]
    return axis(x for x, _ in points), axis(y for _, y in points)


def label(value: float) -> str:
    """A short tick label: 500, 1k, 20k, 0.5."""
    if value >= 1e6:
        return f"{value / 1e6:g}M"
    if value >= 1e3:
        return f"{value / 1e3:g}k"
    return f"{value:g}"
