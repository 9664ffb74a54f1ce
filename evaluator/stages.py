"""The fullest pipeline stage: what it has at least, whichever stage holds which layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from evaluator.numeric import Value, total
from evaluator.order import layer_name, ordered
from evaluator.plan import Plan


@dataclass(frozen=True, slots=True)
class Kind:
    """Equal layers of the model: how many, the items of one, and its units."""

    count: int
    items: tuple[int, ...]
    units: tuple[int, ...]


@lru_cache(maxsize=512)
def layer_kinds(plan: Plan) -> tuple[Kind, ...]:
    """The layers of a model by kind. A repeat may hold several layers, each a section with sections."""
    units = ordered(plan)
    deep = {u.path.split(".")[0] for u in units if u.path.count(".") > 1}
    found: dict[tuple[str, str], list[int]] = {}
    items: dict[int, list[int]] = {}
    for index, item in enumerate(plan.items):
        items.setdefault(item.unit, []).append(index)
    for unit in units:
        first = plan.items[items[unit.unit][0]]
        name, inner = layer_name(unit)
        if first.repeated and not first.draft and (inner or name not in deep):
            found.setdefault((name, inner), []).append(unit.unit)
    return tuple(
        Kind(plan.items[items[u[0]][0]].layers, tuple(i for n in u for i in items[n]), tuple(u))
        for u in found.values()
    )


def most_layers(plan: Plan, stages: Value) -> Value:
    """Layers that the stage with most of them holds, which its memory is counted for."""
    return np.ceil(plan.layers / stages)


def fullest(
    plan: Plan, stages: Value, counts: Callable[[int], bool], value: Callable[[int], Value],
    more: Mapping[int, Value],
) -> Value:  # fmt: skip
    """Sum of `value` over the items that count, for the lightest layers that one stage may hold together.

    Some stage has ⌈L/stages⌉ of the L layers: of each kind at least as many as the others cannot supply.
    `more` is added per unit.
    """
    kinds = layer_kinds(plan)
    if not kinds:
        return 0.0
    held, every = most_layers(plan, stages), float(sum(k.count for k in kinds))
    values = [_of(kind, counts, value, more) for kind in kinds]
    lightest = values[0]
    for other in values[1:]:
        lightest = np.minimum(lightest, other)
    found = [held * lightest]
    for kind, own in zip(kinds, values, strict=True):
        if kind.count > every / 2:  # else the other kinds can fill any stage
            found.append(np.maximum(0.0, held - (every - kind.count)) * (own - lightest))
    return total(found)


def heaviest(plan: Plan, counts: Callable[[int], bool], value: Callable[[int], Value],
             more: Mapping[int, Value]) -> Value:  # fmt: skip
    """The most that one layer has."""
    found: Value = 0.0
    for kind in layer_kinds(plan):
        found = np.maximum(found, _of(kind, counts, value, more))
    return found


def _of(kind: Kind, counts: Callable[[int], bool], value: Callable[[int], Value],
        more: Mapping[int, Value]) -> Value:  # fmt: skip
    return total([*(value(i) for i in kind.items if counts(i)), *(more[u] for u in kind.units if u in more)])
