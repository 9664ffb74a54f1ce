"""Energy and money per token, from rated power and published prices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from catalogue.devices import Device
from evaluator.evaluate import Evaluation
from evaluator.numeric import Value, total
from rooflang.work import product

HOUR = 3600.0

METRICS = {
    "joules_per_token": ("power_watts", 1.0),
    "dollars_per_million_tokens": ("price_dollars_per_hour", 1e6 / HOUR),
    "owner_dollars_per_million_tokens": ("owner_cost_dollars_per_hour", 1e6 / HOUR),
}
"""By metric: the figure of the device that it needs, and what turns it into a rate per second and token."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Of one emitted token; None where a device lacks the figure, with the reason in `unavailable`.

    Energy is at the rated power of the devices alone, idle ones included: no host, network or cooling.
    """

    joules_per_token: Value | None
    dollars_per_million_tokens: Value | None
    owner_dollars_per_million_tokens: Value | None
    unavailable: Mapping[str, str]


def costs_of(evaluation: Evaluation, clock: str) -> Costs:
    """Costs of an evaluation under a clock, with the devices of its replica alone."""
    e = evaluation
    devices = {pool: r.device for pool, r in e.rates.items()}
    counts = {pool: e.numerics[pool](product(axes)) for pool, axes in e.plan.lowered.meshes}
    # Devices of several kinds count by their price in a throughput, and one by one here.
    return costs(
        devices,
        counts,
        None if e.unavailable else e.per_gpu(clock) * e.devices / total(list(counts.values())),
    )


def costs(devices: Mapping[str, Device], counts: Mapping[str, Value], per_gpu: Value | None) -> Costs:
    """Costs at `per_gpu` tokens per second and device; `counts` says how the pools share the devices.

    Without a throughput there are no costs, and the reason is the throughput's.
    """
    found: dict[str, Value | None] = dict.fromkeys(METRICS)
    unavailable: dict[str, str] = {}
    whole = total(list(counts.values()))
    for metric, (key, scale) in METRICS.items():
        lacking = [d.lacks(key) for d in devices.values() if getattr(d, key) is None]
        if lacking:
            unavailable[metric] = "; ".join(dict.fromkeys(lacking))
        elif per_gpu is not None:
            mean = total([float(getattr(d, key)) * counts[pool] for pool, d in devices.items()]) / whole
            found[metric] = mean * scale / per_gpu
    return Costs(**found, unavailable=unavailable)
