"""Grouping of unlike layers into repeats: the shortest spelling of their sequence."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

Kind = TypeVar("Kind", bound=Hashable)


def runs(kinds: Sequence[Kind]) -> list[tuple[tuple[Kind, ...], int]]:
    """(period, repetitions) pairs that spell `kinds`: `a a b c b c` gives `(a) x 2, (b c) x 2`.

    Of all spellings, that with the fewest layers written out, then the fewest pairs. A period longer than
    one layer repeats.
    """
    numbers: dict[Kind, int] = {}
    text = [numbers.setdefault(kind, len(numbers)) for kind in kinds]
    end = len(text)
    # alike[p][i]: for how many layers from i on each is equal to that p layers later.
    alike = [[0] * (end + 1) for _ in range(end // 2 + 1)]
    for period in range(1, end // 2 + 1):
        for i in range(end - period - 1, -1, -1):
            alike[period][i] = alike[period][i + 1] + 1 if text[i] == text[i + period] else 0
    # best[i]: (layers written, pairs, period, repetitions) of the rest from layer i on.
    best: list[tuple[int, int, int, int]] = [(0, 0, 0, 0)] * (end + 1)
    for start in range(end - 1, -1, -1):
        found_here = (end + 1, 0, 0, 0)
        for period in range(1, max(1, (end - start) // 2) + 1):
            most = 1 + (alike[period][start] // period if period < len(alike) else 0)
            shorter = any(
                period % p == 0 and alike[p][start] >= period - p for p in range(1, period // 2 + 1)
            )
            if (period > 1 and most == 1) or shorter:
                continue
            for times in range(most, 0 if period == 1 else 1, -1):
                written, pairs, _, _ = best[start + period * times]
                option = (written + period, pairs + 1, period, times)
                if option[:2] < found_here[:2]:
                    found_here = option
        best[start] = found_here
    found = []
    position = 0
    while position < end:
        _, _, period, times = best[position]
        found.append((tuple(kinds[position : position + period]), times))
        position += period * times
    return found
