"""Weights fetched onto the chip while transfers keep the memory idle: what that takes off a unit's time.

A transfer leaves the memory idle for its time less its own traffic. In that time the weights of the kernels
behind it can be read, as many as the chip holds, if the schedule says so and no choice decides which they
are. A kernel then starts with them on the chip, and is shorter by as much as it waited for its memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

import numpy as np

from evaluator.numeric import Value, largest
from evaluator.order import Ordered, ordered
from evaluator.plan import Plan
from evaluator.price import Price
from evaluator.rates import Rates


def prefetched(plan: Plan, prices: list[Price], rates: Mapping[str, Rates]) -> dict[int, Value]:
    """Seconds by unit, negative. Units whose kernels branch or pass between pools are left as they are."""
    found: dict[int, Value] = {}
    if not any(plan.fetched):
        return found
    idle: Value = 0.0
    for segment, units in groupby(ordered(plan), key=lambda u: u.segment):
        layer = tuple(units)
        first, idle = _layer(plan, layer, prices, rates, idle)
        again, idle = _layer(plan, layer, prices, rates, idle)
        count = next(s.count for s in plan.lowered.segments if s.name == segment)
        for unit in first:
            found[unit] = -(first[unit] + (count - 1) * again[unit]) / count
    return found


def _layer(
    plan: Plan, units: tuple[Ordered, ...], prices: list[Price], rates: Mapping[str, Rates], idle: Value
) -> tuple[dict[int, Value], Value]:
    """What each unit saves, given how long the memory was idle before it; and the same after the last."""
    saved: dict[int, Value] = {}
    for unit in units:
        if unit.branches or any(len(node.items) > 1 for node in unit.nodes):
            saved[unit.unit], idle = 0.0, 0.0
            continue
        saved[unit.unit], idle = _unit(plan, unit, prices, rates, idle)
    return saved, idle


def _unit(
    plan: Plan, unit: Ordered, prices: list[Price], rates: Mapping[str, Rates], idle: Value
) -> tuple[Value, Value]:
    saved: Value = 0.0
    for node in unit.nodes:
        item = plan.items[node.items[0]]
        price = prices[item.work]
        memory = price.resources.get("memory", 0.0)
        if item.kernel.engine == "link":
            room = rates[plan.works[item.work].pool].prefetch_seconds
            idle = np.minimum(idle + np.maximum(price.seconds - memory, 0.0), room)
        elif plan.fetched[item.work]:
            others = [v for k, v in price.resources.items() if k not in ("memory", "host")]
            rest = largest([price.floor, *others, memory - price.dense])
            used = np.minimum(idle, np.maximum(np.maximum(memory, price.floor) - rest, 0.0))
            saved, idle = saved + used, idle - used
    return saved, idle
