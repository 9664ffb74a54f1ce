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
    # best[i]: (layers written, pairs, period, repetitions) of the rest from layer i on.
    best: list[tuple[int, int, int, int]] = [(0, 0, 0, 0)] * (end + 1)
    for start in range(end - 1, -1, -1):
        options = []
        for period in range(1, end - start + 1):
            most = _repetitions(text, start, period)
            if period > 1 and most == 1:
                continue
            for times in range(most, 0 if period == 1 else 1, -1):
                written, pairs, _, _ = best[start + period * times]
                options.append((written + period, pairs + 1, period, times))
        best[start] = min(options, key=lambda o: (o[0], o[1], o[2], -o[3]))
    found = []
    position = 0
    while position < end:
        _, _, period, times = best[position]
        found.append((tuple(kinds[position : position + period]), times))
        position += period * times
    return found


def _repetitions(text: list[int], start: int, period: int) -> int:
    first = text[start : start + period]
    count = 1
    while text[start + count * period : start + (count + 1) * period] == first:
        count += 1
    return count
