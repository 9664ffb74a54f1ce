"""Seconds of every distinct kernel of a plan on given devices: the maximum over its resources.

A resource whose rate is not known is left out. Where the device has no rate for products, memory or a
link that the kernel uses, its price says which figures are `missing`: its seconds are then none.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from evaluator.numeric import Numeric, Value, largest, total
from evaluator.plan import Plan
from evaluator.rates import Rates
from rooflang.dtype import RATES
from rooflang.size import Size
from rooflang.work import Work

RESOURCES = ("matrix", "vector", "exponential", "memory", "scale-up", "scale-out", "host")


@dataclass(slots=True)
class Price:
    """One kernel's time by resource, what it takes beyond them (latencies), and their combination."""

    resources: dict[str, Value] = field(default_factory=dict)
    certain_parts: list[Value] = field(default_factory=list)
    latency: Value = 0.0
    floor: float = 0.0
    seconds: Value = 0.0
    missing: tuple[str, ...] = ()  # keys of the device's figures
    weights: Value = 0.0  # memory time of weights and experts
    dense: Value = 0.0  # of that, weights that no choice decides: what can be fetched before
    early: Value = 0.0  # seconds on the host's link that do not hold the kernel up

    @property
    def certain(self) -> Value:
        """Memory time of what no schedule can avoid: weights and caches, not activations."""
        return total(self.certain_parts)


def price(
    plan: Plan,
    numerics: Mapping[str, Numeric],
    rates: Mapping[str, Rates],
    drafts: Mapping[str, Numeric],
    draft_works: Set[int],
    known: Mapping[int, Price] | None = None,
) -> list[Price]:
    """The price of each of `plan.works`. Works of draft layers are taken at one query token (`drafts`);
    `known` prices are taken as they are."""
    known = known or {}
    engines = {item.work: item.kernel.engine for item in plan.items}
    return [
        known[i] if i in known else _price(
            work, (drafts if i in draft_works else numerics)[work.pool], rates[work.pool], plan.attention[i],
            engines.get(i, "compute"), plan.fetched[i],
        )
        for i, work in enumerate(plan.works)
    ]  # fmt: skip


def _price(work: Work, n: Numeric, rates: Rates, attention: bool, engine: str, fetched: bool) -> Price:
    found = Price()
    missing: list[str] = []
    products: list[Value] = []
    for name, size in work.flops.items():
        rate = rates.flops_per_second(name, attention)
        if rate is None:
            missing.append(f"flops_per_second.{rates.runs_as(name)}")
        else:
            products.append(n.over(size, rate))
    if products:
        found.resources["matrix"] = total(products)
    vector, exponentials = rates.vector_per_second, rates.exponentials_per_second
    if work.vector.constant != 0 and vector is not None:
        found.resources["vector"] = n.over(work.vector, vector)
    if work.exponentials.constant != 0 and exponentials is not None:
        found.resources["exponential"] = n.over(work.exponentials, exponentials)
    bandwidth = rates.device.memory_bytes_per_second
    if (work.reads or work.writes) and bandwidth is None:
        missing.append("memory_bytes_per_second")
    elif bandwidth is not None:
        _memory(found, work, n, rates, bandwidth)
    if engine == "link":
        reduces = rates.reduce_bytes_per_second if work.reduces else rates.up_bytes_per_second
        far = rates.far_bytes_per_second
        for name, out, into, rate in (
            ("scale-up", work.up_out, work.up_in, reduces), ("scale-out", work.far_out, work.far_in, far)
        ):  # fmt: skip
            if rate is not None:
                found.resources[name] = _wider(n, out, into, rate)
            missing += _unknown_link(n, rates, name, out, into)
    found.latency = _latency(work, n, rates, engine)
    if work.host:
        missing += _host(found, work, n, rates, fetched)
    stored = work.reads.keys() & {"weight", "state", "expert"}
    found.floor = rates.efficiency.kernel_floor_seconds if stored else 0.0
    found.seconds = _combine(found)
    found.missing = tuple(missing)
    return found


def _host(found: Price, work: Work, n: Numeric, rates: Rates, fetched: bool) -> list[str]:
    """What the kernel takes from the host's memory or leaves there; returns the unknown figures.

    A kernel reads the host's memory as it runs, after the latency of a first access. What is fetched before
    runs on the link beside everything else, and passes through the device's memory; what a choice decides
    cannot be.
    """
    rate, bandwidth = rates.host_bytes_per_second, rates.device.memory_bytes_per_second
    unknown = [
        key for key in ("host_bytes_per_second", "host_memory_bytes") if getattr(rates.device, key) is None
    ]
    if rate is None or bandwidth is None or unknown:
        return unknown
    found.resources["host"] = total([n.over(size, rate) for size in work.host.values()])
    late = work.host.get("late")
    if fetched and "ahead" in work.host:
        found.early = n.over(work.host["ahead"], rate)
        staged = n.over(work.host["ahead"], bandwidth * rates.memory_fraction("activation", "bf16")) * 2.0
        found.resources["memory"] = found.resources.get("memory", 0.0) + staged
    if late is not None or not fetched:
        found.latency = found.latency + rates.efficiency.scale_out_latency_seconds
    return []


def _memory(found: Price, work: Work, n: Numeric, rates: Rates, bandwidth: float) -> None:
    """What the kernel reads and writes, over the memory bandwidth."""
    widest = max(work.flops, key=RATES.index, default="bf16")
    # Weights stream as the kernel's narrowest product does: they are its narrow operand.
    narrowest = min(work.flops, key=RATES.index, default="bf16")

    def over(kind: str, size: Size, form: str) -> Value:
        return n.over(size, bandwidth * rates.memory_fraction(kind, form))

    reads = {k: over(k, v, narrowest if k == "weight" else widest) for k, v in work.reads.items()}
    writes = {k: over(k, v, widest) for k, v in work.writes.items()}
    if not reads and not writes:
        return
    moved = [*reads.values(), *writes.values()]
    cache = rates.device.onchip_bytes
    if work.held.constant != 0 and cache is not None:
        # What does not fit on chip over a wait inside the kernel is written out and read back.
        spilled = np.maximum(n(work.held) - cache, 0.0)
        moved.append(spilled * (2 / (bandwidth * rates.memory_fraction("activation", widest))))
    found.resources["memory"] = total(moved)
    found.certain_parts = [v for k, v in reads.items() if k != "activation"]
    found.certain_parts += [v for k, v in writes.items() if k == "state"]
    found.weights = total([v for k, v in reads.items() if k in ("weight", "expert")])
    found.dense = reads.get("weight", 0.0)


def _unknown_link(n: Numeric, rates: Rates, name: str, out: Size, into: Size) -> list[str]:
    """The figures of the device without which a kernel's transfers over a link have no price."""
    key = f"{name.replace('-', '_')}_bytes_per_second"
    unknown = [k for k in ("scale_up_domain", key) if getattr(rates.device, k) is None]
    return unknown if unknown and np.any(np.maximum(n(out), n(into)) > 0) else []


def _wider(n: Numeric, out: Size, into: Size, rate: float) -> Value:
    """Time of the fuller direction of a link."""
    return n.over(out, rate) if out is into else np.maximum(n.over(out, rate), n.over(into, rate))


def _combine(price: Price) -> Value:
    """The slowest resource, at least the floor, plus latency."""
    values = [v - price.early if k == "host" else v for k, v in price.resources.items()]
    seconds = largest([price.floor, *values] if price.floor else values)
    idle = isinstance(price.latency, float) and price.latency == 0.0
    return seconds if idle else seconds + price.latency


def _latency(work: Work, n: Numeric, rates: Rates, engine: str) -> Value:
    e = rates.efficiency
    if engine == "compute":
        return e.kernel_barrier_seconds if work.waits else e.kernel_gap_seconds
    routed = any(_mentions(size) for size in (work.up_out, work.up_in, work.far_out, work.far_in))
    near = e.scale_up_dispatch_latency_seconds if routed else e.scale_up_latency_seconds
    if not near and not e.scale_out_latency_seconds:
        return 0.0
    up, far = np.minimum(n(work.up_hops), 1.0), np.minimum(n(work.far_hops), 1.0)
    # A message that crosses domains hides the shorter hop inside them.
    return np.maximum(up * near, far * e.scale_out_latency_seconds)


@lru_cache(maxsize=65536)
def _mentions(size: Size) -> bool:
    """Whether a size depends on the routing."""
    return size.kind == "call" or any(_mentions(a) for a in size.arguments)
