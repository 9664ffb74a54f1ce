"""Lengths of prompts and answers in tokens: fixed, uniform over a range, or a list with weights."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluator.errors import ScenarioError
from evaluator.scenario import LONGEST

STRATA = 32
"""Points that stand for a range with more lengths than this, each for an equal part of it."""


@dataclass(frozen=True, slots=True)
class Lengths:
    """A distribution of lengths: `values` in tokens, each at least 1, with `weights` that sum to 1."""

    values: tuple[float, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.values or len(self.values) != len(self.weights):
            raise ScenarioError("a distribution of lengths must have a weight for each length")
        if not min(self.values) >= 1:
            raise ScenarioError(f"a length must be at least 1 token, but got {min(self.values):g}")
        if not max(self.values) <= LONGEST:
            raise ScenarioError(f"a length must be at most {LONGEST:,} tokens, but got more; lower it")
        if not min(self.weights) >= 0 or not abs(sum(self.weights) - 1) < 1e-6:
            raise ScenarioError(f"weights of lengths must sum to 1, but sum to {sum(self.weights):g}")

    @property
    def mean(self) -> float:
        return float(np.dot(self.values, self.weights))

    @property
    def longest(self) -> float:
        return max(self.values)

    @property
    def arrays(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(lengths, weights)."""
        return np.array(self.values, dtype=float), np.array(self.weights, dtype=float)


def fixed(tokens: float) -> Lengths:
    """One length for all."""
    return Lengths((float(tokens),), (1.0,))


def uniform(low: int, high: int) -> Lengths:
    """Every whole length from low to high alike; of a wide range the middles of equal parts."""
    if not low <= high:
        raise ScenarioError(f"a range of lengths must begin with the smaller one, but got {low}-{high}")
    count = high - low + 1
    if count <= STRATA:
        values = [float(low + i) for i in range(count)]
    else:
        # Whole lengths, mirrored about the middle so that the mean is kept.
        half = [math.floor(low - 0.5 + count * (i + 0.5) / STRATA) for i in range(STRATA // 2)]
        values = [float(v) for v in (*half, *(low + high - v for v in reversed(half)))]
    return Lengths(tuple(values), tuple(1 / len(values) for _ in values))


def listed(pairs: dict[int, float]) -> Lengths:
    """Lengths with weights in any unit."""
    total = sum(pairs.values())
    if not (min(pairs.values()) >= 0 and 0 < total < math.inf):
        raise ScenarioError("weights of lengths must be finite numbers of at least 0, and one of them more")
    return Lengths(tuple(float(v) for v in pairs), tuple(w / total for w in pairs.values()))


def read_lengths(text: str) -> Lengths:
    """Lengths from text: `8192`, `1024-8192` for a range, `1024:0.7,8192:0.3` for a list with weights.

    Raises ScenarioError with what must hold.
    """
    try:
        if ":" in text:
            pairs = [part.split(":") for part in text.split(",")]
            found: dict[int, float] = {}
            for length, weight in pairs:
                found[int(length)] = found.get(int(length), 0.0) + float(weight)
            return listed(found)
        low, dash, high = text.partition("-")
        return uniform(int(low), int(high)) if dash else fixed(int(low))
    except (ValueError, OverflowError) as error:
        if isinstance(error, ScenarioError):
            raise
        raise ScenarioError(
            "a length must be a whole number, a range such as 1024-8192, or a list with weights such as "
            f"1024:0.7,8192:0.3, but got {text!r}"
        ) from None
