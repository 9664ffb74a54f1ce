"""Evaluations: a design at one operating point, or its frontier on a cluster."""

from __future__ import annotations

from typing import Any

from evaluator.costs import costs_of
from evaluator.evaluate import Evaluation, evaluate
from evaluator.report import rows
from evaluator.scenario import Scenario
from evaluator.sweep import standard_grid, sweep
from rooflang.canonical import design_hash
from rooflang.design import Design
from rooflang.errors import DesignError
from rooflang.lower import lower
from rooflang.parser import parse
from server.names import device

Json = dict[str, Any]


def run(order: Json) -> Json:
    """`order` has text, device, count, scenario, setting, clock and, for one operating point, `point`."""
    design = parse(order["text"])
    if not design.pools:
        raise DesignError(
            "a design must place its program on pools of devices to be evaluated, but this one has none; "
            "add pools and a placement, or submit a job of kind baseline"
        )
    scenario = Scenario(*order["scenario"])
    about = {
        "design": design_hash(design), "device": order["device"], "count": order["count"],
        "setting": order["setting"], "clock": order["clock"], "context_tokens": scenario.context,
    }  # fmt: skip
    if order["point"] is None:
        return {**about, "point": None, "frontier": _frontier(design, order, scenario)}
    return {**about, "point": _point(design, order, scenario), "frontier": None}


def _frontier(design: Design, order: Json, scenario: Scenario) -> list[Json]:
    devices = {pool.name: device(order["device"]) for pool in design.pools}
    count = order["count"]
    found = sweep(
        design, devices, count, scenario, standard_grid(count), clock=order["clock"],
        setting=order["setting"], name=design_hash(design),
    )  # fmt: skip
    return [p.to_json() for p in found.points]


def _point(design: Design, order: Json, scenario: Scenario) -> Json:
    at, devices = order["point"], {pool.name: device(order["device"]) for pool in design.pools}
    known = {a for _, axes in lower(design).meshes for a in axes}
    unknown = sorted(set(at["axes"]) - known)
    if unknown:
        raise DesignError(
            f"axes must be of the design's meshes, but got {', '.join(unknown)}; "
            f"use {', '.join(sorted(known)) or 'none, for it has no axes'}"
        )
    replicas = at["replicas"]
    found = evaluate(
        design, devices, scenario, float(at["batch"] // replicas),
        axes={a: float(n) for a, n in at["axes"].items()},
        microbatches=None if at["microbatches"] is None else float(at["microbatches"]),
        drafted=float(at["drafted"]), setting=order["setting"],
    )  # fmt: skip
    return {"batch": at["batch"], "replicas": replicas, **describe(found, order["clock"])}


def describe(e: Evaluation, clock: str) -> Json:
    """An evaluation of one point as JSON: seconds, tokens per second, bytes, and every kernel."""
    costs = costs_of(e, clock)
    return {
        "fits": bool(e.fits),
        "step_seconds": {c: float(e.seconds(c)) for c in ("limit", "overlapped", "serial")},
        "tokens_per_second_per_user": float(e.per_user(clock)),
        "tokens_per_second_per_gpu": float(e.per_gpu(clock)),
        "joules_per_token": _number(costs.joules_per_token),
        "dollars_per_million_tokens": _number(costs.dollars_per_million_tokens),
        "binding": e.binding(clock),
        "bytes_per_device": {
            pool: {
                "weights": float(m.weights), "kv": float(m.kv), "activations": float(m.activations),
                "capacity": float(m.capacity),
            }
            for pool, m in e.memory.items()
        },
        "operators": [r.to_json() for r in rows(e)],
    }  # fmt: skip


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
