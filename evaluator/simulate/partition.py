"""Which pipeline stage holds which part of the program."""

from __future__ import annotations

from collections.abc import Sequence


def partition(seconds: Sequence[float], layers: Sequence[int], stages: int, most: int) -> list[int]:
    """The stage of each block, in order, so that the fullest stage takes as little time as it can.

    A block is a layer (1 in `layers`) or what stands outside of them (0); no stage holds more than `most`
    layers, which is what its memory was counted for.
    """
    low, high = sum(seconds) / stages, sum(seconds)
    best = _fill(seconds, layers, most, high)
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        found = _fill(seconds, layers, most, middle)
        if found and found[-1] < stages:
            high, best = middle, found
        else:
            low = middle
    return best


def _fill(seconds: Sequence[float], layers: Sequence[int], most: int, limit: float) -> list[int]:
    """Blocks into stages of at most `limit` seconds, each filled before the next; empty if one is longer."""
    found: list[int] = []
    stage, time, held = 0, 0.0, 0
    for block, count in zip(seconds, layers, strict=True):
        if block > limit:
            return []
        if time + block > limit or held + count > most:
            stage, time, held = stage + 1, 0.0, 0
        time, held = time + block, held + count
        found.append(stage)
    return found
