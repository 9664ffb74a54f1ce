"""`seis baseline`: the frontier of what today's engines can express."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seis.cli.options import (
    CONTEXT,
    COUNT,
    DEVICE,
    DEVICES,
    MODEL,
    Clock,
    ClockOption,
    Context,
    Count,
    Device,
    Json,
    Kv,
    KvOption,
    Plot,
    Setting,
    SettingOption,
    between,
)

if TYPE_CHECKING:
    from evaluator.frontier import Point

ACCEPTANCE = "a first draft is accepted with 0.70, each further with 0.9 of that"


def baseline(
    model: Annotated[str, typer.Argument(help="A model, or its unique beginning.")] = MODEL,
    device: Device = DEVICE,
    count: Count = COUNT,
    context: Context = CONTEXT,
    clock: ClockOption = Clock.overlapped,
    setting: SettingOption = Setting.achievable,
    kv: KvOption = Kv.served,
    plot: Plot = None,
    json: Json = False,
) -> None:
    """Print the conventional frontier: every parallel configuration that engines run today."""
    import time

    from catalogue.devices import load_device
    from catalogue.models import load_model
    from catalogue.models.facts import full_name
    from evaluator.baseline import baseline as conventional
    from evaluator.rates import confined
    from evaluator.scenario import Scenario
    from mutations.start import starting_designs
    from seis.cli.pictures import check_picture

    between("--count", count, 1, DEVICES)
    check_picture(plot)
    name, kind, scenario = full_name(model), load_device(device), Scenario(context)
    began = time.perf_counter()
    structures = starting_designs(load_model(name, "bf16" if kv is Kv.bf16 else "served"))
    found = conventional(structures, kind, count, scenario, clock=clock.value, setting=setting.value)
    taken = time.perf_counter() - began
    about: dict[str, Any] = {
        "model": name, "device": kind.name, "count": count, "context": context, "clock": clock.value,
        "setting": setting.value,
    }  # fmt: skip
    hashes = _hashes(found.structures, found.points, kind.name)
    titles = {n: d.name.partition(": ")[2] for n, d in found.structures.items()}
    given = options(about, kv.value)
    commands = [command(name, titles[p.design], p, given) for p in found.points]
    frontier = [
        {**point_json(p, design), "structure": titles[p.design], "command": shlex.join(said)}
        for p, design, said in zip(found.points, hashes, commands, strict=True)
    ]
    if json:
        from seis.cli.output import print_json

        print_json(
            {
                "frontier": frontier, **about, "points": found.evaluated, "fitting": found.fitting,
                "seconds": taken,
            }
        )  # fmt: skip
    else:
        about["confined"] = confined(kind, count)
        _print(found.points, titles, about, found.evaluated, taken, commands)
    if plot is not None:
        from seis.cli.pictures import curve, write

        title = f"{name} on {count} x {kind.name}: conventional frontier"
        write(plot, [curve("baseline", found.points)], title, scene(about))


def _hashes(structures: Any, points: Sequence[Point], device: str) -> list[str]:
    from evaluator.sweep import concrete
    from rooflang.canonical import design_hash

    return [design_hash(concrete(structures[p.design], p.configuration, device)) for p in points]


def options(about: dict[str, Any], kv: str) -> list[str]:
    """The options of `seis evaluate` that all points of a frontier share; defaults are left out."""
    usual = {"context": CONTEXT, "clock": Clock.overlapped.value, "setting": Setting.achievable.value}
    said = {"device": about["device"], "count": about["count"]}
    said |= {name: about[name] for name, default in usual.items() if about[name] != default}
    if kv != Kv.served.value:
        said["kv"] = kv
    return [part for name, value in said.items() for part in (f"--{name}", str(value))]


def command(model: str, structure: str, point: Point, given: Sequence[str]) -> list[str]:
    """The words of the `seis evaluate` that gives a point of a conventional frontier again."""
    sizes = dict(point.configuration)
    drafted, microbatches = sizes.pop("drafted"), sizes.pop("microbatches")
    del sizes["replicas"], sizes["overlap"]  # as many as fit; more micro-batches than stages overlap
    words = ["seis", "evaluate", model, *given, "--structure", structure]
    for axis, size in sizes.items():
        words += ["--axis", f"{axis}={size}"] if size > 1 else []
    words += ["--microbatches", str(microbatches)] if microbatches != sizes.get("pp", 1) else []
    words += ["--mtp", str(drafted)] if drafted else []
    return [*words, "--batch", str(point.batch)]


def _wrapped(words: Sequence[str]) -> str:
    """A command over lines that a shell joins."""
    from seis.cli.output import WIDTH

    lines = [""]
    for word in map(shlex.quote, words):
        if lines[-1] and len(lines[-1]) + len(word) > WIDTH - 8:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return " \\\n    ".join(lines)


def point_json(point: Point, design: str) -> dict[str, Any]:
    """A point of a frontier, with keys as every command prints them."""
    return {
        "tokens_per_second_per_user": point.tokens_per_second_per_user,
        "tokens_per_second_per_gpu": point.tokens_per_second_per_gpu,
        "batch": point.batch,
        "configuration": dict(point.configuration),
        "design": design,
    }


def scene(about: dict[str, Any]) -> str:
    """`decode at 8,192 tokens of context, overlapped clock, achievable rates`."""
    return (
        f"decode at {about['context']:,} tokens of context, {about['clock']} clock, {about['setting']} rates"
    )


def _print(
    points: Sequence[Point], titles: dict[str, str], about: dict[str, Any], evaluated: int, taken: float,
    commands: Sequence[Sequence[str]],
) -> None:  # fmt: skip
    from seis.cli.frontier_tables import frontier_table
    from seis.cli.output import console, sentence
    from seis.cli.pictures import curve, in_terminal
    from seis.cli.units import number, seconds

    out = console()
    out.print(f"[bold]{about['model']} on {about['count']} x {about['device']}: conventional frontier[/bold]")
    out.print(f"[dim]{scene(about)}[/dim]\n")
    if not points:
        out.print("No conventional configuration fits in memory; use more devices or a shorter context.")
        if about["confined"]:
            out.print(f"On {about['count']} devices {sentence(about['confined'])}.")
        return
    out.print(in_terminal([curve("baseline", points)]))
    out.print()
    out.print(frontier_table(points, titles))
    out.print("\nThe first and the last of them again (--json has a command for every point):")
    for said in dict.fromkeys((_wrapped(commands[0]), _wrapped(commands[-1]))):
        out.print(f"  {said}", soft_wrap=True, markup=False, highlight=False)
    out.print()
    out.print(f"[dim]{number(evaluated)} points in {seconds(taken)}; {ACCEPTANCE}[/dim]")
