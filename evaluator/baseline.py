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
from evaluator.sweep import Grid, standard_grid, sweep
from rooflang.design import Design, Section, walk


@dataclass(frozen=True, slots=True)
class Baseline:
    """The joint frontier of conventional designs; `structures` maps a point's design name to its structure."""

    points: tuple[Point, ...]
    structures: Mapping[str, Design]
    evaluated: int
    fitting: int


def schedules(structure: Design) -> tuple[Design, ...]:
    """A structure under the schedules that engines run today."""
    names = {s.name for _, s in walk(structure.program.body) if isinstance(s, Section)}
    streams: list[tuple[str, ...]] = [(), ("shared",)] if "shared" in names else [()]
    found = []
    for stream in streams:
        for count in (1, 2):
            schedule = replace(
                structure.schedule, microbatches=count, overlap_links=count > 1, streams=stream
            )
            found.append(structure.with_(schedule=schedule))
    return tuple(found)


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

    `names` (default b0, b1, ...) label the designs, in the order of structures and then schedules.
    """
    grid = grid or standard_grid(count)
    points: list[Point] = []
    made: dict[str, Design] = {}
    evaluated = fitting = 0
    expanded = [d for s in structures for d in schedules(s)]
    for number, design in enumerate(expanded):
        name = names[number] if names is not None else f"b{number}"
        made[name] = design
        devices = {p.name: device for p in design.pools}
        swept = sweep(design, devices, count, scenario, grid, clock=clock, setting=setting, name=name)
        points.extend(swept.points)
        evaluated += swept.evaluated
        fitting += swept.fitting
    kept = front(points)
    used = {p.design for p in kept}
    return Baseline(kept, {n: d for n, d in made.items() if n in used}, evaluated, fitting)
