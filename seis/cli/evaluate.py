"""`seis evaluate`: how fast one design runs at one operating point, what binds it, and whether it fits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seis.cli.options import (
    CONTEXT,
    DATABASE,
    MODEL,
    Clock,
    ClockOption,
    Context,
    Database,
    Json,
    Kv,
    KvOption,
    Phase,
    Setting,
    SettingOption,
    Simulate,
    Trace,
    between,
)

if TYPE_CHECKING:
    from evaluator.simulate import Simulated
    from seis.cli.operating import Operating

Degree = int | None
CHUNK = 2048
_AXIS = re.compile(r"(.+)=([1-9][0-9]{0,5})")


def evaluate(
    design: Annotated[str, typer.Argument(help="A model, a .roof file, or a stored design's hash.")] = MODEL,
    device: Annotated[
        str | None, typer.Option(help="A device's name, or a path to your own .yaml; b300 for a model.")
    ] = None,
    count: Annotated[int | None, typer.Option(help="Devices of the cluster; 64 for a model.")] = None,
    context: Context = CONTEXT,
    batch: Annotated[
        int | None, typer.Option(help="Sequences in flight over all devices; 64 per device.")
    ] = None,
    tp: Annotated[Degree, typer.Option(help="Tensor parallelism.")] = None,
    dp: Annotated[Degree, typer.Option(help="Data parallelism; all that divides and fits.")] = None,
    ep: Annotated[Degree, typer.Option(help="Expert parallelism; dp x cp x tp.")] = None,
    pp: Annotated[Degree, typer.Option(help="Pipeline stages.")] = None,
    cp: Annotated[Degree, typer.Option(help="Context parallelism: ranks that share a cache.")] = None,
    structure: Annotated[
        str | None, typer.Option(help="Place a model as this structure of `seis baseline` does.")
    ] = None,
    axis: Annotated[
        list[str] | None, typer.Option(help="NAME=N: size of any axis of the design's own placement.")
    ] = None,
    pool: Annotated[
        list[str] | None, typer.Option(help="NAME=DEVICE: another kind of device for a pool of the design.")
    ] = None,
    replicas: Annotated[int | None, typer.Option(help="Copies of the design; as many as fit.")] = None,
    microbatches: Annotated[int | None, typer.Option(help="Micro-batches per step; pp.")] = None,
    mtp: Annotated[int, typer.Option(help="Tokens drafted per step (multi-token prediction).")] = 0,
    phase: Annotated[Phase, typer.Option(help="A decode step, or a chunk of prompts.")] = Phase.decode,
    chunk: Annotated[
        int | None, typer.Option(help="Tokens of each prompt, the last at --context; 2048.")
    ] = None,
    clock: ClockOption = Clock.overlapped,
    setting: SettingOption = Setting.achievable,
    simulate: Simulate = False,
    trace: Trace = None,
    kv: KvOption = Kv.served,
    database: Database = DATABASE,
    json: Json = False,
) -> None:
    """Say how fast a design is at one operating point, what binds it, and whether it fits."""
    from seis.cli.asked import Asked
    from seis.cli.operating import operate
    from seis.cli.problems import UsageError
    from seis.cli.sources import find

    degrees = {"tp": tp, "dp": dp, "ep": ep, "pp": pp, "cp": cp}
    asked = Asked(
        device,
        count,
        context,
        batch,
        degrees,
        axes_of(axis or ()),
        replicas,
        microbatches,
        mtp,
        setting.value,
        None if phase is Phase.decode else min(context, CHUNK) if chunk is None else chunk,
        structure,
        pools_of(pool or ()),
    )
    if chunk is not None and phase is Phase.decode:
        raise UsageError(
            "--chunk must stand beside --phase prefill: a decode step has no chunk; leave it out"
        )
    between("--chunk", chunk, 1)
    if chunk is not None and chunk > context:
        raise UsageError(f"--chunk must be at most --context, which it ends at, but got {chunk}; lower it")
    point = operate(find(design, kv.value, database), asked)
    simulated = _simulated(point, trace) if simulate or trace is not None else None
    if json:
        from seis.cli.output import print_json
        from seis.cli.overlap_tables import describe as overlap

        found = describe(point, clock.value, setting.value)
        print_json(found if simulated is None else {**found, "simulated": overlap(simulated)})
        return
    _print(point, clock.value, setting.value)
    if simulated is not None:
        from seis.cli.output import console
        from seis.cli.overlap_tables import print_overlap

        console().print()
        print_overlap(simulated)


def _simulated(point: Operating, trace: Path | None) -> Simulated:
    from evaluator.simulate import simulate
    from seis.cli.overlap_tables import write_trace

    found = simulate(point.evaluation)
    if trace is not None:
        write_trace(trace, {"": found})
    return found


def axes_of(texts: Sequence[str]) -> dict[str, int]:
    """Sizes by axis from texts such as `tp=8`."""
    from seis.cli.problems import UsageError

    found = {}
    for text in texts:
        match = _AXIS.fullmatch(text)
        if match is None:
            raise UsageError(f"--axis must be NAME=N with N from 1 to 999999, such as tp=8, but got {text!r}")
        found[match[1]] = int(match[2])
    return found


def pools_of(texts: Sequence[str]) -> dict[str, str]:
    """Devices by pool from texts such as `experts=h20`."""
    from seis.cli.problems import UsageError

    found = {}
    for text in texts:
        name, _, device = text.partition("=")
        if not name or not device:
            raise UsageError(f"--pool must be NAME=DEVICE, such as experts=h20, but got {text!r}")
        found[name] = device
    return found


def describe(point: Operating, clock: str, setting: str) -> dict[str, Any]:
    """The point as `--json` prints it."""
    from rooflang.canonical import design_hash

    e = point.evaluation
    return {
        "fits": bool(e.fits),
        **_speed(point, clock),
        "bytes_per_gpu": memory(point),
        **_host(point),
        "not_modelled": dict(e.not_modelled),
        "unavailable": unavailable(point, clock),
        "model": point.design.name,
        "design": design_hash(point.design),
        "devices": {pool: d.name for pool, d in point.devices.items()},
        "count": point.count,
        "context": point.scenario.context,
        "batch": point.batch,
        "configuration": dict(point.configuration),
        "clock": clock,
        "setting": setting,
        "tokens_per_step": float(e.emitted),
        "phase": "decode" if point.chunk is None else "prefill",
        "queries": point.chunk or 1 + int(point.configuration.get("drafted", 0)),
    }


TIMED = ("step_seconds", "tokens_per_second_per_user", "tokens_per_second_per_gpu", "binding", "operators")
HOST = ("host_memory_bytes", "host_bytes_per_second")


def _speed(point: Operating, clock: str) -> dict[str, Any]:
    """What follows from the time of a step, under its keys; null where a device lacks a figure for it."""
    from dataclasses import asdict

    from evaluator.report import rows

    costs = {k: v for k, v in asdict(point.costs(clock)).items() if k != "unavailable"}
    if point.unavailable:
        return {**dict.fromkeys(TIMED), **costs}
    e = point.evaluation
    return {
        "step_seconds": {c: float(e.seconds(c)) for c in ("limit", "overlapped", "serial")},
        "tokens_per_second_per_user": point.per_user(clock),
        "tokens_per_second_per_gpu": point.per_gpu(clock),
        "binding": binding(point, clock),
        "operators": [_operator(r) for r in rows(e)],
        **costs,
    }


def _host(point: Operating) -> dict[str, float | None]:
    """The host's memory and link per device, the least of all pools; null where one is not known."""
    found: dict[str, float | None] = {}
    for key in HOST:
        values = [getattr(d, key) for d in point.devices.values()]
        found[key] = None if None in values else min(values)
    return found


def unavailable(point: Operating, clock: str) -> dict[str, str]:
    """Why a value is null, by its key: the figures that a device lacks."""
    from evaluator.costs import METRICS

    found = dict.fromkeys(TIMED, point.unavailable) if point.unavailable else {}
    for metric in METRICS:
        lacking = "; ".join(filter(None, (point.costs(clock).unavailable.get(metric), point.unavailable)))
        if lacking:
            found[metric] = lacking
    for key in HOST:
        lacking = "; ".join(
            dict.fromkeys(d.lacks(key) for d in point.devices.values() if getattr(d, key) is None)
        )
        if lacking:
            found[key] = lacking
    return found


def memory(point: Operating) -> dict[str, float]:
    """Bytes by class on a device of the fullest pool."""
    fullest = max(point.evaluation.memory.values(), key=lambda m: float(m.total) / m.capacity)
    return {
        "weights": float(fullest.weights),
        "kv": float(fullest.kv),
        "activations": float(fullest.activations),
        "capacity": fullest.capacity,
    }


def binding(point: Operating, clock: str) -> str:
    """The resource that sets the step time: of the limit its largest term, else where most time goes."""
    from evaluator.report import by_bound, rows

    if clock == "limit":
        name = point.evaluation.binding("limit")
        pool, _, resource = name.partition(" ")
        return resource if len(point.devices) == 1 and pool in point.devices else name
    spent = by_bound(rows(point.evaluation))
    return max(spent, key=lambda k: spent[k])


def _operator(row: Any) -> dict[str, Any]:
    return {
        "name": row.name,
        "section": row.section,
        "pool": row.pool,
        "runs": row.runs,
        "flops": row.flops,
        "bytes": {
            "hbm": sum(row.memory_bytes.values()),
            "scale-up": row.link_bytes.get("scale-up", 0.0),
            "scale-out": row.link_bytes.get("scale-out", 0.0),
        },
        "seconds": row.seconds,
        "bound": row.bound,
    }


def _print(point: Operating, clock: str, setting: str) -> None:
    from seis.cli.operator_tables import print_point

    print_point(point, clock, setting)
