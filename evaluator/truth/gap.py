"""How far a measured run is from its limits, and which single changes would bring most.

The run's mapping is evaluated at its own operating point under three settings; every change is a full
re-evaluation of the same design with one thing changed: mapping, batch, drafting, precision or hardware.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from catalogue.devices import Device, device_names, load_device
from catalogue.models.precision import at_precision, narrowest
from evaluator.errors import ConfigurationError, UnavailableError
from evaluator.evaluate import Evaluation, evaluate
from evaluator.scenario import Scenario
from evaluator.sweep import Grid, concrete, configurations
from evaluator.truth.favour import favoured, lifted
from rooflang.design import Design, Pool
from rooflang.dtype import format_of
from rooflang.lower import lower

_PRECISIONS = ("fp8", "nvfp4")
_DEEPEST = 3
_WORTH = 0.005  # a gain below this is none


@dataclass(frozen=True, slots=True)
class Run:
    """A measured run: a placed design, `batch` sequences over `count` devices in `replicas` copies.

    `throughput` is output tokens per second and device over all devices. Products run in the formats that
    the design states; `products` names the matrix rate of a run that was quantised further, at which then
    all of its products run.
    """

    design: Design
    device: Device
    count: int
    replicas: int
    batch: float
    drafted: int
    scenario: Scenario
    throughput: float
    products: str = ""

    @property
    def expected_device(self) -> Device:
        """The device as a prediction sees it."""
        return lifted(self.device, self.products) if self.products else self.device

    def evaluated(self, setting: str, *, favour: bool = False) -> Evaluation:
        """The run's step; with `favour`, only what is certain, on a device with every favour."""
        device = favoured(self.device, narrowest(self.design)) if favour else self.expected_device
        drafted = self.drafted if _has_drafts(self.design) else 0
        scenario = self.scenario
        if favour:
            scenario = replace(scenario, routing="certain", acceptance=(1.0,) * drafted)
        each = max(1.0, self.batch / self.replicas)
        return evaluate(
            self.design, {p.name: device for p in self.design.pools}, scenario, each,
            drafted=float(drafted), setting=setting,
        )  # fmt: skip

    def per_device(self, setting: str, clock: str, *, favour: bool = False) -> float:
        """Tokens per second and device at the run's operating point."""
        e = self.evaluated(setting, favour=favour)
        return self.batch * float(e.per_user(clock)) / self.count

    def per_user(self, setting: str, clock: str) -> float:
        return float(self.evaluated(setting).per_user(clock))

    @property
    def fits(self) -> bool:
        e = self.evaluated("achievable")
        return bool(np.all(e.fits)) and bool(np.all(e.allowed))


@dataclass(frozen=True, slots=True)
class Change:
    """One change and what the re-evaluated run then delivers; `gain` is over the run's own prediction."""

    kind: str
    text: str
    per_device: float
    per_user: float
    gain: float


@dataclass(frozen=True, slots=True)
class Gap:
    """Fractions of the run's limits, what binds, and the changes that help most, best first.

    `limit` and `overlapped` are clocks at published peaks under balanced routing, `achievable` is the
    prediction, and `favourable` what no routing, precision of products or acceptance could beat.
    """

    run: Run
    limit: float
    overlapped: float
    achievable: float
    favourable: float
    predicted_per_user: float
    binding: str
    changes: tuple[Change, ...]

    @property
    def above_bound(self) -> bool:
        return self.run.throughput > self.favourable


def gap(run: Run, model: Design, structures: Callable[[Design], Sequence[Design]], most: int = 3) -> Gap:
    """The gap of a run; `model` is the design without placement, or the run's own where there is none.

    Raises UnavailableError where a figure of the device that the step needs is not known.
    """
    achievable = run.per_device("achievable", "overlapped")
    found = sorted(_changes(run, model, structures, achievable), key=lambda change: change.gain, reverse=True)
    helping = [change for change in found if change.gain > _WORTH]
    # The best of each kind; where fewer kinds than asked help, the next best, of other hardware last.
    firsts = list({change.kind: change for change in reversed(helping)}.values())
    others = sorted((c for c in helping if c not in firsts), key=lambda c: (c.kind == "hardware", -c.gain))
    chosen = [*sorted(firsts, key=lambda change: -change.gain), *others][:most]
    binding = run.evaluated("physical").binding("limit")
    pool, _, resource = binding.partition(" ")
    return Gap(
        run,
        run.per_device("physical", "limit"),
        run.per_device("physical", "overlapped"),
        achievable,
        run.per_device("physical", "limit", favour=True),
        run.per_user("achievable", "overlapped"),
        resource if pool == "main" else binding,
        tuple(sorted(chosen, key=lambda change: -change.gain)),
    )


def _changes(
    run: Run, model: Design, structures: Callable[[Design], Sequence[Design]], before: float
) -> Iterator[Change]:
    def change(kind: str, text: str, other: Run) -> Iterator[Change]:
        if other.fits:
            after = other.per_device("achievable", "overlapped")
            user = other.per_user("achievable", "overlapped")
            yield Change(kind, text, after, user, after / before - 1)

    if not model.placement.meshes:
        mapped = fastest(structures(model), run)
        if mapped is not None:
            yield from change("mapping", f"map it as {mapping(mapped.design)}", mapped)
    for factor in (2, 4):
        batch = factor * run.batch
        yield from change("batch", f"batch {batch:g}", replace(run, batch=batch))
    if _has_drafts(run.design):
        for depth in range(_DEEPEST + 1):
            if depth != run.drafted:
                yield from change("drafting", f"draft {depth} tokens per step", replace(run, drafted=depth))
    for form in _PRECISIONS:
        narrow = at_precision(run.design, form)
        if format_of(form).rate in run.device.flops_per_second and narrow is not run.design:
            quantised = replace(run, design=narrow, products=format_of(form).rate)
            yield from change("precision", f"weights in {form}", quantised)
    for name in device_names():
        device = load_device(name)
        if name != run.device.name and device.owner_cost_dollars_per_hour is not None:
            yield from _on(run, device, change)


def _on(run: Run, device: Device, change: Callable[[str, str, Run], Iterator[Change]]) -> Iterator[Change]:
    pools = tuple(Pool(p.name, device.name, p.count) for p in run.design.pools)
    try:
        yield from change(
            "hardware",
            f"run on {device.name}",
            replace(run, device=device, design=run.design.with_(pools=pools)),
        )
    except UnavailableError:
        return


def fastest(designs: Sequence[Design], run: Run) -> Run | None:
    """The run under the conventional mapping that is predicted to be fastest at its batch, or None."""
    best: tuple[float, Run] | None = None
    grid = Grid((1,), drafts=(run.drafted,))
    for design in designs:
        try:
            axes, total = configurations(design, run.count, grid)
        except ConfigurationError:
            continue
        if not len(total):
            continue
        replicas = np.floor(run.count / total)
        stages = axes.get(design.placement.pipeline or "", np.ones_like(total))
        each = np.maximum(run.batch / replicas, 1.0)
        e = evaluate(
            design, {"main": run.expected_device}, run.scenario, each, axes=axes, microbatches=stages,
            drafted=float(run.drafted), setting="achievable",
        )  # fmt: skip
        good = np.asarray(e.fits) & (each >= stages) & (replicas <= max(run.batch, 1))
        if not np.any(good):
            continue
        speed = np.where(good, 1.0 / np.broadcast_to(np.asarray(e.seconds("overlapped")), total.shape), 0.0)
        at = int(np.argmax(speed))
        if best is None or speed[at] > best[0]:
            sizes = {name: int(values[at]) for name, values in axes.items()}
            placed = concrete(design, sizes | {"microbatches": int(stages[at])}, run.device.name)
            best = float(speed[at]), replace(run, design=placed, replicas=int(replicas[at]))
    return None if best is None else best[1]


def mapping(design: Design) -> str:
    """`TP attention + TP experts, tp 8`: the structure and its sizes above 1."""
    title = design.name.partition(": ")[2]
    sizes = [f"{a} {size}" for mesh in design.placement.meshes for a, size in mesh.axes if size > 1]
    return ", ".join([*([title] if title and sizes else []), *(sizes or ["one device"])])


def _has_drafts(design: Design) -> bool:
    return any(segment.draft for segment in lower(design).segments)
