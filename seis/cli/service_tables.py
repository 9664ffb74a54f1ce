"""A service for people: the answer first, then how the cluster is used, then the frontier."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from seis.cli.operator_tables import said
from seis.cli.output import console, facts, sentence, table
from seis.cli.service import dollars
from seis.cli.units import number, seconds

if TYPE_CHECKING:
    from catalogue.devices import Device
    from evaluator.service import Answer, Role, Served

MOST = 10


def print_service(answer: Answer, about: Mapping[str, Any], device: Device) -> None:
    """80 columns: figures of the best way, its parts, and the frontier."""
    out = console()
    out.print(f"[bold]{about['model']} on {about['count']} x {about['device']}: service[/bold]")
    out.print(f"[dim]{sentence(_scene(about))}[/dim]\n")
    way = answer.best or answer.nearest
    if way is None:
        out.print("No configuration fits in memory; use more devices or shorter prompts.")
        return
    if answer.best is None:
        out.print(f"[bold red]infeasible[/bold red]: no way meets {_limits(about)}; the nearest one is")
    out.print(facts(_answer(way, about, device)))
    out.print()
    rows = [_part("decode" if way.prefill else "all", way.decode)]
    if way.prefill is not None:
        rows.insert(0, _part("prefill", way.prefill))
    out.print(table(("part", "replicas", "GPUs", "batch", "step", "bound"), rows, "lrrrrl"))
    roles = [way.decode] if way.prefill is None else [way.prefill, way.decode]
    for role in roles:
        out.print(f"[dim]{sentence(f'{role.structure}: {said(role.configuration)}')}[/dim]")
    if answer.frontier:
        out.print()
        out.print(_frontier(answer))
    points = (
        f"{number(about['points'])} points in {seconds(about['seconds'])}, {number(about['fitting'])} fit"
    )
    out.print(f"[dim]{points}[/dim]")


def _scene(about: Mapping[str, Any]) -> str:
    """What is asked, in a sentence."""
    cached = f", {100 * about['hit_rate']:.0f} % cached" if about["hit_rate"] else ""
    drafted = f", {about['mtp']} drafted" if about["mtp"] else ""
    return (
        f"{number(about['isl'])} prompt tokens{cached}, {number(about['osl'])} answer tokens{drafted}, "
        f"{about['routing']} routing, {about['clock']} clock, {about['setting']} rates"
    )


def _limits(about: Mapping[str, Any]) -> str:
    parts = [
        f"{name} of {seconds(about[key])}"
        for name, key in (("a TTFT", "max_ttft_seconds"), ("a TPOT", "max_tpot_seconds"))
        if about[key] is not None
    ]
    return " and ".join(parts)


def _answer(way: Served, about: Mapping[str, Any], device: Device) -> list[tuple[str, str]]:
    cost = dollars(way.output_per_gpu, device)
    moved = f", of which {seconds(way.transfer)} move the cache" if way.transfer else ""
    limiting = f"; {way.limiting} limits the requests" if way.prefill is not None else ""
    return [
        ("mode", f"{way.mode}{limiting}"),
        ("TTFT", f"{seconds(way.ttft)}{moved}, without queueing"),
        ("TPOT", f"{seconds(way.tpot)} per token after the first = {number(way.per_user)} tokens/s/user"),
        ("latency", f"{seconds(way.latency)} for {number(about['osl'])} tokens"),
        ("output", f"{number(way.output_per_gpu)} tokens/s/GPU, {number(way.total_per_gpu)} with prompts"),
        ("requests", f"{number(way.requests_per_second)} per second"),
        ("cost", "no known price" if cost is None else f"${number(cost)} per million output tokens"),
    ]


def _part(name: str, role: Role) -> list[str]:
    return [
        name, f"{role.replicas}", f"{role.replicas} x {role.devices}", f"{role.batch:,}",
        seconds(role.seconds), role.binding,
    ]  # fmt: skip


def _frontier(answer: Answer) -> str:
    """A few ways from the most interactive to the most productive one."""
    last = len(answer.frontier) - 1
    shown = dict.fromkeys(round(i * last / (MOST - 1)) for i in range(MOST))
    rows = [
        [
            way.mode, seconds(way.ttft), seconds(way.tpot), number(way.per_user),
            number(way.output_per_gpu), f"{_gpus(way.prefill)}:{_gpus(way.decode)}",
        ]
        for way in (answer.frontier[i] for i in shown)
    ]  # fmt: skip
    heads = (
        f"{len(rows)} of {len(answer.frontier)} ways", "TTFT", "TPOT", "tok/s/user", "out/s/GPU", "GPUs p:d"
    )  # fmt: skip
    return table(heads, rows, "lrrrrr")


def _gpus(role: Role | None) -> int:
    return 0 if role is None else role.replicas * role.devices
