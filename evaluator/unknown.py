"""What is not said because a figure of a device is not known: metrics without value, resources left out."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from evaluator.numeric import Numeric, Value
from evaluator.plan import Plan
from evaluator.price import Price
from evaluator.rates import Rates
from rooflang.work import product


def unpriced(
    plan: Plan,
    prices: list[Price],
    rates: Mapping[str, Rates],
    numerics: Mapping[str, Numeric],
    stages: Value,
) -> str:
    """Why a step has no time, such as `tpu-8t has no known scale-up rate (not published)`; else nothing."""
    reasons: dict[str, None] = {}
    for work, price in zip(plan.works, prices, strict=True):
        for key in price.missing:
            reasons[rates[work.pool].device.lacks(key)] = None
    if np.any(np.asarray(stages) > 1):
        pipeline = plan.lowered.design.placement.pipeline
        for pool, axes in plan.lowered.meshes:
            if pipeline in axes:
                for key in _sending(rates[pool], numerics[pool](product(axes))):
                    reasons[rates[pool].device.lacks(key)] = None
    return "; ".join(reasons)


def _sending(r: Rates, ranks: Value) -> list[str]:
    """The unknown figures of passing activations from one pipeline stage to the next."""
    if r.device.scale_up_domain is None:
        return ["scale_up_domain"]
    near = np.asarray(ranks) <= r.domain
    keys = []
    if r.up_bytes_per_second is None and np.any(near):
        keys.append("scale_up_bytes_per_second")
    if r.far_bytes_per_second is None and not np.all(near):
        keys.append("scale_out_bytes_per_second")
    return keys


def not_modelled(plan: Plan, rates: Mapping[str, Rates]) -> dict[str, str]:
    """What a step's time leaves out, with the reason; without it a bound is looser, and still a bound.

    `on-chip storage` is the exception: what it could save is then not granted, so the time of reading
    weights and caches is that without reuse from step to step.
    """
    found: dict[str, str] = {}
    for pool, r in rates.items():
        works = [w for w in plan.works if w.pool == pool]
        links = any(w.up_out.constant != 0 or w.far_out.constant != 0 for w in works)
        cases = (
            ("vector", "vector_flops_per_second", any(w.vector.constant != 0 for w in works)),
            ("exponential", "exp_per_second", any(w.exponentials.constant != 0 for w in works)),
            ("spills of fused kernels", "onchip_bytes", any(w.held.constant != 0 for w in works)),
            ("on-chip storage", "onchip_total_bytes", True),
            ("reduction in the network", "in_network_reduction", links),
        )
        for what, key, used in cases:
            if used and getattr(r.device, key) is None:
                found[what] = r.device.lacks(key)
    return found
