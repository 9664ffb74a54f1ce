"""Bytes that a design needs on each device, by class, and whether they fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluator.numeric import Numeric, Value
from evaluator.plan import Plan


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes per device of one pool: weights, caches and states, activations in flight, and the capacity; and
    of the host's memory."""

    weights: Value
    kv: Value
    activations: Value
    capacity: float
    host_weights: Value = 0.0
    host_kv: Value = 0.0
    host_capacity: float = 0.0

    @property
    def total(self) -> Value:
        return self.weights + self.kv + self.activations

    @property
    def fits(self) -> NDArray[np.bool_]:
        beside = np.asarray(self.host_weights + self.host_kv) <= self.host_capacity
        return np.asarray(np.logical_and(np.asarray(self.total) <= self.capacity, beside))


def memory(
    plan: Plan,
    whole: Mapping[str, Numeric],
    part: Mapping[str, Numeric],
    capacity: Mapping[str, float],
    stages: Value,
    drafted: Value,
    redundant: Value = 0.0,
    host: Mapping[str, float] | None = None,
) -> dict[str, Memory]:
    """Memory by pool. `whole` holds all sequences of the replica (their caches stay resident), `part`
    one micro-batch (its activations). A pipeline stage holds the layers of its stage. `redundant` experts
    beyond its share are on each rank that shares experts with others. `host` is the capacity of the host's
    memory per device; what is fetched from it needs room for two kernels."""
    found: dict[str, Memory] = {}
    total = float(plan.layers)
    staged: Value = np.ceil(total / stages) / total
    pipeline = plan.lowered.design.placement.pipeline
    drafting = np.minimum(drafted, 1.0)
    for pool in capacity:
        n = whole[pool]
        # A pool without the pipeline axis holds the layers of all stages.
        share = staged if pipeline in dict(plan.lowered.meshes)[pool] else 1.0
        weights: Value = 0.0
        for size, count, repeated, is_draft in plan.weights.get(pool, ()):
            keep = drafting if is_draft else share if repeated else 1.0
            weights = weights + n(size) * count * keep
        for size, ranks, count, repeated, is_draft in plan.experts.get(pool, ()) if np.any(redundant) else ():
            keep = drafting if is_draft else share if repeated else 1.0
            weights = weights + redundant * np.where(n(ranks) > 1, n(size), 0.0) * count * keep
        kv: Value = 0.0
        for size, count, is_draft in plan.states.get(pool, ()):
            kv = kv + n(size) * count * (drafting if is_draft else share)
        live: Value = 0.0
        for size in plan.workspace.get(pool, ()):
            live = np.maximum(live, part[pool](size))
        coming: Value = 0.0
        for work, early in zip(plan.works, plan.fetched, strict=True):
            if early and work.pool == pool and "ahead" in work.host:
                coming = np.maximum(coming, part[pool](work.host["ahead"]))
        beside: dict[bool, Value] = {False: 0.0, True: 0.0}
        for size, count, repeated, is_draft, cache in plan.host.get(pool, ()):
            keep = drafting if is_draft else share if repeated or cache else 1.0
            beside[cache] = beside[cache] + n(size) * count * keep
        found[pool] = Memory(
            weights, kv, 2 * (live + coming), capacity[pool], beside[False], beside[True],
            (host or {}).get(pool, 0.0),
        )  # fmt: skip
    return found
