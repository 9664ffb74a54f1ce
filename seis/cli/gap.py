"""`seis gap`: how far a measured run is from its limits, and what would help most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from seis.cli.options import (
    CONTEXT,
    DATABASE,
    DEVICE,
    DEVICES,
    DRAFTED,
    Database,
    Json,
    Kv,
    KvOption,
    between,
)

if TYPE_CHECKING:
    from evaluator.truth.gap import Gap

Degree = int | None
CHECKS = (
    "that the tokens counted are output tokens, not prompts and outputs together",
    "that throughput is divided by all devices of the run",
    "the precision (--precision), the drafting (--mtp) and the context",
    "that answers of a prefix or response cache are not counted",
)


def gap(
    model: Annotated[str, typer.Argument(help="A model, a .roof file, or a stored design's hash.")],
    throughput: Annotated[float, typer.Option(help="Measured output tokens/s per device, over all devices.")],
    device: Annotated[str, typer.Option(help="A device's name, or a path to your own .yaml.")] = DEVICE,
    count: Annotated[int, typer.Option(help="Devices of the run.")] = 8,
    batch: Annotated[float | None, typer.Option(help="Mean sequences in decode over all devices.")] = None,
    interactivity: Annotated[
        float | None, typer.Option(help="Measured tokens/s per user, instead of --batch.")
    ] = None,
    context: Annotated[int | None, typer.Option(help="Mean cached tokens per sequence.")] = None,
    isl: Annotated[int | None, typer.Option(help="Prompt tokens, with --osl instead of --context.")] = None,
    osl: Annotated[int | None, typer.Option(help="Output tokens.")] = None,
    tp: Annotated[Degree, typer.Option(help="Tensor parallelism.")] = None,
    dp: Annotated[Degree, typer.Option(help="Data parallelism.")] = None,
    ep: Annotated[Degree, typer.Option(help="Expert parallelism.")] = None,
    pp: Annotated[Degree, typer.Option(help="Pipeline stages.")] = None,
    cp: Annotated[Degree, typer.Option(help="Context parallelism.")] = None,
    replicas: Annotated[int | None, typer.Option(help="Copies of the design.")] = None,
    mtp: Annotated[int, typer.Option(help="Tokens drafted per step.")] = 0,
    precision: Annotated[
        str | None, typer.Option(help="Storage of the weights: fp8, nvfp4, mxfp4; as released.")
    ] = None,
    kv: KvOption = Kv.served,
    database: Database = DATABASE,
    json: Json = False,
) -> None:
    """Compare a measured run with its limits, and say which changes would help most.

    Without parallelism the run is taken as mapped in the fastest conventional way.
    """
    from catalogue.devices import load_device
    from catalogue.models.precision import at_precision
    from evaluator.scenario import Scenario
    from evaluator.truth.gap import Run, fastest
    from evaluator.truth.gap import gap as measured
    from mutations.start import starting_designs
    from rooflang.dtype import format_of
    from seis.cli.asked import Asked
    from seis.cli.operating import operate
    from seis.cli.problems import UsageError
    from seis.cli.sources import Source, find

    between("--count", count, 1, DEVICES)
    between("--mtp", mtp, 0, DRAFTED)
    cached = _context(context, isl, osl)
    sequences = _batch(batch, interactivity, throughput, count)
    source = find(model, kv.value, database)
    design = at_precision(source.design, precision)
    products = "" if precision is None or design is source.design else format_of(precision).rate
    kind = load_device(device)
    scenario = Scenario(cached)
    degrees = {"tp": tp, "dp": dp, "ep": ep, "pp": pp, "cp": cp}
    if design.placement.meshes or any(d is not None for d in (*degrees.values(), replicas)):
        asked = Asked(
            kind.name, count, cached, max(1, round(sequences)), degrees, {}, replicas, None, mtp, "achievable"
        )
        point = operate(Source(design, source.origin, source.name), asked)
        run = Run(point.design, kind, count, point.replicas, sequences, mtp, scenario, throughput, products)
    else:
        bare = Run(design, kind, count, 1, sequences, mtp, scenario, throughput, products)
        found = fastest(starting_designs(design), bare)
        if found is None:
            raise UsageError(
                f"a conventional mapping must fit {sequences:g} sequences of {cached:,} tokens on {count} x "
                f"{kind.name}, but none does; check --count, --precision, --kv and the batch"
            )
        run = found
    result = measured(run, design, starting_designs)
    if json:
        from seis.cli.output import print_json

        print_json(describe(result))
    else:
        from seis.cli.gap_tables import print_gap

        print_gap(result)


def _context(context: int | None, isl: int | None, osl: int | None) -> int:
    from seis.cli.problems import UsageError

    between("--isl", isl, 1)
    between("--osl", osl, 1)
    if context is not None and (isl is not None or osl is not None):
        raise UsageError("--context or --isl with --osl must be given, not both; leave one out")
    if context is not None:
        return context
    if isl is None and osl is None:
        return CONTEXT
    if isl is None or osl is None:
        raise UsageError("--isl and --osl must be given together; add the other one")
    return isl + osl // 2


def _batch(batch: float | None, interactivity: float | None, throughput: float, count: int) -> float:
    """Sequences in decode: as given, or by Little's law from interactivity."""
    import math

    from seis.cli.problems import UsageError

    for name, value in (("--throughput", throughput), ("--batch", batch), ("--interactivity", interactivity)):
        if value is not None and not (math.isfinite(value) and value > 0):
            raise UsageError(f"{name} must be a finite number above 0, but got {value}")
    if batch is not None and interactivity is not None:
        raise UsageError("--batch or --interactivity must be given, not both; leave one out")
    if batch is not None:
        return max(1.0, batch)
    if interactivity is None:
        raise UsageError("--batch or --interactivity must be given; add one")
    found = throughput * count / interactivity
    if found < 0.5:
        raise UsageError(
            f"--interactivity must be at most throughput x count = {throughput * count:g} tokens/s, what one "
            f"user alone would get, but got {interactivity:g}; check both figures"
        )
    return max(1.0, found)


def describe(result: Gap) -> dict[str, Any]:
    """The gap as `--json` prints it."""
    from evaluator.truth.gap import mapping

    run = result.run
    return {
        "fraction_of_limit": run.throughput / result.limit,
        "fraction_of_overlapped": run.throughput / result.overlapped,
        "fraction_of_achievable": run.throughput / result.achievable,
        "fraction_of_favourable": run.throughput / result.favourable,
        "binding": result.binding,
        "above_bound": result.above_bound,
        "check": list(CHECKS) if result.above_bound or run.throughput > result.limit else [],
        "mapping": mapping(run.design),
        "batch": run.batch,
        "context": run.scenario.context,
        "device": run.device.name,
        "count": run.count,
        "measured_tokens_per_second_per_gpu": run.throughput,
        "measured_tokens_per_second_per_user": run.throughput * run.count / run.batch,
        "limit_tokens_per_second_per_gpu": result.limit,
        "overlapped_tokens_per_second_per_gpu": result.overlapped,
        "achievable_tokens_per_second_per_gpu": result.achievable,
        "achievable_tokens_per_second_per_user": result.predicted_per_user,
        "changes": [
            {
                "kind": c.kind, "change": c.text, "tokens_per_second_per_gpu": c.per_device,
                "tokens_per_second_per_user": c.per_user, "gain": c.gain,
            }
            for c in result.changes
        ],
    }  # fmt: skip
