"""The whole frontier of one structure: every mesh, batch, micro-batch count and draft depth at once.

A structure says which axes exist and what they cut; their sizes are swept here, for a cluster of `count`
devices that runs as many equal replicas as fit.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from catalogue.devices import Device
from evaluator.errors import ConfigurationError, UnavailableError
from evaluator.evaluate import Evaluation, evaluate
from evaluator.frontier import Point, pareto
from evaluator.kinds import counted_as
from evaluator.numeric import Value
from evaluator.plan import plan
from evaluator.rates import rates_for
from evaluator.scenario import Scenario
from rooflang.design import Design, Mesh, Pool
from rooflang.lower import lower


@dataclass(frozen=True, slots=True)
class Grid:
    """The grids that both sides of a comparison share.

    `batches` are sequences in flight per replica; `drafts` drafted tokens; `schedules` pairs of
    (micro-batches, whether transfers overlap), by default the design's own. `redundant` counts replicas of
    experts on every rank; they are tried where experts are not equally popular, for else they never help.
    """

    batches: tuple[int, ...]
    drafts: tuple[int, ...] = (0, 1, 2, 3)
    schedules: tuple[tuple[int, bool], ...] = ()
    redundant: tuple[int, ...] = (0, 1, 2, 4)
    sizes: tuple[int, ...] = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
    most_configurations: int = 600


def standard_grid(count: int) -> Grid:
    """Batches by factors of √2 up to 8,192 sequences per device."""
    top = 8192 * count
    steps = {round(2 ** (i / 2)) for i in range(0, 60)}
    return Grid(tuple(sorted(b for b in steps if b <= top)))


MOST_TOGETHER = 40_000
"""Points of a structure that are evaluated at once: a few hundred arrays of so many numbers."""


@dataclass(frozen=True, slots=True)
class Swept:
    """Every point of a sweep as flat arrays, and the frontier among those that fit."""

    points: tuple[Point, ...]
    evaluated: int
    fitting: int


def configurations(
    design: Design, count: int, grid: Grid, worth: Mapping[str, float] | None = None
) -> tuple[dict[str, NDArray[np.float64]], NDArray[np.float64]]:
    """Mesh sizes that divide what they cut and fit on `count` devices: (size by axis, devices), one row each.

    Axes of the first pool take powers of two; those of further pools also 3·2^i, so that pools can be
    balanced. `worth` is what a device of each pool counts. When there are too many, those that leave the
    fewest devices idle are kept.
    """
    lowered = lower(design)
    meshes = lowered.meshes
    axes = [a for _, names in meshes for a in names]
    first = set(meshes[0][1])
    several = len(meshes) > 1
    choices = [
        [s for s in grid.sizes if s <= count and (several or a not in first or (s & (s - 1)) == 0)]
        for a in axes
    ]
    rows = np.array(list(itertools.product(*choices)), dtype=float) if axes else np.ones((1, 0))
    by_axis = {a: rows[:, i] for i, a in enumerate(axes)}
    total = np.zeros(len(rows))
    for pool, names in meshes:
        ranks = np.prod([by_axis[a] for a in names], axis=0) if names else 1.0
        total += ranks * (worth[pool] if worth else 1.0)
    keep = total <= count
    for condition in lowered.conditions:
        size = lowered.sizes[condition.dim].constant
        ranks = np.prod([by_axis[a] for a in condition.axes], axis=0) * condition.multiple
        keep &= np.mod(float(size or 1), ranks) == 0
    rows, total = rows[keep], total[keep]
    if len(rows) > grid.most_configurations:
        used = total * np.floor(count / total)
        order = np.lexsort((-total, -used))[: grid.most_configurations]
        rows, total = rows[order], total[order]
    return {a: rows[:, i] for i, a in enumerate(axes)}, total


def sweep(
    design: Design,
    devices: Mapping[str, Device],
    count: int,
    scenario: Scenario,
    grid: Grid,
    *,
    clock: str = "overlapped",
    setting: str = "achievable",
    name: str = "",
) -> Swept:
    """The frontier of a structure on a cluster of `count` devices."""
    return sweep_counts(design, devices, (count,), scenario, grid, clock=clock, setting=setting, name=name)[
        count
    ]


def sweep_counts(
    design: Design,
    devices: Mapping[str, Device],
    counts: Sequence[int],
    scenario: Scenario,
    grid: Grid,
    *,
    clock: str = "overlapped",
    setting: str = "achievable",
    name: str = "",
) -> dict[int, Swept]:
    """The frontier for each cluster size: a replica's step is evaluated once for all of them. Raises as
    `sweep_contexts`."""
    contexts = (scenario.context,)
    found = sweep_contexts(
        design, devices, counts, contexts, scenario, grid, clock=clock, setting=setting, name=name
    )
    return {count: swept for (count, _), swept in found.items()}


def sweep_contexts(
    design: Design,
    devices: Mapping[str, Device],
    counts: Sequence[int],
    contexts: Sequence[int],
    scenario: Scenario,
    grid: Grid,
    *,
    clock: str = "overlapped",
    setting: str = "achievable",
    name: str = "",
) -> dict[tuple[int, int], Swept]:
    """The frontier for each (cluster size, context): what no context touches is evaluated once for all.

    On devices whose links have no known rate a replica stays where every transfer has a price: on one
    device, or in one scale-up domain. Raises ConfigurationError when no mesh fits the largest cluster, and
    UnavailableError when a figure that the time of a step needs is not known.
    """
    s = space(design, devices, max(counts), scenario, grid, setting)
    # Contexts stand before the axes of the space, so that arrays without them broadcast as they are.
    leading = np.array(contexts, dtype=float).reshape(-1, 1, 1, 1, 1)
    e = evaluate(
        design,
        devices,
        scenario,
        s.batch,
        axes=s.axes,
        microbatches=s.microbatches,
        overlap=s.overlap,
        drafted=s.drafted,
        setting=setting,
        context=float(contexts[0]) if len(contexts) == 1 else leading,
        redundant=s.redundant,
    )
    every, fitting = _timed(e, s, clock, len(contexts))
    return {
        (count, context): _frontier(s, every[at], fitting[at], e.emitted, count, name)
        for at, context in enumerate(contexts)
        for count in counts
    }


def sweep_schedules(
    design: Design,
    devices: Mapping[str, Device],
    count: int,
    scenario: Scenario,
    grid: Grid,
    *,
    clock: str = "overlapped",
    setting: str = "achievable",
    name: str = "",
) -> tuple[Swept, ...]:
    """The frontier under each of `grid.schedules` alone: they are evaluated together, unless that takes much
    memory. Raises as `sweep_contexts`."""
    s = space(design, devices, count, scenario, grid, setting)
    if len(grid.schedules) > 1 and s.points > MOST_TOGETHER:
        each = (replace(grid, schedules=(schedule,)) for schedule in grid.schedules)
        return tuple(
            sweep(design, devices, count, scenario, g, clock=clock, setting=setting, name=name) for g in each
        )
    e = evaluate(
        design, devices, scenario, s.batch, axes=s.axes, microbatches=s.microbatches, overlap=s.overlap,
        drafted=s.drafted, setting=setting, context=float(scenario.context), redundant=s.redundant,
    )  # fmt: skip
    (every,), (fitting,) = _timed(e, s, clock, 1)
    found = []
    for position in range(len(grid.schedules)):
        own = slice(position, None, len(grid.schedules))  # replicated experts are tried with every schedule
        part = s.scheduled(own)
        found.append(_frontier(part, every[..., own], fitting[..., own], e.emitted, count, name))
    return tuple(found)


def _timed(
    e: Evaluation, s: Space, clock: str, contexts: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """(seconds of a step, whether it may run) at every context and point of a space."""
    seconds = e.seconds(clock)
    whole = np.broadcast_shapes(
        np.shape(seconds), np.shape(e.fits), s.meant.shape, s.batch.shape, (contexts, 1, 1, 1, 1)
    )
    fits = np.logical_and(e.fits, np.logical_and(s.meant, s.batch >= s.microbatches))
    return np.broadcast_to(seconds, whole), np.broadcast_to(fits, whole)


def _frontier(
    s: Space, seconds: NDArray[np.float64], fits: NDArray[np.bool_], emitted: Value, count: int, name: str
) -> Swept:
    """The frontier of a space on a cluster."""
    shape = seconds.shape
    user = np.broadcast_to(emitted / seconds, shape)
    replicas = np.floor(count / s.devices)
    gpu = np.broadcast_to(s.batch * replicas * emitted / seconds / count, shape)
    where = np.flatnonzero(np.logical_and(fits, replicas >= 1))
    best = where[pareto(user.ravel()[where], gpu.ravel()[where])] if len(where) else where
    points = _points(best, user, gpu, {**s.configured, "replicas": replicas}, s.batch, name)
    return Swept(points, int(np.prod(shape)), len(where))


_Grid4: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Space:
    """All operating points of a structure as arrays that broadcast over (mesh, batch, drafts, schedule).

    `axes` are sizes of mesh axes, `devices` those of a replica; `meant` leaves out what stands twice.
    """

    axes: Mapping[str, _Grid4]
    devices: _Grid4
    batch: _Grid4
    drafted: _Grid4
    microbatches: _Grid4
    overlap: _Grid4
    meant: NDArray[np.bool_]
    redundant: _Grid4

    @property
    def points(self) -> int:
        """How many there are."""
        shapes = (a.shape for a in (*self.axes.values(), self.batch, self.drafted, self.microbatches))
        return int(np.prod(np.broadcast_shapes(*shapes)))

    def scheduled(self, part: slice) -> Space:
        """The points of some schedules."""
        cut = {n: getattr(self, n)[..., part] for n in ("microbatches", "overlap", "meant", "redundant")}
        return replace(self, **cut)

    @property
    def configured(self) -> dict[str, _Grid4]:
        """What tells operating points apart, beside the batch."""
        found = {**self.axes, "microbatches": self.microbatches, "overlap": self.overlap}
        found["drafted"] = self.drafted
        return found | ({"redundant": self.redundant} if np.any(self.redundant) else {})


def space(
    design: Design, devices: Mapping[str, Device], count: int, scenario: Scenario, grid: Grid, setting: str
) -> Space:
    """The operating points of a structure on at most `count` devices.

    Raises ConfigurationError when no mesh fits, and UnavailableError when none fits within known links.
    """
    most = min(r.reach for d in devices.values() if (r := rates_for(d, setting)))
    by_axis, total = configurations(design, int(min(count, most)), grid, counted_as(devices))
    if not len(total) and most < count:
        kinds = " and ".join(sorted({d.name for d in devices.values()}))
        raise UnavailableError(
            f"a replica must fit on devices whose links have known rates, but {kinds} has none beyond "
            f"{most:g} of them, on which no mesh fits; use another device, or a file with its link rates"
        )
    if not len(total):
        raise ConfigurationError(
            f"a mesh must divide the model's sizes and fit on {count} devices, but none does; "
            "use more devices"
        )
    wide = {a: v[:, None, None, None] for a, v in by_axis.items()}
    batch = np.array(grid.batches, dtype=float)[None, :, None, None]
    drafts = np.array(grid.drafts, dtype=float)[None, None, :, None]
    if not any(s.draft for s in lower(design).segments):
        drafts = drafts[:, :, :1]
    m, overlap, meant = _schedules(design, wide, grid)
    m, overlap, meant, redundant = _crossed((m, overlap, meant), _redundant(design, scenario, grid))
    return Space(wide, total[:, None, None, None], batch, drafts, m, overlap, meant, redundant)


def _schedules(
    design: Design, axes: Mapping[str, _Grid4], grid: Grid
) -> tuple[_Grid4, _Grid4, NDArray[np.bool_]]:
    """(micro-batches, overlap, whether meant) along the last axis.

    A grid may ask for several schedules; else the design's own is taken. With a pipeline, a schedule of k
    micro-batches means k per stage.
    """
    own = ((design.schedule.microbatches, design.schedule.overlap_links),)
    asked = grid.schedules or own
    counts = np.array([float(k) for k, _ in asked]).reshape(1, 1, 1, -1)
    overlap = np.array([float(o) for _, o in asked]).reshape(1, 1, 1, -1)
    pipeline = design.placement.pipeline
    if pipeline is None:
        return counts, overlap, np.ones((1, 1, 1, len(asked)), bool)
    stages = axes[pipeline]
    if grid.schedules or design.schedule.microbatches > 1:
        return counts * stages, overlap, np.ones((1, 1, 1, len(asked)), bool)
    both = np.concatenate([stages, 2 * stages], axis=3)
    return both, np.concatenate([overlap, overlap], axis=3), np.concatenate([stages > 0, stages > 1], axis=3)


def _redundant(design: Design, scenario: Scenario, grid: Grid) -> tuple[int, ...]:
    """The counts of replicated experts worth trying."""
    return grid.redundant if scenario.skew and plan(lower(design)).experts else (0,)


def _crossed(
    schedules: tuple[_Grid4, _Grid4, NDArray[np.bool_]], redundant: tuple[int, ...]
) -> tuple[_Grid4, _Grid4, NDArray[np.bool_], _Grid4]:
    """Every schedule with every count of replicated experts, along the last axis."""
    m, overlap, meant = schedules
    times = len(redundant)
    each = np.repeat(np.array(redundant, dtype=float), m.shape[-1]).reshape(1, 1, 1, -1)
    tiles = (1, 1, 1, times)
    return np.tile(m, tiles), np.tile(overlap, tiles), np.tile(meant, tiles), each


def _points(
    best: NDArray[np.intp],
    user: NDArray[np.float64],
    gpu: NDArray[np.float64],
    axes: Mapping[str, NDArray[np.float64]],
    batch: NDArray[np.float64],
    name: str,
) -> tuple[Point, ...]:
    """The points at flat positions of the grid that `user` and `gpu` span."""
    at = np.unravel_index(best, user.shape)
    sizes = {a: np.broadcast_to(v, user.shape)[at].astype(int).tolist() for a, v in axes.items()}
    sequences = np.broadcast_to(batch, user.shape)[at].astype(int).tolist()
    rows = zip(user[at].tolist(), gpu[at].tolist(), sequences, strict=True)
    return tuple(
        Point(u, g, b * sizes["replicas"][n], {a: v[n] for a, v in sizes.items()}, name)
        for n, (u, g, b) in enumerate(rows)
    )


def concrete(design: Design, configuration: Mapping[str, int], device: str | Mapping[str, str]) -> Design:
    """The design of one point: mesh sizes, pool counts, micro-batches and their overlap filled in."""
    meshes = tuple(
        Mesh(m.pool, tuple((a, configuration.get(a, size)) for a, size in m.axes))
        for m in design.placement.meshes
    )
    counts = {m.pool: int(np.prod([s for _, s in m.axes])) for m in meshes}
    kinds = device if isinstance(device, Mapping) else {p.name: device for p in design.pools}
    pools = tuple(Pool(p.name, kinds[p.name], counts.get(p.name, 1)) for p in design.pools)
    schedule = replace(
        design.schedule,
        microbatches=configuration.get("microbatches", design.schedule.microbatches),
        overlap_links=bool(configuration.get("overlap", design.schedule.overlap_links)),
    )
    return design.with_(pools=pools, placement=replace(design.placement, meshes=meshes), schedule=schedule)


def at_point(
    design: Design,
    devices: Mapping[str, Device],
    scenario: Scenario,
    point: Point,
    *,
    setting: str,
) -> Evaluation:
    """The full evaluation of one operating point of a sweep."""
    configuration = point.configuration
    names = [a for _, axes in lower(design).meshes for a in axes]
    return evaluate(
        design, devices, scenario, float(point.batch // configuration["replicas"]),
        axes={a: float(configuration[a]) for a in names if a in configuration},
        microbatches=float(configuration["microbatches"]),
        overlap=float(configuration["overlap"]), drafted=float(configuration["drafted"]),
        setting=setting, redundant=float(configuration.get("redundant", 0)),
    )  # fmt: skip
