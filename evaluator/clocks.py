"""The three clocks of a step, from the prices of its kernels.

    serial       nothing overlaps: m times the sum over kernels
    overlapped   the schedule as written: the longest of one micro-batch's chain, each engine's work, and
                 each resource's work
    limit        perfect overlap of everything that dependencies allow, activations on chip
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from evaluator.numeric import Numeric, Value
from evaluator.plan import Item, Plan
from evaluator.price import Price
from evaluator.rates import Rates
from rooflang.work import product

CLOCKS = ("limit", "overlapped", "serial")


@dataclass(slots=True)
class _Sums:
    """Sums over kernels of one micro-batch: chain, engines per pool, resources per pool."""

    chain: Value = 0.0
    layers: Value = 0.0
    engines: dict[tuple[str, str], Value] = field(default_factory=dict)
    resources: dict[tuple[str, str], Value] = field(default_factory=dict)
    certain: dict[tuple[str, str], Value] = field(default_factory=dict)
    visits: dict[tuple[str, str, str], Value] = field(default_factory=dict)
    hidden: Value = 0.0


@dataclass(frozen=True, slots=True)
class Steps:
    """Seconds of a step by clock, and what binds under each."""

    seconds: Mapping[str, Value]
    parts: Mapping[str, Mapping[str, Value]]


class _Collector:
    """Adds narrow arrays first: terms are kept apart by shape until the end."""

    def __init__(self) -> None:
        self._by_shape: dict[object, dict[tuple[int, ...], Value]] = {}

    def add(self, key: object, value: Value, factor: Value) -> None:
        shape = np.shape(value)
        slot = self._by_shape.setdefault(key, {})
        term = value * factor
        shape = np.shape(term)
        slot[shape] = slot[shape] + term if shape in slot else term

    def total(self, key: object) -> Value:
        total: Value = 0.0
        for shape in sorted(self._by_shape.get(key, {}), key=lambda s: int(np.prod(s))):
            total = total + self._by_shape[key][shape]
        return total

    def keys(self) -> list[object]:
        return list(self._by_shape)


def steps(
    plan: Plan,
    prices: list[Price],
    numerics: Mapping[str, Numeric],
    rates: Mapping[str, Rates],
    m: Value,
    drafted: Value,
    stages: Value,
) -> Steps:
    """Seconds of one step of B sequences by clock; arrays broadcast over the grid.

    `prices` are those of one micro-batch; `m` micro-batches, `drafted` serial draft passes, `stages`
    pipeline stages.
    """
    c = _collect(plan, prices, drafted)
    pools = list(rates)
    overlap = plan.lowered.design.schedule.overlap_links
    chain_all, layers = c.total("chain"), c.total("layers")
    hidden = c.total("hidden")
    share, send = _stage(plan, numerics, rates, chain_all, layers, stages)
    chain = chain_all - hidden + send * stages
    serial = np.maximum(m, stages) * (chain_all * share + send) if plan.lowered.design.placement.pipeline else m * chain_all
    engines: dict[str, Value] = {}
    for pool in pools:
        compute, link = c.total(("compute", pool)), c.total(("link", pool))
        if overlap:
            engines[f"{pool} compute"] = m * compute * share
            engines[f"{pool} links"] = m * (link * share + send)
        else:
            own = hidden if len(pools) == 1 else 0.0
            engines[f"{pool}"] = m * ((compute + link - own) * share + send)
    resources = {
        f"{pool} {resource}": m * c.total((resource, pool)) * share
        for pool in pools
        for resource in ("matrix", "vector", "exponential", "memory", "scale-up", "scale-out")
    }
    overlapped = _largest([chain, *engines.values(), *resources.values()])
    # Several micro-batches may also run one after the other; a schedule never has to be slower than that.
    serial = np.maximum(serial, overlapped)
    limit, limits = _limit(plan, c, rates, m, stages)
    limit = np.minimum(limit, overlapped)
    return Steps(
        {"limit": limit, "overlapped": overlapped, "serial": serial},
        {"limit": limits, "overlapped": {"chain": chain, **engines, **resources}, "serial": {"chain": serial}},
    )


def _collect(plan: Plan, prices: list[Price], drafted: Value) -> _Collector:
    c = _Collector()
    streams: dict[tuple[int, str], list[tuple[Item, Value, Value]]] = {}
    for item in plan.items:
        p = prices[item.work]
        pool = plan.works[item.work].pool
        runs: Value = item.layers * drafted if item.draft else float(item.layers)
        seconds = p.seconds
        if item.pair is not None:
            # Both sides of a transfer between pools run at the same time.
            extra = np.maximum(seconds - prices[plan.items[item.pair].work].seconds, 0.0)
            c.add("chain", extra, runs)
        else:
            c.add("chain", seconds, runs)
            if item.repeated and not item.draft:
                c.add("layers", seconds, runs)
        c.add((item.kernel.engine, pool), seconds, runs)
        for resource, value in p.resources.items():
            kept = p.certain if resource == "memory" else value
            c.add((resource, pool), value, runs)
            c.add(("certain", resource, pool), kept, runs)
            c.add(("visit", item.segment, resource, pool), kept, runs)
        if item.stream or item.kernel.engine == "link":
            streams.setdefault((item.unit, pool), []).append((item, seconds, runs))
    for group in streams.values():
        beside = [(s, r) for i, s, r in group if i.stream]
        moves = [(s, r) for i, s, r in group if not i.stream]
        if beside and moves:
            total_beside = sum((s for s, _ in beside[1:]), beside[0][0])
            total_moves = sum((s for s, _ in moves[1:]), moves[0][0])
            c.add("hidden", np.minimum(total_beside, total_moves), beside[0][1])
    return c


def _stage(
    plan: Plan,
    numerics: Mapping[str, Numeric],
    rates: Mapping[str, Rates],
    chain: Value,
    layers: Value,
    stages: Value,
) -> tuple[Value, Value]:
    """(share of a step's work on the fullest pipeline stage, seconds of passing the residual on)."""
    axis = plan.lowered.design.placement.pipeline
    if axis is None:
        return 1.0, 0.0
    total = float(plan.layers)
    fullest = np.ceil(total / stages) / total * layers
    share = np.maximum(1.0 / stages, fullest / chain)
    pool = next(p for p, axes in plan.lowered.meshes if axis in axes)
    n, r = numerics[pool], rates[pool]
    ranks = n(product(dict(plan.lowered.meshes)[pool]))
    near = ranks <= r.device.scale_up_domain
    amount = n(plan.residual[pool]) if pool in plan.residual else 0.0
    seconds = np.where(
        near,
        amount / r.up_bytes_per_second + r.efficiency.scale_up_latency_seconds,
        amount / r.far_bytes_per_second + r.efficiency.scale_out_latency_seconds,
    )
    return share, np.where(np.asarray(stages) > 1, seconds, 0.0)


def _limit(
    plan: Plan, c: _Collector, rates: Mapping[str, Rates], m: Value, stages: Value
) -> tuple[Value, dict[str, Value]]:
    """Work over rates with perfect overlap; one token still visits its stages and pools in turn."""
    parts: dict[str, Value] = {}
    visits: dict[tuple[str, str], list[Value]] = {}
    for pool, r in rates.items():
        credit = r.device.onchip_total_bytes / r.device.memory_bytes_per_second
        for resource in ("matrix", "vector", "exponential", "memory", "scale-up", "scale-out"):
            work = c.total(("certain", resource, pool)) / stages
            saved = credit if resource == "memory" else 0.0
            parts[f"{pool} {resource}"] = m * np.maximum(work - saved, 0.0)
    segments = {i.segment for i in plan.items}
    for pool, r in rates.items():
        credit = r.device.onchip_total_bytes / r.device.memory_bytes_per_second
        for segment in segments:
            worst: Value = 0.0
            for resource in ("matrix", "vector", "exponential", "memory", "scale-up", "scale-out"):
                value = c.total(("visit", segment, resource, pool))
                worst = np.maximum(worst, np.maximum(value - credit, 0.0) if resource == "memory" else value)
            visits.setdefault((segment, pool), []).append(worst)
    if len(rates) > 1:
        # With several pools a token alternates between them: their visits add up.
        parts["chain of pools"] = sum((v[0] for v in visits.values()), 0.0)
    return _largest(list(parts.values())), parts


def _largest(values: list[Value]) -> Value:
    top = values[0]
    for value in values[1:]:
        top = np.maximum(top, value)
    return top
