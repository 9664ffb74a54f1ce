"""What no machine can beat at an operating point, and what we predict there.

The bound is the evaluator's own `limit` clock under the physical setting, on a device with every favour
(`favour`), under routing that only touches what any routing must. Where a row says how the work is shared,
the design is placed so; elsewhere every resource of all devices is pooled, which is below every placement.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from catalogue.models.counts import flops_per_token
from catalogue.models.precision import at_precision, narrowest
from evaluator.evaluate import Evaluation, evaluate
from evaluator.rates import rates_for
from evaluator.scenario import Scenario
from evaluator.truth.favour import favoured, lifted
from evaluator.truth.names import design_of
from evaluator.truth.points import LEAST_CONTEXT, Point
from rooflang.design import Design, Mesh, Placement, Pool, Repeat
from rooflang.lower import lower

Structures = Callable[[Design], Sequence[Design]]
"""The conventional structures of a model: axes `dp`, `tp` (and `pp`) of one pool, sizes as placeholders."""

_TITLES = {
    "dp": "DP attention + EP",
    "tep": "TP attention + EP on whole tokens",
    "tp": "TP attention + TP experts",
}


@dataclass(frozen=True, slots=True)
class Judge:
    """Bounds and predictions of operating points; `structures` gives conventional placements."""

    structures: Structures

    def step_limit(self, point: Point, batch: float, drafted: int) -> float:
        """Seconds that one step of `batch` sequences over all decoding devices takes at least."""
        pooled = float(_pooled(point, np.array([batch]), drafted)[0])
        placed = self._placed(point)
        if placed is None:
            return pooled
        design, axes = placed
        ranks = int(axes["dp"])
        each = max(1.0, np.floor(batch / point.deployment.instances))
        if each > ranks:  # the mean of what the ranks hold; a whole number of sequences each
            each = np.floor(each / ranks) * ranks
        rate = narrowest(design)
        found = evaluate(
            design, {"main": favoured(point.device, rate)}, _scenario(point, drafted, "certain"), each,
            axes=axes, drafted=float(drafted), microbatches=1.0, setting="physical",
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
            batches = _batches(point, drafted)
            seconds = _pooled(point, batches, drafted)
            if not point.isolated and point.prompt_known and point.output:
                prompts = batches * accepted * point.prompt / point.output
                seconds = np.maximum(
                    seconds, _matrix_seconds(point, batches, drafted) + prompts * _prompt(point)
                )
            best = max(best, float(np.max(batches * accepted / seconds)) / devices)
        return best

    def first_token_limit(self, point: Point) -> float:
        """Least seconds from a request to its first token: the products of its prompt on all devices."""
        return point.prompt * _prompt(point)

    def predicted_step(self, point: Point) -> tuple[float, float] | None:
        """(seconds per token of one user, seconds of a step) under the achievable setting, or None.

        None where the batch is unknown or no conventional placement of that size exists. In a service whose
        devices also prefill, the prompts of new requests ride on each step.
        """
        if point.batch is None:
            return None
        best: tuple[float, float] | None = None
        for design, axes in self._candidates(point):
            device = lifted(point.device, narrowest(design))
            each = max(1.0, round(point.batch / point.deployment.instances))
            for drafted, accepted in drafts(point):
                found = evaluate(
                    design, {"main": device}, Scenario(int(point.context)), each, axes=axes,
                    drafted=float(drafted), microbatches=1.0, setting="achievable",
                )  # fmt: skip
                if not bool(np.all(found.allowed)):
                    continue
                seconds = float(found.seconds("overlapped"))
                emitted = accepted if point.drafts_known else float(found.emitted)
                if not point.isolated and point.output:
                    seconds += (
                        point.batch * emitted * point.prompt / point.output * _prompt(point, "achievable")
                    )
                if best is None or seconds / emitted < best[0]:
                    best = (seconds / emitted, seconds)
        return best

    def predicted_first_token(self, point: Point) -> float | None:
        """Seconds to the first token without waiting: the prompt's products and one step, achievable."""
        step = self.predicted_step(replace(point, batch=point.batch or 1.0))
        if step is None:
            return None
        return point.prompt * _prompt(point, "achievable") + step[1]

    def _placed(self, point: Point) -> tuple[Design, dict[str, float]] | None:
        d = point.deployment
        if d.form is None or d.stages > 1:
            return None
        return self._structure(_design(point), d.form), _axes(d.form, d.size)

    def _candidates(self, point: Point) -> list[tuple[Design, dict[str, float]]]:
        """The placement that the row states, or the conventional ones of its size."""
        d = point.deployment
        size = d.size // d.stages
        forms = [d.form] if d.form else ["tp"] if size == 1 else list(_TITLES)
        return [(self._structure(_design(point), form), _axes(form, size)) for form in forms]

    def _structure(self, design: Design, form: str) -> Design:
        found = _structures(self.structures, design)
        return next((s for s in found if s.name == f"{design.name}: {_TITLES[form]}"), found[0])


@lru_cache(maxsize=128)
def _structures(make: Structures, design: Design) -> tuple[Design, ...]:
    return tuple(make(design))


def drafts(point: Point) -> list[tuple[int, float]]:
    """(drafted tokens, tokens per step at most): as stated, or every depth up to the deepest."""
    if point.drafts_known or point.drafted == 0:
        return [(point.drafted, point.accepted)]
    return [(d, 1.0 + d) for d in range(point.drafted + 1)]


def _axes(form: str, size: int) -> dict[str, float]:
    return {"dp": float(size), "tp": 1.0} if form == "dp" else {"dp": 1.0, "tp": float(size)}


def _scenario(point: Point, drafted: int, routing: str | None) -> Scenario:
    return Scenario(int(point.context), acceptance=(1.0,) * drafted, routing=routing)


def _design(point: Point) -> Design:
    return at_precision(design_of(point.model, point.kv), point.storage)


@lru_cache(maxsize=128)
def _alone(design: Design) -> Design:
    """The design on one device: its work as a whole."""
    return design.with_(pools=(Pool("main", "any", 1),), placement=Placement((Mesh("main", (("dp", 1),)),)))


def _whole(point: Point, batches: NDArray[np.float64], drafted: int) -> Evaluation:
    design = _design(point)
    return evaluate(
        _alone(design), {"main": favoured(point.device, narrowest(design))},
        _scenario(point, drafted, "certain"), np.floor(np.maximum(batches, 1.0)), drafted=float(drafted),
        microbatches=1.0, setting="physical",
    )  # fmt: skip


def _pooled(point: Point, batches: NDArray[np.float64], drafted: int) -> NDArray[np.float64]:
    """Seconds of a step with the resources of all decoding devices pooled and nothing sent between them.

    T(B) >= max over resources of (weights certain to be read, once, + B times the work of a sequence) over
    the summed rate, less what the chips can hold.
    """
    n = point.deployment.devices
    found = _whole(point, batches, drafted)
    credit = found.rates["main"].onchip_seconds
    memory = np.maximum(found.steps.over_kernels("all", lambda p: p.certain) / n - credit, 0.0)
    return np.broadcast_to(np.maximum(memory, _matrix(found) / n), batches.shape)


def _matrix_seconds(point: Point, batches: NDArray[np.float64], drafted: int) -> NDArray[np.float64]:
    return np.broadcast_to(_matrix(_whole(point, batches, drafted)) / point.devices, batches.shape)


def _matrix(found: Evaluation) -> NDArray[np.float64]:
    return np.asarray(found.steps.over_kernels("all", lambda p: p.resources.get("matrix", 0.0)))


def _batches(point: Point, drafted: int) -> NDArray[np.float64]:
    """Batches that may have run: the known one, or all up to what concurrency and memory allow."""
    if point.batch is not None:
        return np.array([max(1.0, point.batch)])
    n = point.deployment.devices
    grid = np.unique(np.floor(2 ** (np.arange(0, 2 * 14 + 1) / 2)))
    grid = np.unique(np.minimum(np.concatenate([grid, grid[-1] * np.arange(1, n + 1)]), point.most))
    memory = _whole(point, grid, drafted).memory["main"]
    room = point.device.memory_bytes * n - np.asarray(memory.weights)
    fitting = grid[np.broadcast_to(np.asarray(memory.kv) <= room, grid.shape)]
    return fitting if len(fitting) else grid[:1]


@lru_cache(maxsize=256)
def _prompt_flops(design: Design, prompt: float) -> float:
    """FLOPs of one prompt token, without the vocabulary and with the least that attention can cost."""
    main = tuple(s for s in design.program.body if not (isinstance(s, Repeat) and s.draft))
    body = design.with_(program=replace(design.program, body=main))
    sizes = design.program.sizes
    head = 2 * int(sizes["D"].constant or 0) * int(sizes["V"].constant or 0)
    return float(flops_per_token(body, LEAST_CONTEXT) - head) if prompt >= LEAST_CONTEXT else 0.0


def _prompt(point: Point, setting: str = "physical") -> float:
    """Seconds per prompt token on all devices together."""
    design = _design(point)
    rates = rates_for(lifted(point.device, narrowest(design)), setting)
    rate = rates.flops_per_second(narrowest(design), False) or 0.0
    return _prompt_flops(design, point.prompt) / rate / point.devices


def has_drafts(model: str) -> bool:
    """Whether a catalogued model ships draft layers."""
    return any(segment.draft for segment in lower(_alone(design_of(model, "served"))).segments)
