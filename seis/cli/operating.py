"""One operating point from what the command line says: design, devices, replicas, batch.

A model without placement is placed conventionally; a file or a stored design keeps its own, whose axes
of the same names the options may resize.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from catalogue.devices import Device, load_device
from evaluator.baseline import conventional_schedule
from evaluator.costs import Costs, costs
from evaluator.evaluate import Evaluation, evaluate
from evaluator.scenario import Scenario
from evaluator.sweep import concrete
from mutations.anatomy import kinds
from mutations.start import starting_designs
from rooflang.check import check
from rooflang.design import Design
from rooflang.errors import DesignError
from rooflang.lower import lower
from seis.cli.asked import DEGREES, Asked
from seis.cli.defaults import choose
from seis.cli.options import COUNT, DEVICE, DEVICES, DRAFTED, between
from seis.cli.placing import place, undivided
from seis.cli.problems import UsageError

if TYPE_CHECKING:
    from seis.cli.sources import Source


@dataclass(frozen=True, slots=True)
class Operating:
    """A design at one point of a cluster; `batch` is sequences over all `count` devices."""

    design: Design
    devices: Mapping[str, Device]
    count: int
    replicas: int
    batch: int
    configuration: Mapping[str, int]
    scenario: Scenario
    evaluation: Evaluation
    chunk: int | None = None  # tokens of each prompt, in a step of prefill

    @property
    def unavailable(self) -> str:
        """Why there are no times and throughputs: figures that a device lacks; empty where there are."""
        return self.evaluation.unavailable

    @property
    def ranks(self) -> dict[str, float]:
        """Devices of a replica by pool."""
        return {
            mesh.pool: float(prod(size for _, size in mesh.axes)) for mesh in self.design.placement.meshes
        }

    def costs(self, clock: str) -> Costs:
        """Energy and money per token under a clock, idle devices counted as their pools share the replica."""
        speed = None if self.unavailable else self.batch * self.per_user(clock) / self.count
        return costs(self.devices, self.ranks, speed)

    def per_user(self, clock: str) -> float:
        """Tokens per second and user."""
        return float(self.evaluation.per_user(clock))

    def per_gpu(self, clock: str) -> float:
        """Tokens per second and device of the cluster, idle devices counted; devices of further kinds count
        by their price."""
        counted = self.count * float(self.evaluation.devices) / sum(self.ranks.values())
        return self.batch * self.per_user(clock) / counted


def operate(source: Source, asked: Asked) -> Operating:
    """The operating point. Raises UsageError, or an error of the catalogue or the evaluator."""
    for name in DEGREES:
        between(f"--{name}", asked.degree(name), 1, DEVICES)
    between("--replicas", asked.replicas, 1, DEVICES)
    between("--microbatches", asked.microbatches, 1)
    between("--count", asked.count, 1, DEVICES)
    between("--batch", asked.batch, 1)
    between("--mtp", asked.drafted, 0, DRAFTED)
    scenario = Scenario(asked.context)
    if asked.structure is not None:
        source = replace(source, design=conventional(source, asked.structure))
    if source.design.placement.meshes:
        return _as_written(source, asked, scenario)
    if asked.axes:
        raise UsageError(
            f"--axis must resize a design's own placement, but {source.name} has none; use --tp, --dp"
        )
    if asked.pools:
        raise UsageError(
            f"--pool must name a pool of a design's own placement, but {source.name} has none; use --device"
        )
    device = load_device(DEVICE if asked.device is None else asked.device)
    count = asked.count or COUNT
    batch = asked.batch or asked.sequences * count
    degrees = choose(source.design, asked, count, batch, device, scenario)
    replicas = asked.replicas or count // degrees.devices
    microbatches = asked.microbatches or degrees.pp
    design = place(source.design, degrees, device.name, microbatches)
    problem = undivided(design)
    if problem:
        raise UsageError(f"parallelism must divide the model's sizes, but cannot divide {problem}; change it")
    configuration = {name: getattr(degrees, name) for name in DEGREES}
    if not kinds(source.design.program, "experts"):
        configuration["ep"] = 1
    return _at(design, {"main": device}, count, replicas, batch, configuration, microbatches, scenario, asked)


def conventional(source: Source, title: str) -> Design:
    """The conventional structure of a model with this title, or the one whose title begins so."""
    if source.design.placement.meshes:
        raise UsageError(
            f"--structure must place a model, but {source.name} has a placement of its own; leave it out"
        )
    found = {d.name.partition(": ")[2]: d for d in starting_designs(source.design)}
    named = [t for t in found if t == title] or [t for t in found if t.startswith(title)]
    if len(named) != 1:
        raise UsageError(
            f"--structure must be one of {'; '.join(found)}, or the unique beginning of one, "
            f"but got {title!r}"
        )
    return conventional_schedule(found[named[0]])


def _as_written(source: Source, asked: Asked, scenario: Scenario) -> Operating:
    """A design with its own placement; options of the same names as its axes resize them."""
    design = source.design
    sizes = {a: size for mesh in design.placement.meshes for a, size in mesh.axes}
    degrees = {n: v for n in DEGREES if (v := asked.degree(n)) is not None}
    for name, value in (degrees | dict(asked.axes or {})).items():
        if name not in sizes:
            raise UsageError(
                f"an axis must be one of the design's own placement ({', '.join(sizes)}), but "
                f"{source.name} has no {name!r}; leave it out"
            )
        sizes[name] = value
    given = {p.name: p.device if asked.device is None else asked.device for p in design.pools}
    for name, kind in (asked.pools or {}).items():
        if name not in given:
            raise UsageError(
                f"--pool must name a pool of the design ({', '.join(given)}), but {source.name} has "
                f"no {name!r}"
            )
        given[name] = kind
    devices = {pool: load_device(DEVICE if name == "any" else name) for pool, name in given.items()}
    stages = sizes.get(design.placement.pipeline or "", 1)
    written = design.schedule.microbatches if asked.structure is None else stages
    microbatches = asked.microbatches or written
    schedule = {"microbatches": microbatches}
    if asked.structure is not None:  # more than the stages need: transfers of one pass under the other
        schedule["overlap"] = int(microbatches > stages)
    placed = concrete(design, sizes | schedule, {p: d.name for p, d in devices.items()})
    problem = undivided(placed)
    if problem:
        raise UsageError(f"parallelism must divide the model's sizes, but cannot divide {problem}; change it")
    if source.origin == "file":
        _well_formed(placed)
    each = sum(prod(size for _, size in mesh.axes) for mesh in placed.placement.meshes)
    count = asked.count or each * (asked.replicas or 1)
    replicas = asked.replicas or count // each
    if replicas * each > count or not replicas:
        raise UsageError(
            f"--count must be at least replicas x devices of the design = {max(1, replicas) * each}, "
            f"but got {count}; raise it"
        )
    batch = asked.batch or asked.sequences * count
    return _at(placed, devices, count, replicas, batch, sizes, microbatches, scenario, asked)


def _well_formed(design: Design) -> None:
    """Raises DesignError with the first rule of the language that a written design breaks."""
    for problem in check(lower(design), numbers=False):
        hint = f"; {problem.hint}" if problem.hint else ""
        raise DesignError(f"{problem.message}{hint}", problem.where)


def _at(
    design: Design,
    devices: Mapping[str, Device],
    count: int,
    replicas: int,
    batch: int,
    sizes: Mapping[str, int],
    microbatches: int,
    scenario: Scenario,
    asked: Asked,
) -> Operating:
    each = -(-batch // replicas)
    if each < microbatches:
        raise UsageError(
            f"--batch must give each of {replicas} replicas a sequence per micro-batch ({microbatches}), "
            f"but gives {each}; raise it or lower --microbatches"
        )
    found = evaluate(
        design, devices, scenario, float(each), microbatches=float(microbatches),
        drafted=float(asked.drafted), setting=asked.setting, queries=asked.queries,
    )  # fmt: skip
    drafted = asked.drafted if np.max(found.drafted) else 0
    if drafted != asked.drafted:
        raise UsageError(f"--mtp must be 0 for a design without draft layers, but got {asked.drafted}")
    configuration = {**sizes, "replicas": replicas, "microbatches": microbatches, "drafted": drafted}
    return Operating(design, devices, count, replicas, batch, configuration, scenario, found, asked.chunk)
