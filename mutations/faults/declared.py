"""Which kinds of fault each rule declares: those that its rewrite could make, and that the gate must inject.

Every kind is injected wherever it applies, declared or not. What is declared here must find a place in some
result of the rule, or the gate fails: a rule that no fault fits is not tested. A rule has the faults of its
family, and those of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mutations.faults.kinds import NAMES

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

_STAGES = ("layer dropped", "layer doubled", "sections swapped")

RULES: Final[Mapping[str, tuple[str, ...]]] = {
    "shard attention": ("stale version", "append dropped", "part of sum dropped"),
    "shard experts": ("wrong expert map", "wrong top-k", "non-linear before reduce"),
    "shard mlp": ("non-linear before reduce", "quantise before reduce", "sum left unfinished"),
    "shard moe tokens": ("wrong expert map", "wrong dimension"),
    "shard ends": ("local top-k", "wrong top-k"),
    "add pipeline": _STAGES,
    "remove pipeline": _STAGES,
    "factor axis": ("axis missing", "wrong dimension"),
    "join axes": ("wrong dimension", "sum left unfinished"),
    "context parallel": ("local statistics", "append dropped", "wrong mask", "span off by one"),
    "context whole": ("append dropped", "wrong mask", "stale version"),
    "cut weight": ("sum left unfinished", "non-linear before reduce", "wrong dimension"),
    "scatter residual": ("summand doubled", "wrong dimension"),
    "whole residual": ("summand doubled",),
    "two-level sum": ("axis missing", "part counted twice", "summand doubled"),
    "one-level sum": ("part counted twice", "sum left unfinished"),
    "defer sum": ("sum left unfinished", "non-linear before reduce", "quantise before reduce"),
    "finish sum": ("sum left unfinished", "part counted twice"),
    "gather before product": ("wrong dimension", "product dropped"),
    "product before gather": ("wrong dimension", "product dropped"),
    "gather instead of repeat": ("wrong dimension", "axis missing"),
    "repeat instead of gather": ("wrong dimension", "product dropped"),
    "recompute": ("operator dropped", "operand rewired", "kernel of nothing"),
    "compute once": ("operator dropped", "operand rewired", "kernel of nothing"),
    "disaggregate experts": ("wrong expert map", "pools swapped"),
    "disaggregate feed-forward": ("pools swapped", "stale neighbour"),
    "merge pools": ("wrong expert map", "wrong top-k"),
    "disaggregate indexer": ("pools swapped", "wrong top-k"),
    "merge indexer": ("wrong top-k", "wrong expert map"),
    "disaggregate head": ("pools swapped", "wrong top-k"),
    "merge head": ("wrong top-k", "local top-k"),
    "micro-batches": ("stale version", "micro-batches lost"),
    "no overlap": ("stale version", "micro-batches lost"),
    "second stream": ("sections swapped", "line of nothing"),
    "one stream": ("sections swapped", "product dropped"),
    "prefetch": ("weight or cache narrowed", "line of nothing"),
    "no prefetch": ("weight or cache narrowed", "wrong weight"),
    "fuse": ("kernel of nothing", "value fused twice"),
    "fuse between collectives": ("kernel of nothing", "value fused twice", "collective skipped"),
    "split kernel": ("kernel of nothing", "value fused twice"),
    "keep in host": ("append dropped", "line of nothing"),
    "keep in device": ("append dropped", "wrong mask"),
    "merge products": ("slice elsewhere", "slice off by one", "weight or cache narrowed"),
    "unmerge products": ("operand rewired",),
    "reassociate": ("stale version", "kernel of nothing"),
    "move scale": ("wrong scale", "operator dropped"),
    "fold gain": ("weight or cache narrowed", "operator dropped"),
    "unfold gain": ("operator dropped", "wrong constant"),
    "cascade attention": ("part of sum dropped", "wrong mask", "line of nothing"),
    "one-pass attention": ("stale version", "wrong mask"),
}


def declared(name: str, family: str) -> tuple[str, ...]:
    """The kinds of fault that a rule declares: its family's and its own. Raises ValueError for a rule
    without any of its own, or for an unknown kind."""
    own = RULES.get(name, ())
    if not own:
        raise ValueError(
            f"a rule must declare faults of its own in mutations/faults/declared.py, but {name!r} has none"
        )
    found = tuple(dict.fromkeys((*FAMILIES.get(family, ()), *own)))
    for fault in found:
        if fault not in NAMES:
            raise ValueError(f"{name!r} declares the fault {fault!r}, which mutations/faults does not know")
    return found
