"""Accounting invariants of every stored point: a gain that breaks one is an error, not a discovery."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from agent.points import Array, Points, at_points
from agent.problem import Problem
from evaluator.frontier import Point
from rooflang.design import Design, Mesh, Placement, Pool

TOLERANCE = 1e-6
"""Relative; sums of floats in another order differ by far less."""


def violation(problem: Problem, found: Points, same_matrix_work: bool) -> tuple[str, str] | None:
    """(code, sentence) for the first invariant that a point breaks, or None.

    clock_order   limit <= overlapped <= serial
    memory        every pool's memory holds what is kept there
    sweep         the point's interactivity follows from its own step time
    engine_time   no pool's matrix units, memory or host link are busy for longer than the step takes
    matrix_work   no fewer matrix FLOPs than the model needs, unless a rule declares otherwise
    held          weights and caches are held somewhere, once at least, unless a rule declares otherwise
    """
    e = found.evaluation
    limit, overlapped, serial = (found.wide(e.seconds(c)) for c in ("limit", "overlapped", "serial"))
    step = found.wide(e.seconds(problem.clock))
    if not _at_most(limit, overlapped) or not _at_most(overlapped, serial):
        return "clock_order", "limit <= overlapped <= serial must hold at every point, but does not"
    if not bool(np.all(e.fits)):
        return "memory", "every point of a frontier must fit in memory, but one does not"
    user = np.array([p.tokens_per_second_per_user for p in found.points])
    if np.any(np.abs(user * step / found.wide(e.emitted) - 1) > TOLERANCE):
        return "sweep", "a point of a sweep must agree with its own evaluation, but one does not"
    for pool, name, busy in _busy(found, problem.clock):
        if not _at_most(busy, step):
            worst = int(np.argmax(busy / step))
            return "engine_time", (
                f"{name} of {pool} can be busy for at most the step of {step[worst]:.6g} s, but its work "
                f"takes {busy[worst]:.6g} s at {dict(found.points[worst].configuration)}"
            )
    if not same_matrix_work:
        return None
    needed, got = _needed(problem, found.points), _held(found)
    for code, what in (("matrix_work", "matrix FLOPs"), ("held", "weight bytes"), ("held", "cache bytes")):
        least, has = needed[what], got[what]
        if not _at_most(least, has):
            worst = int(np.argmin(has / least))
            return code, (
                f"a design must have the model's {least[worst]:.6g} {what}, but it has {has[worst]:.6g} at "
                f"{dict(found.points[worst].configuration)}, and no rule declares that it needs fewer"
            )
    return None


def _at_most(small: Array, large: Array) -> bool:
    return bool(np.all(small <= large * (1 + TOLERANCE)))


def _busy(found: Points, clock: str) -> list[tuple[str, str, Array]]:
    """(pool, resource, seconds per step that it works). On the limit clock activations stay on chip."""
    e = found.evaluation
    totals: dict[tuple[str, str], Array] = {}
    names = ("matrix", "host") if clock == "limit" else ("matrix", "memory", "host")
    for item, runs in found.runs():
        pool = e.plan.works[item.work].pool
        for name in names:
            seconds = found.wide(e.prices[item.work].resources.get(name, 0.0)) * runs
            totals[pool, name] = totals.get((pool, name), np.zeros(found.length)) + seconds
    return [(pool, name, seconds / found.stages(pool)) for (pool, name), seconds in totals.items()]


def _held(found: Points) -> dict[str, Array]:
    """Matrix FLOPs of a step, and bytes of weights and caches, over all devices of a replica."""
    e = found.evaluation
    flops, weights, caches = (np.zeros(found.length) for _ in range(3))
    for item, runs in found.runs():
        work = e.plan.works[item.work]
        numeric = (e.drafts if item.draft else e.numerics)[work.pool]
        scale = runs * found.ranks(work.pool) / found.stages(work.pool)
        for size in work.flops.values():
            flops = flops + found.wide(numeric(size)) * scale
    for pool, memory in e.memory.items():
        weights = weights + found.wide(memory.weights + memory.host_weights) * found.ranks(pool)
        caches = caches + found.wide(memory.kv + memory.host_kv) * found.ranks(pool)
    return {"matrix FLOPs": flops, "weight bytes": weights, "cache bytes": caches}


def _needed(problem: Problem, points: tuple[Point, ...]) -> dict[str, Array]:
    """The same amounts of the model itself on one device."""
    amounts = [
        _least(problem, p.batch // p.configuration["replicas"], p.configuration["drafted"]) for p in points
    ]
    names = ("matrix FLOPs", "weight bytes", "cache bytes")
    return {name: np.array([a[i] for a in amounts]) for i, name in enumerate(names)}


@lru_cache(maxsize=4096)
def _least(problem: Problem, batch: int, drafted: int) -> tuple[float, float, float]:
    reference = _alone(problem)
    point = Point(1.0, 1.0, batch, {"replicas": 1, "microbatches": 1, "overlap": 0, "drafted": drafted})
    found = _held(at_points(reference, problem.devices(reference), problem.scenario, [point], "physical"))
    return float(found["matrix FLOPs"][0]), float(found["weight bytes"][0]), float(found["cache bytes"][0])


@lru_cache(maxsize=16)
def _alone(problem: Problem) -> Design:
    pools = (Pool("main", "any", 1),)
    return problem.reference().with_(pools=pools, placement=Placement((Mesh("main", (("one", 1),)),)))
