"""The relaxation bound: what no design of a model can beat on a cluster, whatever its placement.

    T(B) >= max over resources r of (W0,r + B w_r) / (rate of r, summed over all devices)
    T(B) >= the same for one sequence, plus hops

W0 are the weights that are certain to be read, once per cluster and step, less what all chips can hold; w is
the least work of a sequence (`evaluator/least.py`): products in their cheapest order, every cache read once,
from the devices' memory and over the links of their hosts at the same time.
Communication is free, and nothing is cut unevenly. Hops are the products that must follow each other, times
what a wait costs at least; and, where the weights do not fit on one device, the least number of transfers.
Other sequences may hide them, so they are added to the work of one sequence alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from catalogue.devices import Device
from evaluator.errors import ConfigurationError
from evaluator.frontier import Point, pareto
from evaluator.least import Least, least
from evaluator.numeric import Numeric, Value
from evaluator.rates import Rates, rates_for
from evaluator.scenario import Scenario
from rooflang.design import Design, Mesh, Placement, Pool, Schedule
from rooflang.lower import lower
from rooflang.work.cascade import SHARED_PREFIX, SHARERS

Array = NDArray[np.float64]
Cluster = Sequence[tuple[Device, int]]
"""Devices by kind, with their number."""


@dataclass(frozen=True, slots=True)
class Relaxed:
    """The bound over B (sequences in flight on the cluster) x drafted tokens.

    `seconds` bounds a step from below; `resources` are its terms; `fits` says where weights and caches fit
    on the cluster at all.
    """

    batch: Array
    drafted: Array
    seconds: Array
    resources: dict[str, Array]
    fits: NDArray[np.bool_]
    emitted: Array
    devices: int

    def frontier(self) -> tuple[Point, ...]:
        """Upper bounds of tokens/s/user and tokens/s/GPU at once: every design is below one of these points.

        Between two batches of the grid, interactivity is at most that of the smaller one, and throughput at
        most that of the larger one.
        """
        shape = self.seconds.shape
        batches, drafts = np.broadcast_to(self.batch, shape), np.broadcast_to(self.drafted, shape)
        user = self.emitted / self.seconds
        gpu = user * self.batch / self.devices
        gaps = np.diff(self.batch, axis=0, append=self.batch[-1:]) > 1
        gpu = np.where(gaps, np.concatenate([gpu[1:], gpu[-1:]]), gpu)
        where = np.flatnonzero(self.fits)
        best = where[pareto(user.ravel()[where], gpu.ravel()[where])]
        return tuple(
            Point(
                float(user.flat[i]), float(gpu.flat[i]), int(batches.flat[i]),
                {"drafted": int(drafts.flat[i])}, "", max(self.resources, key=lambda r: self._at(r, i)),
            )
            for i in best
        )  # fmt: skip

    def _at(self, resource: str, index: int) -> float:
        return float(np.broadcast_to(self.resources[resource], self.seconds.shape).flat[index])


def relax(
    model: Design,
    cluster: Cluster,
    scenario: Scenario,
    batches: Sequence[int] = (),
    *,
    drafts: Sequence[int] = (0, 1, 2, 3),
    setting: str = "achievable",
    clock: str = "overlapped",
) -> Relaxed:
    """The bound for a model (its program alone counts) on a cluster.

    `batches` are sequences in flight on the cluster, in rising order; by default up to 8,192 per device in
    steps of 2 %. `clock` is that of the designs to be bounded: `limit` has no latencies and grants what stays
    on chip to every micro-batch. Raises ConfigurationError without devices or batches, ScenarioError for an
    unknown setting.
    """
    count = sum(n for _, n in cluster)
    batches = batches or _dense(8192 * count)
    if count < 1 or min(batches) < 1:
        raise ConfigurationError(
            f"a bound must have devices and batches of at least 1, but got {count} devices and "
            f"batches from {min(batches, default=1)}"
        )
    alone = _alone(model)
    rates = [(rates_for(device, setting), n) for device, n in cluster]
    batch = np.array(batches, dtype=float)[:, None]
    deep = any(s.draft for s in lower(alone).segments)
    drafted = np.array(drafts if deep else (0,), dtype=float)[None, :]
    routing = scenario.skew or scenario.routing_of(setting)
    queries = 1.0 + drafted
    symbols: dict[str, Value] = {"one": 1.0, "S": float(scenario.context), "domain": 1.0, "innet": 0.0}
    symbols["redundant"] = 0.0
    symbols |= {SHARED_PREFIX: float(scenario.prefix), SHARERS: float(scenario.sharers)}

    def works(sequences: Value) -> tuple[Least, Least]:
        own = Numeric({**symbols, "B": sequences, "Q": queries}, routing)
        extra = Numeric({**symbols, "B": sequences, "Q": 1.0}, routing)
        return least(lower(alone), own, draft=False), least(lower(alone), extra, draft=True)

    own, extra = works(batch)
    resources = _resources(own, extra, drafted, rates, clock)
    seconds = _largest(resources, np.broadcast_shapes(batch.shape, drafted.shape))
    if clock != "limit" and any(_waits(rates)):  # else the work of one sequence is in that of the batch
        single = works(1.0)
        chain = _largest(_resources(*single, drafted, rates, clock), drafted.shape)
        resources["chain"] = chain + _hops(*single, drafted, rates)
        seconds = np.maximum(seconds, resources["chain"])
    drafting = np.minimum(drafted, 1.0)
    held = own.weights_held + drafting * extra.weights_held
    held = held + batch * (own.caches_held + drafting * extra.caches_held)
    room = float(sum((r.device.memory_bytes + (r.device.host_memory_bytes or 0)) * n for r, n in rates))
    emitted = np.array([scenario.emitted(int(d)) for d in drafted.ravel()])[None, :]
    fits = np.broadcast_to(held <= room, seconds.shape)
    return Relaxed(batch, drafted, seconds, resources, fits, emitted, count)


def _dense(most: int) -> tuple[int, ...]:
    found = [1]
    while found[-1] < most:
        found.append(min(most, max(found[-1] + 1, round(found[-1] * 1.02))))
    return tuple(found)


def _largest(resources: Mapping[str, Array], shape: tuple[int, ...]) -> Array:
    seconds = np.zeros(shape)
    for value in resources.values():
        seconds = np.maximum(seconds, value)
    return seconds


def _alone(model: Design) -> Design:
    mesh = Mesh("main", (("one", 1),))
    return model.with_(
        pools=(Pool("main", "any", 1),), placement=Placement((mesh,)), schedule=Schedule()
    )  # fmt: skip


def _resources(
    own: Least, extra: Least, drafted: Array, rates: Sequence[tuple[Rates, int]], clock: str
) -> dict[str, Array]:
    """Seconds by resource; one that any kind of device has no figure for is left out."""
    found: dict[str, Array] = {}
    matrix: Value = 0.0
    for name in {*own.flops, *extra.flops}:
        speeds = [_product_rate(r, name) for r, _ in rates]
        if any(s is None for s in speeds):
            continue
        speed = sum((s or 0.0) * n for s, (_, n) in zip(speeds, rates, strict=True))
        matrix = matrix + (own.flops.get(name, 0.0) + drafted * extra.flops.get(name, 0.0)) / speed
    found["matrix"] = np.asarray(matrix)
    exponentials = [r.exponentials_per_second for r, _ in rates]
    if all(e is not None for e in exponentials):
        speed = sum((e or 0.0) * n for e, (_, n) in zip(exponentials, rates, strict=True))
        found["exponential"] = np.asarray((own.exponentials + drafted * extra.exponentials) / speed)
    if all(r.device.memory_bytes_per_second is not None for r, _ in rates):
        found["memory"] = _memory(own, extra, drafted, rates, clock)
    return found


def _memory(
    own: Least, extra: Least, drafted: Array, rates: Sequence[tuple[Rates, int]], clock: str
) -> Array:
    drafting = np.minimum(drafted, 1.0)
    seconds: Value = 0.0
    stored: Value = 0.0
    speeds: dict[str, float] = {}
    for kind in ("weight", "expert", "state"):
        speeds[kind] = sum(
            (
                (r.device.memory_bytes_per_second or 0.0) * _fraction(r, kind)
                + (r.host_bytes_per_second or 0.0)
            )
            * n
            for r, n in rates
        )
        part = (own.bytes[kind] + drafting * extra.bytes[kind]) / speeds[kind]
        seconds = seconds + part
        stored = stored + (part if kind != "state" else 0.0)
    saved = sum((r.device.onchip_total_bytes or 0) * n for r, n in rates) / min(speeds.values())
    left = np.maximum(seconds - saved, 0.0)
    # Where the chips hold all weights, each micro-batch of the limit clock is granted them anew.
    return np.asarray(np.where(stored < saved, 0.0, left) if clock == "limit" else left)


def _product_rate(r: Rates, name: str) -> float | None:
    speeds = [r.flops_per_second(name, attention) for attention in (False, True)]
    known = [s for s in speeds if s is not None]
    return max(known) if len(known) == len(speeds) else None


def _fraction(r: Rates, kind: str) -> float:
    """The largest share of the memory bandwidth that any kernel reaches for a class."""
    return max(r.memory_fraction(kind, name) for name in ("fp4", "fp8", "int8", "bf16"))


def _waits(rates: Sequence[tuple[Rates, int]]) -> tuple[float, float]:
    """Least seconds between two products that wait for each other, and of a transfer."""
    efficiencies = [r.efficiency for r, _ in rates]
    return (
        min(min(e.kernel_gap_seconds, e.kernel_barrier_seconds) for e in efficiencies),
        min(min(e.scale_up_latency_seconds, e.scale_up_dispatch_latency_seconds) for e in efficiencies),
    )


def _hops(own: Least, extra: Least, drafted: Array, rates: Sequence[tuple[Rates, int]]) -> Array:
    """Waits between products that follow each other, and transfers where the weights need several devices.

    With h transfers a token's way has h + 1 parts on one device each, and at most h layers that are cut.
    """
    wait, sent = _waits(rates)
    room = max(float(r.device.memory_bytes + (r.device.host_memory_bytes or 0)) for r, _ in rates)
    transfers = max(0.0, float(np.ceil((own.weights_held - room) / (room + own.largest_layer))))
    return np.asarray((own.products + drafted * extra.products) * wait + transfers * sent)
