"""What no machine can beat at an operating point.

The bound is the evaluator's own `limit` clock under the physical setting, on a device with every favour
(`favour`), under routing that only touches what any routing must. Where a row says how the work is shared,
the design is placed so; elsewhere the relaxation bound of all decoding devices holds, which is below every
placement.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from catalogue.models.counts import flops_per_token
from catalogue.models.precision import narrowest
from evaluator.evaluate import evaluate
from evaluator.rates import rates_for
from evaluator.relaxation import Relaxed, relax
from evaluator.scenario import Scenario
from evaluator.truth.favour import favoured, lifted
from evaluator.truth.names import design_of
from evaluator.truth.placements import Placements, design_at
from evaluator.truth.points import LEAST_CONTEXT, Point
from rooflang.design import Design, Repeat

_MOST_SEQUENCES = 16384  # per device
NARROWER_MESSAGES = 4.0
"""A service may send BF16 values in 4 bits (quantised all-reduce and dispatch), whatever its precision."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of operating points; `placements` gives the designs of stated placements."""

    placements: Placements

    def step_limit(self, point: Point, batch: float, drafted: int) -> float:
        """Seconds that one step of `batch` sequences over all decoding devices takes at least."""
        pooled = float(_pooled(point, np.array([batch]), drafted, point.deployment.devices).seconds.item())
        placed = self.placements.stated(point)
        if placed is None:
            return pooled
        each = max(1.0, np.floor(batch / point.deployment.instances))
        if each > placed.ranks:  # the mean of what the ranks hold; a whole number of sequences each
            each = np.floor(each / placed.ranks) * placed.ranks
        device = favoured(point.device, narrowest(placed.design), NARROWER_MESSAGES)
        found = evaluate(
            placed.design, {"main": device}, _scenario(point, drafted), each, axes=placed.axes,
            drafted=float(drafted), microbatches=1.0, setting="physical",
        )  # fmt: skip
        return max(pooled, float(found.seconds("limit"))) if bool(np.all(found.allowed)) else pooled

    def token_limit(self, point: Point) -> float:
        """Least seconds per token of one user at the point's batch; at one sequence where it is unknown."""
        batch = max(1.0, point.batch or 1.0)
        return min(self.step_limit(point, batch, d) / a for d, a in drafts(point))

    def device_limit(self, point: Point) -> float:
        """Most output tokens per second and device: over all decoding devices if isolated, else over all."""
        devices = point.deployment.devices if point.isolated else point.devices
        best = 0.0
        for drafted, accepted in drafts(point):
            grid = _batches(point)
            found = _pooled(point, grid, drafted, point.deployment.devices)
            fitting = found.fits[:, 0] if point.batch is None and np.any(found.fits) else slice(None)
            batches, seconds = grid[fitting], found.seconds[fitting, 0]
            if not point.isolated and point.prompt_known and point.output:
                prompts = batches * accepted * point.prompt / point.output
                matrix = found.resources["matrix"][fitting, 0] * point.deployment.devices / point.devices
                seconds = np.maximum(seconds, matrix + prompts * _prompt(point))
            best = max(best, float(np.max(batches * accepted / seconds)) / devices)
        return best

    def first_token_limit(self, point: Point) -> float:
        """Least seconds from a request to its first token: the products of its prompt on all devices."""
        return point.prompt * _prompt(point)


def drafts(point: Point) -> list[tuple[int, float]]:
    """(drafted tokens, tokens per step at most): as stated, or every depth up to the deepest."""
    if point.drafts_known or point.drafted == 0:
        return [(point.drafted, point.accepted)]
    return [(d, 1.0 + d) for d in range(point.drafted + 1)]


def _scenario(point: Point, drafted: int) -> Scenario:
    return Scenario(int(point.context), acceptance=(1.0,) * drafted, routing="certain")


def _pooled(point: Point, batches: NDArray[np.float64], drafted: int, devices: int) -> Relaxed:
    """The relaxation bound of so many of the point's devices, at whole numbers of sequences."""
    design = design_at(point)
    device = replace(
        favoured(point.device, narrowest(design)), host_bytes_per_second=None, host_memory_bytes=None
    )
    # A run reads in every step what its chips cannot hold, however many micro-batches it has: not `limit`.
    return relax(
        design, [(device, devices)], _scenario(point, drafted), tuple(np.floor(np.maximum(batches, 1.0))),
        drafts=(drafted,), setting="physical", clock="overlapped",
    )  # fmt: skip


def _batches(point: Point) -> NDArray[np.float64]:
    """Batches that may have run: the known one, or all up to what concurrency allows."""
    if point.batch is not None:
        return np.array([max(1.0, point.batch)])
    n = point.deployment.devices
    steps = np.floor(2 ** (np.arange(0, 4 * np.log2(_MOST_SEQUENCES * n) + 1) / 4))
    return np.unique(np.minimum(steps, max(1.0, point.most)))


@lru_cache(maxsize=256)
def _prompt_flops(design: Design, prompt: float) -> float:
    """FLOPs of one prompt token, without the vocabulary and with the least that attention can cost."""
    main = tuple(s for s in design.program.body if not (isinstance(s, Repeat) and s.draft))
    body = design.with_(program=replace(design.program, body=main))
    sizes = design.program.sizes
    head = 2 * int(sizes["D"].constant or 0) * int(sizes["V"].constant or 0)
    return float(flops_per_token(body, LEAST_CONTEXT) - head) if prompt >= LEAST_CONTEXT else 0.0


def _prompt(point: Point) -> float:
    """Least seconds per prompt token on all devices together."""
    design = design_at(point)
    rates = rates_for(lifted(point.device, narrowest(design)), "physical")
    rate = rates.flops_per_second(narrowest(design), False) or 0.0
    return _prompt_flops(design, point.prompt) / rate / point.devices


def has_drafts(model: str) -> bool:
    """Whether a catalogued model ships draft layers."""
    return any(isinstance(s, Repeat) and s.draft for s in design_of(model, "served").program.body)
