"""A design at every point of its frontier, evaluated together: what the operating-point slider shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agent.points import Points, at_points, binding
from agent.problem import Problem
from evaluator.frontier import Point
from rooflang.design import Design

Json = dict[str, Any]
MOST = 120
"""Points of a slider; a longer frontier is thinned evenly, with its ends and best point kept."""


def operating_points(problem: Problem, design: Design, points: Sequence[Point]) -> list[Json]:
    """Speeds, clocks, seconds by section and resource, and bytes per device of each point."""
    found = at_points(design, problem.devices(design), problem.scenario, points, problem.setting)
    e = found.evaluation
    clocks = {c: found.wide(e.seconds(c)) for c in ("limit", "overlapped", "serial")}
    bound = binding(found, problem.clock)
    sections, resources = _breakdown(found)
    memory = {
        pool: {k: found.wide(getattr(m, k)) for k in ("weights", "kv", "activations", "capacity")}
        for pool, m in e.memory.items()
    }
    return [
        {
            "index": i,
            "tokens_per_second_per_user": p.tokens_per_second_per_user,
            "tokens_per_second_per_gpu": p.tokens_per_second_per_gpu,
            "batch": p.batch,
            "configuration": dict(p.configuration),
            "binding": bound[i],
            "clocks": {c: float(v[i]) for c, v in clocks.items()},
            "sections": {n: float(v[i]) for n, v in sections.items() if v[i] > 0},
            "resources": {n: float(v[i]) for n, v in resources.items() if v[i] > 0},
            "memory": {pool: {k: float(v[i]) for k, v in parts.items()} for pool, parts in memory.items()},
        }
        for i, p in enumerate(points)
    ]


def _breakdown(found: Points) -> tuple[dict[str, NDArray[np.float64]], dict[str, NDArray[np.float64]]]:
    """Seconds of a step by section and by the resource that binds each kernel, one place per point."""
    e = found.evaluation
    sections: dict[str, NDArray[np.float64]] = {}
    resources: dict[str, NDArray[np.float64]] = {}
    for item, runs in found.runs():
        price = e.prices[item.work]
        seconds = found.wide(price.seconds) * runs
        path = item.section.split(".")
        name = ".".join(path[1:]) or path[0]
        sections[name] = sections.get(name, 0.0) + seconds
        names = [*price.resources, "latency"]
        busy = np.stack([*(found.wide(v) for v in price.resources.values()), np.zeros(found.length)])
        at = np.argmax(busy, axis=0)
        late = np.max(busy, axis=0) < found.wide(price.seconds) / 2
        at = np.where(late, len(names) - 1, at)
        for position, resource in enumerate(names):
            part = np.where(at == position, seconds, 0.0)
            if np.any(part):
                resources[resource] = resources.get(resource, 0.0) + part
    return sections, resources
