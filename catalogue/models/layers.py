"""Grouping of unlike layers into repeats: the longest repeated period, from the first layer on."""

from __future__ import annotations


def runs(kinds: tuple[str, ...]) -> list[tuple[tuple[str, ...], int]]:
    """(period, repetitions) pairs that spell `kinds`: `a a b c b c` gives `(a) x 2, (b c) x 2`.

    At each layer the period that covers the most layers is taken, the shortest among equals; a period
    longer than one layer must repeat.
    """
    found: list[tuple[tuple[str, ...], int]] = []
    start = 0
    while start < len(kinds):
        best, count = 1, _repetitions(kinds, start, 1)
        for period in range(2, (len(kinds) - start) // 2 + 1):
            times = _repetitions(kinds, start, period)
            if times > 1 and times * period > best * count:
                best, count = period, times
        found.append((kinds[start : start + best], count))
        start += best * count
    return found


def _repetitions(kinds: tuple[str, ...], start: int, period: int) -> int:
    first = kinds[start : start + period]
    count = 1
    while kinds[start + count * period : start + (count + 1) * period] == first:
        count += 1
    return count
