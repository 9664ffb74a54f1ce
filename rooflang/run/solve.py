"""Small sizes that meet demands: backtracking over real sizes, small ones first."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice
from math import lcm, prod

from rooflang.run.facts import Facts
from rooflang.run.value import ExecutionError


def solve(facts: Facts, step: dict[int, int], variant: int) -> dict[int, int]:
    """Backtracking from small to large real values; relations decide values that they can."""
    facts.sums.update(_ends(facts))
    for whole, parts in (*facts.sums, *facts.products):
        facts.values.update((whole, *parts))
    for start, part, whole in facts.bounds:
        facts.values.update((start, part, whole))
    values = sorted(facts.values)
    chosen: dict[int, int] = {v: v for v in values if 0 <= v < 2}
    free = [v for v in values if v not in chosen]
    budget = [4000]

    def fits(v: int) -> bool:
        t = chosen[v]
        for whole, parts in facts.products:
            known = [chosen.get(p) for p in parts]
            if (
                v in (whole, *parts)
                and whole in chosen
                and None not in known
                and chosen[whole] != prod(k or 0 for k in known)
            ):
                return False
        for whole, parts in facts.sums:
            known = [chosen.get(p) for p in parts]
            if (
                v in (whole, *parts)
                and whole in chosen
                and None not in known
                and chosen[whole] != sum(k or 0 for k in known)
            ):
                return False
        for start, part, whole in facts.bounds:
            if v in (start, part, whole) and {start, part, whole} <= set(chosen):
                total = chosen[start] + chosen[part]
                if total > chosen[whole] or ((start + abs(part) == whole) != (total == chosen[whole])):
                    return False
        for k, e in facts.double:
            if v in (k, e) and k in chosen and e in chosen and (2 * chosen[k] >= chosen[e]) and 2 * k < e:
                return False
        return t not in (chosen[o] for o in chosen if o != v and (o < 0) == (v < 0))

    def candidates(v: int) -> Iterator[int]:
        need = step.get(v, 1)
        if v in facts.even:
            need = lcm(need, 2)
        least = max(2, facts.least.get(v, 2))
        forced = [
            prod(chosen[p] for p in parts)
            for whole, parts in facts.products
            if whole == v and all(p in chosen for p in parts)
        ]
        forced += [
            sum(chosen[p] for p in parts)
            for whole, parts in facts.sums
            if whole == v and all(p in chosen for p in parts)
        ]
        forced += [
            chosen[s] + chosen[p]
            for s, p, whole in facts.bounds
            if whole == v and s + p == whole and s in chosen and p in chosen
        ]
        if forced:
            yield from (f for f in forced[:1] if f % need == 0 and f >= least)
            return
        # The second assignment has other sizes; where many ranks cut a dimension, other meshes see to that.
        first = -(-least // need) + (1 if variant % 2 and need < 4 else 0)
        yield from (need * m for m in islice(count(first), 14))

    def search(position: int) -> bool:
        if position == len(free):
            return True
        v = free[position]
        for t in candidates(v):
            budget[0] -= 1
            if budget[0] < 0:
                return False
            chosen[v] = t
            if fits(v) and search(position + 1):
                return True
            del chosen[v]
        return False

    if not search(0):
        raise ExecutionError(
            "execution.sizes", "no small sizes keep all of the relations between the design's sizes"
        )
    return chosen


def _ends(facts: Facts) -> Iterator[tuple[int, tuple[int, int]]]:
    """Slices of one whole that lie side by side: where one ends the next one starts."""
    starts = {(start, whole) for start, _, whole in facts.bounds}
    for start, part, whole in facts.bounds:
        if start and (start + part, whole) in starts:
            yield start + part, (start, part)
