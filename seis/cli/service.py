"""`seis service`: what users and owner get of a cluster that serves requests, prompts included."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seis.cli.options import (
    COUNT,
    DEVICE,
    DEVICES,
    DRAFTED,
    MODEL,
    Clock,
    ClockOption,
    Count,
    Device,
    Json,
    Kv,
    KvOption,
    Setting,
    SettingOption,
    between,
)

if TYPE_CHECKING:
    from catalogue.devices import Device as Kind
    from evaluator.service import Role, Served
    from rooflang.design import Design

TOKENS = "TOKENS: 8192, 1024-8192 for a range, or 1024:0.7,8192:0.3 with weights."


class Mode(StrEnum):
    """How prompts and answers share the devices."""

    aggregated = "aggregated"
    disaggregated = "disaggregated"
    best = "best"


def service(
    model: Annotated[str, typer.Argument(help="A model, or its unique beginning.")] = MODEL,
    device: Device = DEVICE,
    count: Count = COUNT,
    isl: Annotated[str, typer.Option(metavar="TOKENS", help=f"Prompt lengths in {TOKENS}")] = "8192",
    osl: Annotated[str, typer.Option(metavar="TOKENS", help="Answer lengths, alike.")] = "1024",
    hit_rate: Annotated[float, typer.Option(help="Share of a prompt that a prefix cache holds.")] = 0.0,
    mode: Annotated[
        Mode, typer.Option(help="Prompts ride on decode steps, or have devices of their own.")
    ] = Mode.best,
    max_ttft: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Limit of the time to first token.")
    ] = None,
    max_tpot: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Limit of the time per token after the first.")
    ] = None,
    mtp: Annotated[int, typer.Option(help="Tokens drafted per step (multi-token prediction).")] = 0,
    chunk: Annotated[int, typer.Option(help="Tokens of a prompt that one step computes.")] = 2048,
    routing: Annotated[
        str | None, typer.Option(help="Choice of experts: balanced, uniform, or zipf:S.")
    ] = None,
    clock: ClockOption = Clock.overlapped,
    setting: SettingOption = Setting.achievable,
    kv: KvOption = Kv.served,
    json: Json = False,
) -> None:
    """Find the best way to serve requests: TTFT, TPOT, tokens/s/GPU, requests/s and cost."""
    import time
    from math import inf

    from catalogue.devices import load_device
    from catalogue.models import load_model
    from catalogue.models.facts import full_name
    from evaluator.lengths import read_lengths
    from evaluator.scenario import Scenario
    from evaluator.service import Service
    from evaluator.serving import serve
    from mutations.expanded import prompt_designs, prompt_forms
    from mutations.start import starting_designs

    between("--count", count, 1, DEVICES)
    between("--chunk", chunk, 1)
    between("--mtp", mtp, 0, DRAFTED)
    name, kind = full_name(model), load_device(device)
    asked = Service(
        read_lengths(isl), read_lengths(osl), hit_rate, mtp, chunk, Scenario(routing=routing),
        inf if max_ttft is None else max_ttft, inf if max_tpot is None else max_tpot,
    )  # fmt: skip
    began = time.perf_counter()
    loaded = load_model(name, "bf16" if kv is Kv.bf16 else "served")
    decoders = [(d.name.partition(": ")[2], d) for d in starting_designs(loaded)]
    prefilling = [(d.name.partition(": ")[2], d) for d in prompt_designs(loaded)]
    wide = {n.partition(": ")[2]: d for n, d in prompt_forms(loaded).items()}
    found = serve(
        decoders, prefilling, kind, count, asked, mode=mode.value, clock=clock.value, setting=setting.value,
        widened=wide,
    )  # fmt: skip
    about = {
        "model": name, "device": kind.name, "count": count, "isl": asked.prompts.mean,
        "osl": asked.answers.mean, "hit_rate": hit_rate, "mode": mode.value, "mtp": mtp, "chunk": chunk,
        "routing": routing or asked.scenario.routing_of(setting.value), "max_ttft_seconds": max_ttft,
        "max_tpot_seconds": max_tpot, "clock": clock.value, "setting": setting.value,
        "points": found.points, "fitting": found.fitting, "seconds": time.perf_counter() - began,
    }  # fmt: skip
    if not json:
        from seis.cli.service_tables import print_service

        print_service(found, about, kind)
        return
    from seis.cli.output import print_json

    known = dict(decoders) | dict(prefilling)
    print_json(
        {
            "feasible": found.feasible,
            "best": way_json(found.best, known, kind),
            "nearest": way_json(found.nearest, known, kind),
            "frontier": [way_json(w, known, kind) for w in found.frontier],
            **about,
            "unavailable": {} if dollars(1.0, kind) else {COST: kind.lacks("price_dollars_per_hour")},
        }
    )


COST = "dollars_per_million_output_tokens"


def dollars(output_per_gpu: float, device: Kind) -> float | None:
    """Cost of a million answer tokens, or None where the device has no known price."""
    price = device.price_dollars_per_hour
    return None if price is None else price / 3600 / output_per_gpu * 1e6


def way_json(way: Served | None, structures: dict[str, Design], device: Kind) -> dict[str, Any] | None:
    """A way to serve as `--json` prints it."""
    if way is None:
        return None
    return {
        "mode": way.mode,
        "ttft_seconds": way.ttft,
        "transfer_seconds": way.transfer,
        "tpot_seconds": way.tpot,
        "latency_seconds": way.latency,
        "tokens_per_second_per_user": way.per_user,
        "output_tokens_per_second_per_gpu": way.output_per_gpu,
        "total_tokens_per_second_per_gpu": way.total_per_gpu,
        "requests_per_second": way.requests_per_second,
        COST: dollars(way.output_per_gpu, device),
        "limiting": way.limiting,
        "decode": role_json(way.decode, structures, device),
        "prefill": None if way.prefill is None else role_json(way.prefill, structures, device),
    }


def role_json(role: Role, structures: dict[str, Design], device: Kind) -> dict[str, Any]:
    """One part of a cluster as `--json` prints it."""
    from evaluator.sweep import concrete
    from rooflang.canonical import design_hash

    design = concrete(structures[role.structure], role.configuration, device.name)
    return {
        "structure": role.structure,
        "design": design_hash(design),
        "configuration": dict(role.configuration),
        "replicas": role.replicas,
        "devices": role.devices,
        "batch": role.batch,
        "seconds": role.seconds,
        "binding": role.binding or None,
    }
