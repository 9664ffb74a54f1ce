"""What a job answers with: the search's result, and its best points under the job's constraints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agent import SearchResult
from catalogue.devices import Device
from evaluator.costs import METRICS
from server.jobs.request import Constraints, Objective, Stored

Json = dict[str, Any]


def describe(stored: Stored, result: SearchResult, device: Device) -> Json:
    """The result as it is stored and exported."""
    values = result.to_json()
    points = [priced(p, device) for p in values["frontier"]]
    kept = [p for p in points if keeps(p, stored.request.constraints)]
    return {
        **values,
        "frontier": points,
        "baseline_frontier": [priced(p, device) for p in values["baseline_frontier"]],
        "points_within_constraints": len(kept),
        "best_by_objective": {o: best(o, kept, values["best"]) for o in stored.request.objectives},
    }


def priced(point: Mapping[str, Any], device: Device) -> Json:
    """A point with its energy and money per token; null where the device lacks the figure."""
    rate = float(point["tokens_per_second_per_gpu"])
    costs = {}
    for metric, (figure, scale) in METRICS.items():
        known = getattr(device, figure)
        costs[metric] = None if known is None or rate <= 0 else float(known) * scale / rate
    return {**point, **costs}


def keeps(point: Mapping[str, Any], limits: Constraints) -> bool:
    """Whether a priced point keeps all constraints."""
    for name, bound in limits.model_dump(exclude_none=True).items():
        side, _, metric = name.partition("_")
        value = point["batch" if metric == "sequences" else metric]
        if value is None or (value < bound if side == "min" else value > bound):
            return False
    return True


def best(objective: Objective, points: Sequence[Json], discovery: Mapping[str, Any] | None) -> Json | None:
    """The best of the points by an objective; for the simultaneous gain it is the discovery, if kept."""
    if objective == "simultaneous_gain":
        found = [p for p in points if discovery is not None and _same(p, discovery["new"])]
        return found[0] if found else None
    known = [p for p in points if p[objective] is not None]
    if not known:
        return None
    lowest = objective in METRICS
    return min(known, key=lambda p: p[objective] if lowest else -p[objective])


def _same(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    return all(a[k] == b[k] for k in ("tokens_per_second_per_user", "tokens_per_second_per_gpu", "design"))
