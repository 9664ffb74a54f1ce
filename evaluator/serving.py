"""The best way to run a service on a cluster: aggregated, disaggregated, or the better of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from catalogue.devices import Device
from evaluator.aggregated import aggregated, aggregated_steps, spent
from evaluator.baseline import conventional_schedule
from evaluator.contexts import decoding
from evaluator.disaggregated import disaggregated
from evaluator.errors import ConfigurationError, ScenarioError
from evaluator.mixed import mixed
from evaluator.prefill import chunks, prefill
from evaluator.service import MODES, Answer, Role, Served, Service, best_of
from evaluator.sweep import Grid, standard_grid
from rooflang.design import Design
from rooflang.lower import lower


def serve(
    decoders: Sequence[tuple[str, Design]],
    prefilling: Sequence[tuple[str, Design]],
    device: Device,
    count: int,
    service: Service,
    *,
    mode: str = "best",
    grid: Grid | None = None,
    clock: str = "overlapped",
    setting: str = "achievable",
    widened: Mapping[str, Design] | None = None,
) -> Answer:
    """The best way over named structures for decode (and for aggregated serving) and for prefill.

    `widened` gives programs of prompts for aggregated serving, by the name of the structure for decode.

    Raises ScenarioError for an unknown mode, or drafted tokens that a model cannot draft; ConfigurationError
    for disaggregated serving on a single device; UnavailableError where a figure is not known.
    """
    if mode not in MODES:
        raise ScenarioError(f"a mode must be one of {', '.join(MODES)}, but got {mode!r}")
    if mode == "disaggregated" and count < 2:
        raise ConfigurationError(
            "disaggregated serving needs at least 2 devices, but got 1; serve aggregated"
        )
    if service.drafted and not all(any(s.draft for s in lower(d).segments) for _, d in decoders):
        raise ScenarioError(
            f"drafted tokens must be 0 for a model without draft layers, but got {service.drafted}"
        )
    grid = grid or standard_grid(count)
    answers: list[Answer] = []
    if mode != "disaggregated":
        answers.append(
            aggregated(decoders, device, count, service, grid, clock=clock, setting=setting, widened=widened)
        )
    if mode == "disaggregated" or (mode == "best" and count > 1):
        answers.append(
            disaggregated(prefilling, decoders, device, count, service, grid, clock=clock, setting=setting)
        )
    known = dict(decoders) | dict(prefilling)
    ways = [w for a in answers for w in (*a.frontier, *([a.nearest] if a.nearest else []))]
    found = best_of(service, ways, sum(a.points for a in answers), sum(a.fitting for a in answers))

    def explained(way: Served | None) -> Served | None:
        return None if way is None else bound_by(way, known, device, service, clock, setting, widened)

    return replace(found, best=explained(found.best), nearest=explained(found.nearest))


def bound_by(
    way: Served,
    structures: Mapping[str, Design],
    device: Device,
    service: Service,
    clock: str,
    setting: str,
    widened: Mapping[str, Design] | None = None,
) -> Served:
    """The same with what takes most of each role's time: their points are evaluated again."""
    design, axes, numbers = _point(way.decode, structures)
    m, overlap, drafted, redundant = numbers
    devices = {p.name: device for p in design.pools}
    batch = float(way.decode.batch)
    if way.prefill is None:
        steps = aggregated_steps(
            design, devices, service, batch, axes=axes, microbatches=m, overlap=overlap, drafted=drafted,
            redundant=redundant, clock=clock, setting=setting,
            prompt_form=(widened or {}).get(way.decode.structure),
        )  # fmt: skip
        share = float(steps.share)
        binding = spent((1.0 - share, steps.plain), (share, steps.chunked))
        return replace(way, decode=replace(way.decode, binding=binding))
    cut = chunks(service.prompts, service.hit, service.chunk)
    step = mixed(
        design, devices, service.scenario, batch, decoding(service.prompts, service.answers), cut, 0.0,
        axes=axes, microbatches=m, overlap=overlap, drafted=drafted, setting=setting, redundant=redundant,
    )  # fmt: skip
    decode = replace(way.decode, binding=spent((1.0, step)))
    design, axes, (m, overlap, drafted, redundant) = _point(way.prefill, structures)
    devices = {p.name: device for p in design.pools}
    found = prefill(
        design, devices, service.scenario, float(way.prefill.batch), service.prompts, hit=service.hit,
        chunk=service.chunk, axes=axes, microbatches=m, overlap=overlap, drafted=drafted, setting=setting,
        clock=clock, redundant=redundant,
    )  # fmt: skip
    return replace(way, decode=decode, prefill=replace(way.prefill, binding=spent((1.0, found.step))))


def _point(
    role: Role, structures: Mapping[str, Design]
) -> tuple[Design, dict[str, float], tuple[float, float, float, float]]:
    """(design, sizes of axes, (micro-batches, overlap, drafted, redundant experts)) of a role."""
    design, c = conventional_schedule(structures[role.structure]), role.configuration
    axes = {a: float(c[a]) for _, names in lower(design).meshes for a in names}
    numbers = (float(c[k]) for k in ("microbatches", "overlap", "drafted"))
    m, overlap, drafted = numbers
    return design, axes, (m, overlap, drafted, float(c.get("redundant", 0)))
