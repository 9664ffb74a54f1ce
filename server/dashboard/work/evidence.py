"""Everything that the page of a design shows beside what is stored: both sides taken apart, every point."""

from __future__ import annotations

from typing import Any

from agent.archive import point_from_json
from agent.discovery import discovery_of
from agent.explain import explain
from agent.problem import Problem
from agent.store import SearchStore
from agent.stored import problem_of
from catalogue.devices import Device
from db import Database, NotFoundError
from evaluator.frontier import Point, simultaneous_gain
from evaluator.sweep import at_point
from rooflang.design import Design
from rooflang.printer import print_design
from server.dashboard.work.operating import operating_points
from server.dashboard.work.units import units

Json = dict[str, Any]


def evidence(order: Json) -> Json:
    """`order` has the database, the search's identifier and the structure's hash. Raises NotFoundError."""
    with Database.open(order["database"], create=False) as database:
        search = database.get_search(order["search"])
        problem = problem_of(search)
        store = SearchStore(database, problem)
        name = database.get_design(order["design"]).design_hash
        found = database.get_evaluation(name, store.conditions)
        baseline = store.baseline()
        if not store.find() or found is None or not found.points or baseline is None:
            raise NotFoundError(
                f"a design must be evaluated in a search of this version to be shown, but {name[:12]} "
                "is not; run the search again"
            )
        points = [point_from_json(p) for p in found.points]
        gain, old, new = simultaneous_gain(baseline, points)
        if old is None or new is None:
            raise NotFoundError(f"a design must have points to be shown, but {name[:12]} has none")
        explanation = explain(problem, database, discovery_of(problem, store, gain, old, new))
        path = store.path_to(name)
        start = path[0].parent_hash if path else name
        design, conventional = store.design(name), store.design(old.design)
        return {
            **explanation.to_json(),
            "needs": explanation.needs(),
            "structure": name,
            "start_text": print_design(store.design(start)),
            "structure_text": print_design(design),
            "sides": {
                "before": side(problem, conventional, old),
                "after": side(problem, design, new),
            },
            "roofs": roofs(problem.accelerator),
            "points": operating_points(problem, design, points),
            "best_point": points.index(new),
        }  # fmt: skip


def side(problem: Problem, design: Design, point: Point) -> Json:
    """One operating point: its kernels by unit (`units.py`), and bytes per device of every pool."""
    e = at_point(design, problem.devices(design), problem.scenario, point, setting=problem.setting)
    memory = {
        pool: {
            "weights": float(m.weights), "kv": float(m.kv), "activations": float(m.activations),
            "capacity": float(m.capacity),
        }
        for pool, m in e.memory.items()
    }  # fmt: skip
    return {"units": units(e), "memory": memory, "microbatches": float(e.microbatches)}


def roofs(device: Device) -> Json:
    """The published limits that a roofline plot draws; rates per second and device."""
    return {
        "device": device.title,
        "flops_per_second": {k: float(v) for k, v in device.flops_per_second.items()},
        "memory_bytes_per_second": _number(device.memory_bytes_per_second),
        "vector_flops_per_second": _number(device.vector_flops_per_second),
    }


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
