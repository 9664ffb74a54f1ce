"""Which dimension an axis cuts in a section: the placement's lines resolved for one section path."""

from __future__ import annotations

from typing import TypeAlias

from rooflang.design import Placement, Shard

# In order of writing: (dim, axes). An inner section's line about an axis replaces the outer ones.
Rules: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]


def matches(target: str, path: str) -> bool:
    """A target names a section by its last name or by the end of its dotted path."""
    return path == target or path.endswith("." + target)


def inherit(outer: Rules, own: Rules) -> Rules:
    """The rules inside a section, given those around it."""
    said = {axis for _, axes in own for axis in axes}
    kept = [(dim, tuple(a for a in axes if a not in said)) for dim, axes in outer]
    return (*own, *((dim, axes) for dim, axes in kept if axes))


def own_rules(path: str, shards: tuple[Shard, ...], mesh_axes: tuple[str, ...]) -> Rules:
    """The lines that speak of this section and of axes of its pool."""
    found = []
    for shard in shards:
        if matches(shard.target, path):
            axes = tuple(a for a in shard.axes if a in mesh_axes)
            if axes:
                found.append((shard.dim, axes))
    return tuple(found)


def rules_of(path: str, shards: tuple[Shard, ...], mesh_axes: tuple[str, ...]) -> Rules:
    """All rules in force in a section, inherited ones included."""
    rules: Rules = ()
    names = path.split(".") if path else []
    for depth in range(1, len(names) + 1):
        rules = inherit(rules, own_rules(".".join(names[:depth]), shards, mesh_axes))
    return rules


def value_rules(path: str, shards: tuple[Shard, ...], mesh_axes: tuple[str, ...]) -> Rules:
    """Lines whose target is a value: its name, or the end of its path with the names of its sections."""
    own = ((s.dim, tuple(a for a in s.axes if a in mesh_axes)) for s in shards if matches(s.target, path))
    return tuple((dim, axes) for dim, axes in own if axes)


def tier_of(path: str, placement: Placement) -> str:
    """The memory of a weight or state, given with its sections: its own line, or that of the nearest section
    around it; empty for the device's own."""
    names = path.split(".") if path else []
    for depth in range(len(names), 0, -1):
        for target, tier in placement.tiers:
            if matches(target, ".".join(names[:depth])):
                return tier
    return ""


def home_of(path: str, placement: Placement, default: str) -> str:
    """The pool of a section: its own line, or that of the nearest section around it."""
    names = path.split(".") if path else []
    for depth in range(len(names), 0, -1):
        part = ".".join(names[:depth])
        for target, pool in placement.homes:
            if matches(target, part):
                return pool
    return default
