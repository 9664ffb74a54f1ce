"""`seis compare`: models side by side, by the best that conventional designs reach on each device."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from seis.cli.options import DEVICES as MOST_DEVICES
from seis.cli.options import Clock, ClockOption, Json, Kv, KvOption, Setting, SettingOption, between

CONTEXTS = "8k,64k,256k,1M"
DEVICES = "b300,gb300,b200,h200,h100,mi355x"
REFERENCES = "deepseek-v4-pro,deepseek-v4-flash"


def compare(
    models: Annotated[
        list[str] | None,
        typer.Argument(help="Models, or their unique beginnings; without any, a representative choice."),
    ] = None,
    devices: Annotated[str, typer.Option(help="Devices, comma-separated.")] = DEVICES,
    contexts: Annotated[
        str,
        typer.Option(help="Cached tokens per sequence, comma-separated; k and M are 1,024 and its square."),
    ] = CONTEXTS,
    counts: Annotated[str, typer.Option(help="Cluster sizes over which the best is taken.")] = "8,16,32,64",
    reference: Annotated[
        str, typer.Option(help="Models whose advantage over the others is shown.")
    ] = REFERENCES,
    clock: ClockOption = Clock.overlapped,
    setting: SettingOption = Setting.physical,
    kv: KvOption = Kv.served,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Also write the table: .csv, .parquet or .json.")
    ] = None,
    plot: Annotated[Path | None, typer.Option("--plot", help="Also draw it as an .svg picture.")] = None,
    workers: Annotated[int, typer.Option(help="Processes.")] = 2,
    json: Json = False,
) -> None:
    """Compare peak decode throughput and frontiers of models, devices and contexts."""
    import time

    from agent.comparison import Asked, ratios, span, write_table
    from agent.comparison import compare as run
    from catalogue.devices import load_device
    from catalogue.models.facts import full_name
    from seis.cli.compare_tables import print_comparison
    from seis.cli.compared import check_output, chosen_models, progress, whole_numbers
    from seis.cli.output import print_json
    from seis.cli.pictures import check_picture

    between("--workers", workers, 1, 64)
    check_picture(plot)
    check_output(output)
    names = chosen_models(models)
    references = [full_name(n) for n in reference.split(",") if n]
    kinds = tuple(dict.fromkeys(load_device(d).name for d in devices.split(",")))
    sizes = whole_numbers("--counts", counts, MOST_DEVICES)
    lengths = whole_numbers("--contexts", contexts)
    asked = Asked(
        names, kinds, lengths, sizes, setting.value, clock.value, "bf16" if kv is Kv.bf16 else "served"
    )
    began = time.perf_counter()
    with progress(len(names)) as done:
        found = run(asked, workers=workers, done=done)
    taken = time.perf_counter() - began
    pairs = ratios(found, [n for n in references if n in names])
    if output is not None:
        write_table(found, output)
    if plot is not None:
        from seis.cli.compare_picture import write_picture

        write_picture(plot, found, references)
    if json:
        ends = span(pairs)
        document: dict[str, Any] = {
            "results": [r.row() | {"frontier": _frontier(r)} for r in found.results],
            "ratios": [_ratio(p) for p in pairs],
            "smallest_ratio": None if ends is None else _ratio(ends[0]),
            "largest_ratio": None if ends is None else _ratio(ends[1]),
            "setting": found.setting, "clock": found.clock, "kv": found.kv, "counts": found.counts,
            "points": found.points, "seconds": taken,
        }  # fmt: skip
        print_json(document)
    else:
        print_comparison(found, pairs, taken)


def _frontier(result: Any) -> list[dict[str, Any]]:
    return [
        {
            "tokens_per_second_per_user": p.tokens_per_second_per_user,
            "tokens_per_second_per_gpu": p.tokens_per_second_per_gpu,
            "batch": p.batch,
            "count": count,
            "configuration": dict(p.configuration),
        }
        for p, count in zip(result.frontier, result.counts, strict=True)
    ]


def _ratio(pair: Any) -> dict[str, Any]:
    return {
        "reference": pair.reference,
        "other": pair.other,
        "device": pair.device,
        "context": pair.context,
        "times": pair.times,
    }
