"""All rules by name."""

from __future__ import annotations

from functools import lru_cache
from types import ModuleType

from mutations import (
    algebra,
    apart,
    cascade,
    collectives,
    context,
    deferral,
    disaggregate,
    duplicate,
    fusion,
    gains,
    gathering,
    merge,
    pingpong,
    prefetch,
    recompute,
    residency,
    sharding,
    streams,
    two_level,
    weights,
)
from mutations.faults.declared import declared
from mutations.rule import Rule, RuleError
from rooflang.errors import nearest

_FAMILIES: tuple[ModuleType, ...] = (
    sharding,
    context,
    weights,
    collectives,
    two_level,
    deferral,
    gathering,
    duplicate,
    recompute,
    disaggregate,
    apart,
    pingpong,
    streams,
    prefetch,
    fusion,
    residency,
    merge,
    algebra,
    gains,
    cascade,
)


@lru_cache(maxsize=1)
def _by_name() -> dict[str, Rule]:
    found: dict[str, Rule] = {}
    for module in _FAMILIES:
        for one in module.RULES:
            if one.name in found:
                raise RuleError(f"names of rules must differ, but {one.name!r} is there twice")
            declared(one.name, one.family)  # a rule whose faults nobody knows is not registered
            found[one.name] = one
    return found


def rules() -> tuple[Rule, ...]:
    """Every rule, by family."""
    return tuple(_by_name().values())


def rule(name: str) -> Rule:
    """The rule of that name. Raises RuleError with the nearest names for an unknown one."""
    found = _by_name().get(name)
    if found is None:
        raise RuleError(f"a rule must be known, but got {name!r}{nearest(name, list(_by_name()))}")
    return found
