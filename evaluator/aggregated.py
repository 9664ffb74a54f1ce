"""Aggregated serving: every replica decodes, and chunks of prompts ride on some of its decode steps.

In a steady state each of B sequences emits α tokens per step and leaves after n of them, so that on average
q = α · (computed tokens of a prompt) / n prompt tokens are due per sequence and step. A step either decodes
alone, or also computes a chunk of c tokens on each of the g groups of ranks that share a sequence: q' = c·g/B
per sequence, or q if that is more. The share q / q' of the steps carries chunks. TPOT is the mean step over
α, and TTFT the mean of ⌈computed tokens / c⌉ steps with chunks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from catalogue.devices import Device
from evaluator.baseline import SCHEDULES, conventional_schedule
from evaluator.contexts import decoding
from evaluator.evaluate import Evaluation
from evaluator.frontier import pareto
from evaluator.lengths import Lengths
from evaluator.mixed import mixed
from evaluator.numeric import Value
from evaluator.prefill import chunks
from evaluator.price import RESOURCES
from evaluator.report import bound
from evaluator.service import Answer, Role, Served, Service, best_of, served
from evaluator.sweep import Grid, Space, space
from rooflang.design import Design
from rooflang.lower import lower
from rooflang.work.extent import cuts_of

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Steps:
    """Aggregated steps over a grid: `plain` decodes alone, `chunked` has a chunk on every group.

    `share` of the steps that have chunks, `seconds` of the mean step, `ttft` and `tpot` in seconds,
    `requests` per second and replica.
    """

    plain: Evaluation
    chunked: Evaluation
    share: Value
    seconds: Value
    ttft: Value
    tpot: Value
    requests: Value


def aggregated_steps(
    design: Design,
    devices: Mapping[str, Device],
    service: Service,
    batch: Value,
    *,
    axes: Mapping[str, Value],
    microbatches: Value,
    overlap: Value,
    drafted: Value,
    redundant: Value = 0.0,
    clock: str,
    setting: str,
    prompt_form: Design | None = None,
) -> Steps:
    """Times of aggregated serving with `batch` decoding sequences per replica, over a grid or at a point.

    `prompt_form` is a program of prompts that differs from the design in attention alone.
    """
    cut = chunks(service.prompts, service.hit, service.chunk)
    contexts = decoding(service.prompts, service.answers)
    groups = sharing(design, axes)

    def step(riding: Value) -> Evaluation:
        return mixed(
            design, devices, service.scenario, batch, contexts, cut, riding, axes=axes,
            microbatches=microbatches, overlap=overlap, drafted=drafted, setting=setting,
            redundant=redundant, prompt_form=prompt_form,
        )  # fmt: skip

    has_draft = any(s.draft for s in lower(design).segments)
    alpha = service.scenario.emitted(service.drafted if has_draft else 0)
    riding = alpha * cut.computed / service.answers.mean
    on_chunk: Value = np.maximum(riding, service.chunk * groups / batch)
    plain, chunked = step(0.0), step(on_chunk)
    share = riding / on_chunk
    passes = _passes(service.prompts, service.hit, on_chunk * batch / groups)
    slow = _front(chunked.seconds(clock))
    seconds = (1.0 - share) * _front(plain.seconds(clock)) + share * slow
    tpot = seconds / alpha
    return Steps(plain, chunked, share, seconds, passes * slow, tpot, batch / tpot / service.answers.mean)


def _passes(prompts: Lengths, hit: float, size: Value) -> Value:
    """Mean steps that a prompt takes in chunks of `size`."""
    lengths, weights = prompts.arrays
    computed = np.maximum(lengths - np.floor(hit * lengths), 1.0)
    found: Value = 0.0
    for tokens, weight in zip(computed, weights, strict=True):
        found = found + weight * np.ceil(tokens / size * (1 - 1e-12))
    return found


def sharing(design: Design, axes: Mapping[str, Value]) -> Value:
    """Groups of ranks of a replica that each hold sequences of their own: what cuts B in its caches."""
    names = {a for _, u in lower(design).units() for t in u.states for a in cuts_of(t).get("B", ())}
    found: Value = 1.0
    for name in sorted(names):
        found = found * axes[name]
    return found


def _front(value: Value) -> Value:
    """Without the leading axis over which contexts were averaged."""
    array = np.asarray(value)
    return array[0] if array.ndim else value


def service_grid(service: Service, grid: Grid) -> Grid:
    """The grid of a service: its drafts, under the schedules of today's engines."""
    return replace(grid, drafts=(service.drafted,), schedules=SCHEDULES)


def aggregated(
    structures: Sequence[tuple[str, Design]],
    device: Device,
    count: int,
    service: Service,
    grid: Grid,
    *,
    clock: str = "overlapped",
    setting: str = "achievable",
    widened: Mapping[str, Design] | None = None,
) -> Answer:
    """The best aggregated way over named structures, meshes, batches and schedules on `count` devices.

    `widened` gives programs of prompts, by the name of the structure whose placement they share.
    """
    ways: list[Served] = []
    points, fitting = 0, 0
    for name, structure in structures:
        design = conventional_schedule(structure)
        devices = {p.name: device for p in design.pools}
        s = space(design, devices, count, service.scenario, service_grid(service, grid), setting)
        found = aggregated_steps(
            design, devices, service, s.batch, axes=s.axes, microbatches=s.microbatches, overlap=s.overlap,
            drafted=s.drafted, redundant=s.redundant, clock=clock, setting=setting,
            prompt_form=(widened or {}).get(name),
        )  # fmt: skip
        fits = np.logical_and(_front(found.chunked.fits), np.logical_and(s.meant, s.batch >= s.microbatches))
        arrays = [found.ttft, found.tpot, found.requests, found.seconds, fits, s.devices, s.batch]
        shape = np.broadcast_shapes(*(np.shape(a) for a in arrays))
        ttft, tpot, requests, step, fit, each, _ = (np.broadcast_to(a, shape).ravel() for a in arrays)
        replicas = np.floor(count / each)
        where = np.flatnonzero(fit)
        points, fitting = points + len(fit), fitting + len(where)
        if not len(where):
            continue
        rate = (replicas * requests)[where]
        for i in where[chosen(service, ttft[where], tpot[where], rate)]:
            role = role_at(s, name, int(i), shape, float(step[i]), int(replicas[i]))
            times = float(ttft[i]), float(tpot[i])
            rate_here = float(replicas[i] * requests[i])
            ways.append(served(service, count, rate_here, times, "aggregated", role))
    return best_of(service, ways, points, fitting)


def chosen(service: Service, ttft: Floats, tpot: Floats, rate: Floats) -> NDArray[np.intp]:
    """Points worth keeping: within the limits, those that none beats on TPOT and rate; and the nearest."""
    excess = np.maximum(ttft / service.max_ttft, tpot / service.max_tpot)
    meeting = np.flatnonzero(excess <= 1)
    if not len(meeting):
        return np.array([int(np.argmin(excess))], dtype=np.intp)
    return meeting[pareto(-tpot[meeting], rate[meeting])]


def role_at(
    s: Space, name: str, index: int, shape: tuple[int, ...], seconds: float, replicas: int = 0
) -> Role:
    """The role of one point of a space."""
    at = np.unravel_index(index, shape)

    def value(array: Value) -> int:
        return int(np.broadcast_to(np.asarray(array), shape)[at])

    configuration = {a: value(v) for a, v in s.configured.items()}
    return Role(name, configuration, replicas, value(s.devices), value(s.batch), seconds)


def spent(*steps: tuple[float, Evaluation]) -> str:
    """The resource that takes most of the kernel time of single points, each with its share of the steps."""
    found = dict.fromkeys((*RESOURCES, "latency"), 0.0)
    for share, e in steps:
        for item in e.plan.items:
            price = e.prices[item.work]
            runs = share * item.layers * (float(np.max(e.drafted)) if item.draft else 1.0)
            found[bound(price)] += runs * float(np.max(price.seconds))
    return max(found, key=lambda k: found[k])
