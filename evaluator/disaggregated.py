"""Disaggregated serving: some replicas compute prompts, others decode, and caches move between them.

With x prefill replicas of R_p prompts per second each and y decode replicas of R_d requests per second, the
cluster serves min(x·R_p, y·R_d) requests per second. In tokens, with n_p = x·(devices of a prefill replica)
and n_d alike, and r_p, r_d tokens per second and device:

    output tokens/s/GPU = n · min(n_p·r_p / (L·(1 - h)), n_d·r_d / n) / (n_p + n_d + idle)

A prompt's cache (all L tokens of it) leaves the devices of a prefill replica and enters those of a decode
replica, over the links between them: scale-up if the whole cluster is one domain, else scale-out. That caps
the requests at n_p·b/bytes and n_d·b/bytes for a rate b per device, and adds to TTFT the bytes of one cache
over the rate of the fewer devices that hold one sequence on either side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from catalogue.devices import Device
from evaluator.aggregated import chosen, role_at, service_grid, sharing
from evaluator.baseline import conventional_schedule
from evaluator.contexts import decoding
from evaluator.errors import UnavailableError
from evaluator.frontier import pareto
from evaluator.mixed import mixed
from evaluator.numeric import Numeric, Value
from evaluator.plan import plan
from evaluator.prefill import chunks, prefill
from evaluator.rates import rates_for
from evaluator.service import Answer, Role, Served, Service, best_of, served
from evaluator.sweep import Grid, Space, space
from rooflang.design import Design
from rooflang.lower import lower
from rooflang.work.cascade import SHARED_PREFIX, SHARERS

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Candidates:
    """Replicas that may take one part: seconds of a batch (prefill) or per token (decode), requests per
    second, devices of a replica, and devices that share one sequence's cache. `roles` by index."""

    seconds: Floats
    requests: Floats
    devices: Floats
    holders: Floats
    roles: list[Role]
    points: int
    fitting: int


def cache_bytes(design: Design, service: Service) -> float:
    """Mean bytes of one prompt's caches and states, over all layers; draft layers where they are used."""
    compiled = plan(lower(design))
    lengths, weights = service.prompts.arrays
    axes = {a: 1.0 for _, names in compiled.lowered.meshes for a in names}
    alone = {SHARED_PREFIX: 0.0, SHARERS: 1.0}
    n = Numeric({**axes, **alone, "B": 1.0, "Q": 1.0, "S": lengths}, "balanced")
    total: Value = 0.0
    kept = [(size, count, draft) for states in compiled.states.values() for size, count, draft in states]
    kept += [
        (size, count, draft) for h in compiled.host.values() for size, count, _, draft, cache in h if cache
    ]
    for size, count, draft in kept:
        total = total + n(size) * (count if service.drafted or not draft else 0)
    return float(np.broadcast_to(np.asarray(total), lengths.shape) @ weights)


def cache_rate(device: Device, count: int, setting: str) -> float:
    """Bytes per second at which a device sends or receives caches.

    Raises UnavailableError where the device's figure is not known.
    """
    r = rates_for(device, setting)
    rate = r.up_bytes_per_second if count <= r.domain else r.far_bytes_per_second
    if rate is None:
        key = "scale_up_bytes_per_second" if count <= r.domain else "scale_out_bytes_per_second"
        raise UnavailableError(
            f"caches must move over a link of known rate, but {device.lacks(key)}; serve aggregated, or use "
            "a device file with the figure"
        )
    return rate


def disaggregated(
    prefilling: Sequence[tuple[str, Design]],
    decoders: Sequence[tuple[str, Design]],
    device: Device,
    count: int,
    service: Service,
    grid: Grid,
    *,
    clock: str = "overlapped",
    setting: str = "achievable",
) -> Answer:
    """The best pair of structures, their meshes and batches, and the best split of `count` devices."""
    first = _prefills(prefilling, device, count, service, grid, clock, setting)
    second = _decoders(decoders, device, count, service, grid, clock, setting)
    points, fitting = first.points + second.points, first.fitting + second.fitting
    if not first.roles or not second.roles:
        return best_of(service, [], points, fitting)
    size, rate = cache_bytes(decoders[0][1], service), cache_rate(device, count, setting)
    moving = size / (rate * np.minimum(first.holders[:, None], second.holders[None, :]))
    x, y, requests = split(
        np.minimum(first.requests, first.devices * rate / size)[:, None], first.devices[:, None],
        np.minimum(second.requests, second.devices * rate / size)[None, :], second.devices[None, :], count,
    )  # fmt: skip
    ttft = first.seconds[:, None] + moving
    tpot = np.broadcast_to(second.seconds[None, :], ttft.shape)
    where = np.flatnonzero(requests > 0)
    ways: list[Served] = []
    if len(where):
        flat = [np.broadcast_to(a, ttft.shape).ravel()[where] for a in (ttft, tpot, requests)]
        for k in where[chosen(service, *flat)]:
            i, j = np.unravel_index(int(k), ttft.shape)
            wanted = {
                "prefill": float(x[i, j] * first.requests[i]), "decode": float(y[i, j] * second.requests[j]),
                "transfer": float(min(x[i, j] * first.devices[i], y[i, j] * second.devices[j]) * rate / size),
            }  # fmt: skip
            ways.append(
                served(
                    service, count, float(requests[i, j]), (float(ttft[i, j]), float(tpot[i, j])),
                    min(wanted, key=lambda w: wanted[w]),
                    replace(second.roles[j], replicas=int(y[i, j])),
                    replace(first.roles[i], replicas=int(x[i, j])), float(moving[i, j]),
                )
            )  # fmt: skip
    return best_of(service, ways, points, fitting)


def split(
    prompts: Floats, prefill_devices: Floats, answers: Floats, decode_devices: Floats, count: int
) -> tuple[Floats, Floats, Floats]:
    """(prefill replicas, decode replicas, requests per second) of the best split of `count` devices.

    Arguments are requests per second and devices of one replica of either kind, and broadcast. More prefill
    replicas leave fewer decoders, so that the best split is where the two cross: the most prefill replicas
    that do not outrun decode, or one more. Where no split has both kinds, all three are 0.
    """
    most = np.floor((count - decode_devices) / prefill_devices) + 0.0 * (prompts + answers)

    def left(x: Floats) -> Floats:
        return np.asarray(np.floor((count - x * prefill_devices) / decode_devices))

    low, high = np.zeros_like(most), np.maximum(most, 0.0)
    while np.any(low < high):
        middle = np.ceil((low + high) / 2)
        behind = middle * prompts <= left(middle) * answers
        low, high = np.where(behind, middle, low), np.where(behind, high, middle - 1)
    best = [np.clip(x, 1.0, np.maximum(most, 1.0)) for x in (low, low + 1)]
    rates = [np.minimum(x * prompts, np.maximum(left(x), 0.0) * answers) for x in best]
    x = np.where(rates[1] > rates[0], best[1], best[0])
    possible = most >= 1
    requests = np.where(possible, np.maximum(*rates), 0.0)
    return np.where(possible, x, 0.0), np.where(possible, left(x), 0.0), requests


def _prefills(
    structures: Sequence[tuple[str, Design]],
    device: Device,
    count: int,
    service: Service,
    grid: Grid,
    clock: str,
    setting: str,
) -> Candidates:
    batches = tuple(b for b in (2**i for i in range(10)) if b <= 4 * count)
    used = Grid(batches, (service.drafted,), service_grid(service, grid).schedules, grid.redundant,
                most_configurations=grid.most_configurations)  # fmt: skip
    parts: list[_Part] = []
    for name, structure in structures:
        design = conventional_schedule(structure)
        devices = {p.name: device for p in design.pools}
        s = space(design, devices, count, service.scenario, used, setting)
        found = prefill(
            design, devices, service.scenario, s.batch, service.prompts, hit=service.hit,
            chunk=service.chunk, axes=s.axes, microbatches=s.microbatches, overlap=s.overlap,
            drafted=s.drafted, setting=setting, clock=clock, redundant=s.redundant,
        )  # fmt: skip
        fits = np.logical_and(found.fits, np.logical_and(s.meant, s.batch >= s.microbatches))
        holders = s.devices / sharing(design, s.axes)
        parts.append(_Part(s, name, (found.seconds, found.prompts_per_second, fits, holders, found.seconds)))
    return _candidates(parts, count)


def _decoders(
    structures: Sequence[tuple[str, Design]],
    device: Device,
    count: int,
    service: Service,
    grid: Grid,
    clock: str,
    setting: str,
) -> Candidates:
    contexts = decoding(service.prompts, service.answers)
    cut = chunks(service.prompts, service.hit, service.chunk)
    parts: list[_Part] = []
    for name, structure in structures:
        design = conventional_schedule(structure)
        devices = {p.name: device for p in design.pools}
        s = space(design, devices, count, service.scenario, service_grid(service, grid), setting)
        e = mixed(
            design, devices, service.scenario, s.batch, contexts, cut, 0.0, axes=s.axes,
            microbatches=s.microbatches, overlap=s.overlap, drafted=s.drafted, setting=setting,
            redundant=s.redundant,
        )  # fmt: skip
        seconds = np.asarray(e.seconds(clock))[0]
        tpot = seconds / e.emitted
        fits = np.logical_and(np.asarray(e.fits)[0], np.logical_and(s.meant, s.batch >= s.microbatches))
        holders = s.devices / sharing(design, s.axes)
        requests = s.batch / tpot / service.answers.mean
        parts.append(_Part(s, name, (tpot, requests, fits, holders, seconds)))
    return _candidates(parts, count)


@dataclass(frozen=True, slots=True)
class _Part:
    """One structure's grid: time that a user sees, requests per second, fits, holders, seconds of a step."""

    space: Space
    name: str
    arrays: tuple[Value, Value, Value, Value, Value]


def _candidates(parts: Sequence[_Part], count: int) -> Candidates:
    """Of each structure and replica size, the points that none beats on time and requests."""
    columns: list[list[float]] = [[], [], [], []]
    roles: list[Role] = []
    points, fitting = 0, 0
    for part in parts:
        arrays = (*part.arrays, part.space.devices)
        shape = np.broadcast_shapes(*(np.shape(a) for a in (*arrays, part.space.batch)))
        seconds, requests, fits, holders, step, each = (
            np.broadcast_to(np.asarray(a), shape).ravel() for a in arrays
        )
        points, fitting = points + len(fits), fitting + int(np.count_nonzero(fits))
        for size in np.unique(each[fits & (each < count)]):
            where = np.flatnonzero(fits & (each == size))
            for i in where[pareto(-seconds[where], requests[where])]:
                for column, value in zip(columns, (seconds, requests, each, holders), strict=True):
                    column.append(float(value[i]))
                roles.append(role_at(part.space, part.name, int(i), shape, float(step[i])))
    times, rates, sizes, held = (np.array(c) for c in columns)
    return Candidates(times, rates, sizes, held, roles, points, fitting)
