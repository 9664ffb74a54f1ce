"""An operating point for people: the answer first, then memory, then where the time goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seis.cli.output import console, facts, sentence, table
from seis.cli.units import column, number, seconds, share, size

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evaluator.memory import Memory
    from evaluator.report import Row
    from seis.cli.operating import Operating

TOP = 12
NAMES = {"microbatches": "micro-batches"}
SECTIONS = 8


def print_point(point: Operating, clock: str, setting: str) -> None:
    """80 columns: figures, memory per device, sections and the operators that take most time."""
    from evaluator.report import by_section, rows
    from seis.cli.evaluate import binding

    out = console()
    e = point.evaluation
    out.print(f"[bold]{sentence(headline(point))}[/bold]")
    out.print(f"[dim]{sentence(subtitle(point, clock, setting))}[/dim]\n")
    if point.unavailable:
        answer = [("tokens/s", f"unavailable: {sentence(point.unavailable)}"), *_memory(point), *_host(point)]
        out.print(facts(answer))
        return
    step = "   ".join(f"{c} {seconds(float(e.seconds(c)))}" for c in ("limit", "overlapped", "serial"))
    answer = [
        ("tokens/s/user", f"[bold]{number(point.per_user(clock))}[/bold]"),
        ("tokens/s/GPU", f"[bold]{number(point.per_gpu(clock))}[/bold]"),
        ("step", step),
        ("bound by", binding(point, clock)),
        *_costs(point, clock),
        *_memory(point),
        *_host(point),
        *(("left out", f"{what}: {sentence(reason)}") for what, reason in e.not_modelled.items()),
    ]
    if point.chunk is not None:
        answer[0] = ("tokens/s/prompt", answer[0][1])
    elif float(e.emitted) > 1:
        chances = ", ".join(f"{point.scenario.chance(i):.2f}" for i in range(int(float(e.drafted))))
        answer.insert(2, ("tokens/step", f"{float(e.emitted):.2f}, each draft accepted with {chances}"))
    out.print(facts(answer))
    found = rows(e)
    total = sum(r.seconds for r in found) or 1.0
    out.print()
    ranked = sorted(by_section(found).items(), key=lambda s: -s[1])
    lines = [[name, seconds(t), share(t / total), bar(t / total)] for name, t in ranked[:SECTIONS]]
    rest = sum(t for _, t in ranked[SECTIONS:])
    if rest:
        lines.append(
            [f"{len(ranked) - SECTIONS} others", seconds(rest), share(rest / total), bar(rest / total)]
        )
    out.print(table(("section", "time", "share", ""), lines, "lrrl"))
    out.print()
    out.print(operators(found, total))


def headline(point: Operating) -> str:
    """`deepseek-v4-pro on 64 x b300-sxm: dp 64, ep 64`."""
    kinds = " + ".join(dict.fromkeys(d.name for d in point.devices.values()))
    return f"{point.design.name} on {point.count} x {kinds}: {said(point.configuration)}"


def said(configuration: Mapping[str, int]) -> str:
    """A configuration in words; what is 1, or nothing, goes without saying."""
    parts = []
    for name, value in configuration.items():
        if name == "overlap":
            parts += ["overlapped"] if value else []
        elif not (value == 1 or (name == "drafted" and value == 0)):
            parts.append(f"{NAMES.get(name, name)} {value}")
        elif name == "drafted":
            parts += ["drafted 1"] if value else []
    return ", ".join(parts) or "one device"


def subtitle(point: Operating, clock: str, setting: str) -> str:
    sequences = "1 sequence" if point.batch == 1 else f"{number(point.batch)} sequences"
    what = f"{sequences} of {number(point.scenario.context)} tokens in flight"
    if point.chunk is not None:
        context = number(point.scenario.context)
        what = f"{number(point.chunk)} tokens each of {number(point.batch)} prompts, up to token {context}"
    return f"{what}, {clock} clock, {setting} rates"


def _costs(point: Operating, clock: str) -> list[tuple[str, str]]:
    """Energy and money per token, or the figure that is missing for it."""
    found = point.costs(clock)
    names = {
        "joules_per_token": ("energy/token", "J, devices at rated power"),
        "dollars_per_million_tokens": ("$/M tokens", "rented"),
        "owner_dollars_per_million_tokens": ("$/M tokens", "to an owner"),
    }
    rows = []
    for key, (name, unit) in names.items():
        value = getattr(found, key)
        text = f"{number(value)} {unit}" if value is not None else f"unavailable: {found.unavailable[key]}"
        rows.append((name, sentence(text)))
    return rows


def _host(point: Operating) -> list[tuple[str, str]]:
    """Memory and link of the host per device, as far as they are known."""
    rows = []
    for device in dict.fromkeys(point.devices.values()):
        memory, link = device.host_memory_bytes, device.host_bytes_per_second
        parts = [
            "memory unknown" if memory is None else size(memory),
            "link unknown" if link is None else f"{size(link)}/s",
        ]
        name = f"host/GPU {device.name}" if len(set(point.devices.values())) > 1 else "host/GPU"
        rows.append((name, ", ".join(parts)))
    return rows


def _memory(point: Operating) -> list[tuple[str, str]]:
    found = []
    several = len(point.evaluation.memory) > 1
    for pool, m in point.evaluation.memory.items():
        total = float(m.total)
        parts = " + ".join(
            f"{name} {number(float(value) / 1e9)}"
            for name, value in (("weights", m.weights), ("KV", m.kv), ("activations", m.activations))
        )
        text = f"{parts} = {number(total / 1e9)} of {number(m.capacity / 1e9)} GB"
        found.append((f"memory {pool}" if several else "memory/GPU", text))
        if total > m.capacity:
            found.append(("fits", f"[bold red]no[/bold red]; {_room(point, m)}"))
    return found


def _room(point: Operating, m: Memory) -> str:
    """How many sequences would fit, since caches and activations grow with the batch."""
    left = m.capacity - float(m.weights)
    if left <= 0:
        return "the weights alone are too large: use more devices per replica"
    fitting = int(point.batch * left / (float(m.total) - float(m.weights)))
    if fitting < 1:
        return "not even one sequence: shard the cache with --tp, --cp or --pp"
    return f"about {number(fitting)} sequences would; lower --batch or use more devices"


def operators(found: Sequence[Row], total: float) -> str:
    """The operators that take most time; equal ones of different layers are one line."""
    merged: dict[tuple[str, str], list[float]] = {}
    for r in found:
        line = merged.setdefault((_title(r), r.bound), [0.0] * 4)
        amounts = (r.seconds, r.flops, sum(r.memory_bytes.values()), sum(r.link_bytes.values()))
        for position, value in enumerate(amounts):
            line[position] += value
    ranked = sorted(merged.items(), key=lambda i: -i[1][0])
    lines = [
        [
            title, column(v[0] * 1e3), share(v[0] / total), column(v[1] / 1e12), column(v[2] / 1e9),
            column(v[3] / 1e9), bound,
        ]
        for (title, bound), v in ranked[:TOP]
    ]  # fmt: skip
    rest = sum(v[0] for _, v in ranked[TOP:])
    if rest:
        lines.append([f"{len(ranked) - TOP} others", column(rest * 1e3), share(rest / total), "", "", "", ""])
    heads = ("operator, per GPU and step", "ms", "share", "TFLOP", "HBM GB", "link GB", "bound")
    return table(heads, lines, "lrrrrrl")


def _title(row: Row) -> str:
    """`experts: e_gate e_up`; an arrow marks what is sent over links."""
    names = " ".join(dict.fromkeys(n.partition("@")[0] for n in row.name.split("+")))
    return f"{row.section.rpartition('.')[2]}: {'⇄ ' if row.engine == 'link' else ''}{names}"


def bar(part: float, width: int = 24) -> str:
    """A bar of eighths of a character."""
    whole, rest = divmod(round(part * width * 8), 8)
    return "█" * whole + (" ▏▎▍▌▋▊▉"[rest] if rest else "")
