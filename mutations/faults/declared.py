"""Which kinds of fault each rule declares: those that its rewrite could make, and that the gate must inject.

Every kind is injected wherever it applies, declared or not. What is declared here must find a place in some
result of the rule, or the gate fails: a rule that no fault fits is not tested. A rule has the faults of its
family, and those of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mutations.faults.kinds import BY_NAME

_MOVES = ("collective dropped", "collective skipped", "collective doubled", "wrong collective", "wrong axis")
_WIRES = ("operand rewired", "scale too many", "value narrowed")

FAMILIES: Final[Mapping[str, tuple[str, ...]]] = {
    "sharding": (*_MOVES, "wrong shard", "operand rewired"),
    "collectives": (*_MOVES, "stale neighbour"),
    "duplication": (*_MOVES, "wrong shard", "wrong weight"),
    "disaggregation": (*_MOVES, "operand rewired"),
    "overlap": ("operand rewired", "sequences mixed", "summand dropped"),
    "fusion": (*_WIRES, "operator dropped"),
    "algebra": (*_WIRES, "product dropped", "wrong weight"),
    "residency": (*_WIRES, "weight or cache narrowed", "stale version"),
    "decoding": (*_WIRES, "choice too early"),
}

RULES: Final[Mapping[str, tuple[str, ...]]] = {
    "shard attention": ("stale version", "append dropped", "part of sum dropped"),
    "shard experts": ("wrong expert map", "wrong top-k", "non-linear before reduce"),
    "shard mlp": ("non-linear before reduce", "quantise before reduce", "sum left unfinished"),
    "shard moe tokens": ("wrong expert map", "wrong dimension"),
    "shard ends": ("local top-k", "wrong top-k"),
    "context parallel": ("local statistics", "append dropped", "wrong mask", "span off by one"),
    "scatter residual": ("summand doubled", "wrong dimension"),
    "whole residual": ("summand doubled",),
    "disaggregate experts": ("wrong expert map", "pools swapped", "stale neighbour"),
    "disaggregate feed-forward": ("pools swapped", "stale neighbour"),
    "disaggregate head": ("pools swapped",),
    "disaggregate indexer": ("pools swapped", "wrong top-k"),
    "micro-batches": ("stale version",),
    "merge products": ("slice elsewhere", "slice off by one", "weight or cache narrowed"),
    "unmerge products": ("operand rewired",),
    "reassociate": ("stale version",),
    "move scale": ("wrong scale", "operator dropped"),
}


def declared(name: str, family: str) -> tuple[str, ...]:
    """The kinds of fault that a rule declares. Raises ValueError for none, or an unknown one."""
    found = tuple(dict.fromkeys((*FAMILIES.get(family, ()), *RULES.get(name, ()))))
    if not found:
        raise ValueError(
            f"a rule must declare its faults in mutations/faults/declared.py, but {name!r} has none"
        )
    for fault in found:
        if fault not in BY_NAME:
            raise ValueError(f"{name!r} declares the fault {fault!r}, which mutations/faults does not know")
    return found
