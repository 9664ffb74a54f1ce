"""The least work of a step of a model: what any design of it must do, whatever its order and placement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from evaluator.numeric import Numeric, Value, total
from evaluator.products import Chain, chains
from rooflang.lowered import LocalOp, Lowered, Unit, Use
from rooflang.size import ONE, Size, div, minimum, mul
from rooflang.work import Extents
from rooflang.work.arithmetic import arithmetic
from rooflang.work.cascade import share_held
from rooflang.work.traffic import read_bytes, roots, write_bytes


@dataclass(slots=True)
class Least:
    """Amounts over all layers.

    flops          by matrix rate, products of several operands in their cheapest order
    exponentials   evaluations of the special-function unit
    bytes          weight, expert (as many as are expected to be chosen), state: each read once
    products       products with weights that follow each other
    weights_held, caches_held    bytes to store: all weights, caches of one sequence
    largest_layer  bytes of weights in the largest layer
    """

    flops: dict[str, Value] = field(default_factory=dict)
    exponentials: Value = 0.0
    bytes: dict[str, Value] = field(default_factory=lambda: dict.fromkeys(("weight", "expert", "state"), 0.0))
    products: int = 0
    weights_held: float = 0.0
    caches_held: float = 0.0
    largest_layer: float = 0.0


def least(lowered: Lowered, n: Numeric, *, draft: bool) -> Least:
    """The least work of the model's layers, or of its draft layers run once, at the sizes of `n`.

    `lowered` is the model on one device.
    """
    found = Least()
    for segment in lowered.segments:
        if segment.draft != draft:
            continue
        held = 0.0
        for unit in segment.units:
            held += _add(found, unit, lowered.sizes, n, segment.count)
        found.largest_layer = max(found.largest_layer, held)
    return found


def _add(found: Least, unit: Unit, sizes: Mapping[str, Size], n: Numeric, count: int) -> float:
    """Add `count` times a unit; returns the bytes of its weights."""
    extents = Extents(dict(sizes), {r.tag: r for r in unit.routings})
    parts = chains(unit)
    held = 0.0
    for chain in parts:
        flops = chain.least_flops(extents, n)
        found.flops[chain.rate] = found.flops.get(chain.rate, 0.0) + flops * count
        stored = chain.least_weight_bytes(extents, n)
        found.bytes["weight"] = found.bytes["weight"] + stored * count
        held += stored
    inside = {id(op) for chain in parts for op in chain.ops}
    states: dict[str, list[Size]] = {}
    chosen: dict[str, Size] = {}
    seen: set[str] = set()
    looked = roots(unit)
    for op in unit.ops:
        found.exponentials = found.exponentials + n(arithmetic(op, extents)[2]) * count
        for use in _read(op):
            base = looked.get(use.tensor, use.tensor)
            if base.kind == "state":
                amount = read_bytes(use, extents, base, op)[1]
                if op.operator == "pool":
                    blocks = div(sizes["Q"], int(op.attribute("every") or 1))
                    amount = mul(amount, minimum(ONE, blocks))
                elif use.index is None:  # a shared prefix may be read once for all that share it
                    amount = mul(amount, share_held(base, extents, ()))
                states.setdefault(base.name.partition("+")[0], []).append(amount)
            elif base.kind == "weight" and use.index is not None:
                kind, amount = read_bytes(use, extents, base, op)
                if kind == "expert":  # a table look-up may share its rows
                    chosen[base.name] = amount
                if base.name not in seen:
                    held += float(np.max(n(extents.bytes(base))))
                    seen.add(base.name)
            elif base.kind == "weight" and id(op) not in inside and base.name not in seen:
                seen.add(base.name)
                stored = float(np.max(n(extents.bytes(base))))
                found.bytes["weight"] = found.bytes["weight"] + stored * count
                held += stored
        if op.operator == "append":
            found.bytes["state"] = found.bytes["state"] + n(write_bytes(op, extents)[1]) * count
    for amounts in states.values():
        largest: Value = 0.0
        for amount in amounts:
            largest = np.maximum(largest, n(amount))
        found.bytes["state"] = found.bytes["state"] + largest * count
    found.bytes["expert"] = found.bytes["expert"] + total([n(a) for a in chosen.values()]) * count
    found.products += _depth(unit, parts) * count
    found.weights_held += held * count
    batch = n(sizes["B"])
    for tensor in unit.states:
        amount = mul(extents.bytes(tensor), share_held(tensor, extents, ()))
        found.caches_held += float(np.min(n(amount) / batch)) * count
    return held


def _read(op: LocalOp) -> Iterator[Use]:
    """Operands that are read; an append only writes its cache."""
    yield from op.operands[1:] if op.operator == "append" else op.operands


def _depth(unit: Unit, parts: tuple[Chain, ...]) -> int:
    """The longest row of products with weights that wait for each other."""
    heads = {id(op): chain for chain in parts for op in chain.ops}
    depth: dict[object, int] = {}
    longest = 0
    for op in unit.ops:
        before = max((depth.get(u.tensor, 0) for u in op.operands), default=0)
        chain = heads.get(id(op))
        own = int(chain is not None and op is chain.ops[-1] and chain.has_weight)
        depth[op.result] = before + own
        longest = max(longest, before + own)
    return longest
