"""The longest path through the kernels of a unit, where some of them can run beside others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

import numpy as np

from evaluator.numeric import Value, largest, total
from evaluator.order import Ordered, ordered
from evaluator.plan import Plan


@lru_cache(maxsize=512)
def irregular(plan: Plan) -> tuple[Ordered, ...]:
    """Units whose time is not the sum over their kernels: those that branch or transfer between pools."""
    return tuple(u for u in ordered(plan) if u.branches or any(len(n.items) > 1 for n in u.nodes))


def one_after_another(unit: Ordered, seconds: Callable[[int], Value]) -> Value:
    """Seconds of a unit whose kernels never overlap; both sides of a transfer run at once."""
    return total([_node(node.items, seconds) for node in unit.nodes])


def longest_path(plan: Plan, unit: Ordered, seconds: Callable[[int], Value]) -> Value:
    """Seconds of a unit that no order of its kernels can beat: its longest chain of kernels that wait for
    each other, and what the arithmetic of any pool takes. `seconds` are by item of the plan."""
    ends: list[Value] = []
    for run in unit.runs:
        own = total([_node(unit.nodes[n].items, seconds) for n in run.nodes])
        ends.append(own + largest([ends[b] for b in run.before]) if run.before else own)
    computed: dict[str, list[Value]] = {}
    for node in unit.nodes:
        item = plan.items[node.items[0]]
        if item.kernel.engine == "compute":
            computed.setdefault(plan.works[item.work].pool, []).append(seconds(node.items[0]))
    return largest([*ends, *(total(values) for values in computed.values())])


def hidden_in_pool(plan: Plan, unit: Ordered, pool: str, seconds: Callable[[int], Value]) -> Value:
    """Seconds of a unit's second stream that can pass beside its transfers, on one pool."""
    beside: list[Value] = []
    moves: list[Value] = []
    for node in unit.nodes:
        for index in node.items:
            item = plan.items[index]
            if plan.works[item.work].pool == pool and (item.stream or item.kernel.engine == "link"):
                (beside if item.stream else moves).append(seconds(index))
    return np.minimum(total(beside), total(moves)) if beside and moves else 0.0


def over_units(plan: Plan, drafted: Value, values: Mapping[int, Value]) -> Value:
    """Sum over a step of a value per unit."""
    found: list[Value] = []
    for item in {i.unit: i for i in plan.items if i.unit in values}.values():
        runs: Value = item.layers * drafted if item.draft else float(item.layers)
        found.append(values[item.unit] * runs)
    return total(found)


def _node(items: tuple[int, ...], seconds: Callable[[int], Value]) -> Value:
    return seconds(items[0]) if len(items) == 1 else largest([seconds(i) for i in items])
