"""The conventional baseline: the best that today's engines can express, as a frontier.

The caller gives the conventional structures (tensor, data, expert, context and pipeline parallelism in
their usual combinations); every schedule that engines run on them is added here: one micro-batch, two
overlapping ones, and the shared expert on a second stream. Meshes, batches, replicas and draft depths are
swept by the same grid as every discovered design.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from catalogue.devices import Device
from evaluator.frontier import Point, front
from evaluator.scenario import Scenario
from evaluator.sweep import Grid, standard_grid, sweep_contexts
from rooflang.design import Design, Section, walk


@dataclass(frozen=True, slots=True)
class Baseline:
    """The joint frontier of conventional designs; `structures` gives the structure of a point's design."""

    points: tuple[Point, ...]
    structures: Mapping[str, Design]
    evaluated: int
    fitting: int


# One micro-batch, and two whose transfers overlap (two-batch overlap).
SCHEDULES = ((1, False), (2, True))


def conventional_schedule(structure: Design) -> Design:
    """The structure with its shared expert, if any, on a second stream (never slower under these clocks)."""
    names = {s.name for _, s in walk(structure.program.body) if isinstance(s, Section)}
    streams = ("shared",) if "shared" in names else ()
    return structure.with_(schedule=replace(structure.schedule, streams=streams))


def baseline(
    structures: Iterable[Design],
    device: Device,
    count: int,
    scenario: Scenario,
    *,
    grid: Grid | None = None,
    clock: str = "overlapped",
    setting: str = "achievable",
    names: Sequence[str] | None = None,
) -> Baseline:
    """The frontier of conventional designs on `count` devices of one kind.

    `names` (default b0, b1, ...) label the structures in order.
    """
    return baselines(
        structures, device, (count,), scenario, grid=grid, clock=clock, setting=setting, names=names
    )[count]


def baselines(
    structures: Iterable[Design],
    device: Device,
    counts: Sequence[int],
    scenario: Scenario,
    *,
    grid: Grid | None = None,
    clock: str = "overlapped",
    setting: str = "achievable",
    names: Sequence[str] | None = None,
) -> dict[int, Baseline]:
    """The baseline for each cluster size, evaluated together."""
    found = baselines_over(
        structures, device, counts, (scenario.context,), scenario, grid=grid, clock=clock, setting=setting,
        names=names,
    )  # fmt: skip
    return {count: baseline for (count, _), baseline in found.items()}


def baselines_over(
    structures: Iterable[Design],
    device: Device,
    counts: Sequence[int],
    contexts: Sequence[int],
    scenario: Scenario,
    *,
    grid: Grid | None = None,
    clock: str = "overlapped",
    setting: str = "achievable",
    names: Sequence[str] | None = None,
) -> dict[tuple[int, int], Baseline]:
    """The baseline for each (cluster size, context), evaluated together; the scenario's own is not used."""
    grid = replace(grid or standard_grid(max(counts)), schedules=SCHEDULES)
    cases = [(count, context) for count in counts for context in contexts]
    points: dict[tuple[int, int], list[Point]] = {case: [] for case in cases}
    made: dict[str, Design] = {}
    evaluated, fitting = dict.fromkeys(cases, 0), dict.fromkeys(cases, 0)
    for number, structure in enumerate(structures):
        design = conventional_schedule(structure)
        name = names[number] if names is not None else f"b{number}"
        made[name] = design
        devices = {p.name: device for p in design.pools}
        found = sweep_contexts(
            design, devices, counts, contexts, scenario, grid, clock=clock, setting=setting, name=name
        )
        for case, swept in found.items():
            points[case].extend(swept.points)
            evaluated[case] += swept.evaluated
            fitting[case] += swept.fitting
    result = {}
    for case in cases:
        kept = front(points[case])
        used = {p.design for p in kept}
        result[case] = Baseline(
            kept, {n: d for n, d in made.items() if n in used}, evaluated[case], fitting[case]
        )
    return result
