"""When a search stands still, and how much more widely it varies then."""

from __future__ import annotations

STAGNATION = 96
"""Structures without a gain of hypervolume after which a search stagnates: four rounds of 24."""

HOTTEST = 4.0


def heat_of(quiet: int) -> float:
    """1 while the frontier grows; one more for every STAGNATION structures without a gain, up to HOTTEST."""
    return min(HOTTEST, 1.0 + quiet // STAGNATION)
