"""All points of a frontier evaluated together, and where the time of each goes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from catalogue.devices import Device
from evaluator.evaluate import Evaluation, evaluate
from evaluator.frontier import Point
from evaluator.numeric import Value
from evaluator.plan import Item
from evaluator.scenario import Scenario
from rooflang.design import Design

Array = NDArray[np.float64]
FULL = 0.8
"""A memory fuller than this counts as something that binds."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """Shares of a step by resource, and by section and resource; a section counts for those around it too.

    Beyond the resource that sets a kernel's roofline, its launch and message latencies count as `latency`;
    `capacity` is half the fill of the fullest memory where that is nearly full.
    """

    resources: Mapping[str, float]
    sections: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Points:
    """An evaluation whose arrays have one place per point; `sizes` are those of the mesh axes."""

    evaluation: Evaluation
    points: tuple[Point, ...]
    sizes: Mapping[str, Array]

    @property
    def length(self) -> int:
        return len(self.points)

    def wide(self, value: Value) -> Array:
        """A value with one place per point."""
        return np.broadcast_to(np.asarray(value, dtype=float), (self.length,))

    def ranks(self, pool: str) -> Array:
        """Devices of a pool in one replica."""
        found = np.ones(self.length)
        for axis in dict(self.evaluation.plan.lowered.meshes)[pool]:
            found = found * self.sizes[axis]
        return found

    def stages(self, pool: str) -> Array:
        """Pipeline stages among which a pool divides the layers; 1 for a pool that all layers visit."""
        lowered = self.evaluation.plan.lowered
        staged = lowered.design.placement.pipeline in dict(lowered.meshes)[pool]
        return self.wide(self.evaluation.stages) if staged else np.ones(self.length)

    def runs(self) -> Iterator[tuple[Item, Array]]:
        """Every kernel with how often it runs in a step."""
        e = self.evaluation
        m, drafted = self.wide(e.microbatches), self.wide(e.drafted)
        for item in e.plan.items:
            yield item, item.layers * m * (drafted if item.draft else 1.0)


def at_points(
    design: Design, devices: Mapping[str, Device], scenario: Scenario, points: Sequence[Point], setting: str
) -> Points:
    """Evaluate a design at points of its sweep."""

    def column(name: str, default: int) -> Array:
        return np.array([p.configuration.get(name, default) for p in points], dtype=float)

    axes = {a: column(a, size) for mesh in design.placement.meshes for a, size in mesh.axes}
    found = evaluate(
        design, devices, scenario, np.array([p.batch for p in points], dtype=float) / column("replicas", 1),
        axes=axes, microbatches=column("microbatches", 1), overlap=column("overlap", 0),
        drafted=column("drafted", 0), setting=setting,
    )  # fmt: skip
    return Points(found, tuple(points), axes)


def binding(found: Points, clock: str) -> list[str]:
    """What sets the step time of each point."""
    parts = found.evaluation.steps.parts(clock)
    names = list(parts)
    values = np.stack([found.wide(parts[n]) for n in names])
    return [names[i] for i in np.argmax(values, axis=0)]


def analyses(found: Points, clock: str, positions: Sequence[int]) -> list[Analysis]:
    """Where the step goes at some points, among the kernels of what binds there."""
    e = found.evaluation
    every = binding(found, clock)
    at = list(positions)
    bound = [every[i] for i in at]
    spent: list[dict[tuple[str, str], float]] = [{} for _ in at]
    for item, runs in found.runs():
        price, pool = e.prices[item.work], e.plan.works[item.work].pool
        counted = [i for i, what in enumerate(bound) if _counts(what, pool, item)]
        if not counted:
            continue
        resources = {n: found.wide(v)[at] for n, v in price.resources.items()}
        seconds, often = found.wide(price.seconds)[at], runs[at]
        for i in counted:
            name = max(resources, key=lambda n: resources[n][i], default="latency")
            busy = float(resources[name][i]) if resources else 0.0
            rest = float(seconds[i]) - busy
            for key, part in (((item.section, name), busy), ((item.section, "latency"), rest)):
                spent[i][key] = spent[i].get(key, 0.0) + part * float(often[i])
    fill = np.max([found.wide(m.total) / m.capacity for m in e.memory.values()], axis=0)
    return [_analysis(parts, float(fill[i])) for i, parts in zip(at, spent, strict=True)]


def _analysis(parts: Mapping[tuple[str, str], float], fill: float) -> Analysis:
    whole = sum(parts.values())
    resources: dict[str, float] = {}
    sections: dict[str, dict[str, float]] = {}
    for (path, resource), seconds in sorted(parts.items()):
        resources[resource] = resources.get(resource, 0.0) + seconds / whole
        for name in dict.fromkeys(path.split(".")):
            inside = sections.setdefault(name, {})
            inside[resource] = inside.get(resource, 0.0) + seconds / whole
    if fill > FULL:
        resources["capacity"] = fill / 2
    return Analysis(_short(resources), {name: _short(parts) for name, parts in sections.items()})


def _short(parts: Mapping[str, float]) -> dict[str, float]:
    return {k: float(f"{v:.6g}") for k, v in sorted(parts.items()) if v > 0}


def _counts(what: str, pool: str, item: Item) -> bool:
    """Whether a kernel is part of what binds: `chain`, or `<pool> <engine or resource>`."""
    bound_pool, _, part = what.rpartition(" ")
    if bound_pool not in ("", pool):
        return False
    if what == "chain":
        return item.pair is None  # both sides of a transfer between pools run at the same time
    engine = {"link": "links"}.get(item.kernel.engine, item.kernel.engine)
    return part not in ("compute", "links") or part == engine
