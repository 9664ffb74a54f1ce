"""The tables of `seis compare`, 80 columns wide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from seis.cli.output import console, sentence, table
from seis.cli.units import number, seconds

if TYPE_CHECKING:
    from agent.comparison import Comparison, Ratio, Result


def context_name(tokens: int) -> str:
    """`8k`, `1M` for multiples of 1,024 and its square, else the number."""
    if tokens % (1024 * 1024) == 0:
        return f"{tokens // (1024 * 1024)}M"
    return f"{tokens // 1024}k" if tokens % 1024 == 0 else f"{tokens:,}"


def print_comparison(found: Comparison, pairs: Sequence[Ratio], taken: float) -> None:
    """Peaks by device, then the references' advantage."""
    out = console()
    contexts = list(dict.fromkeys(r.context for r in found.results))
    models = list(dict.fromkeys(r.model for r in found.results))
    names = [context_name(c) for c in contexts]
    sizes = ", ".join(map(str, found.counts))
    beyond = False
    for device in dict.fromkeys(r.device for r in found.results):
        out.print(f"[bold]{sentence(device)}: peak decode throughput, tokens/s/GPU[/bold]")
        rows = []
        for model in models:
            results = [found.at(model, device, c) for c in contexts]
            beyond = beyond or any(r.beyond and r.peak for r in results)
            rows.append([model, *(_cell(r) for r in results)])
        out.print(table(["model", *(f"@{n}" for n in names)], rows, "l" + "r" * len(names)))
        _reasons(found, device)
        out.print()
    _print_ratios(pairs, contexts, names)
    out.print(
        f"[dim]Best conventional design on {sizes} devices; {found.setting} rates, {found.clock} clock, "
        f"{found.kv} caches; {number(found.points)} points in {seconds(taken)}.[/dim]"
    )
    if beyond:
        out.print("[dim]* beyond the model's published maximum context[/dim]")


def _cell(result: Result) -> str:
    if result.peak is None:
        return "–"
    return number(result.peak.tokens_per_second_per_gpu) + ("*" if result.beyond else "")


def _reasons(found: Comparison, device: str) -> None:
    """Why cells are empty, each reason once."""
    missing: dict[str, list[str]] = {}
    for r in found.results:
        if r.device == device and r.reason:
            missing.setdefault(r.reason, []).append(f"{r.model} @{context_name(r.context)}")
    for reason, where in missing.items():
        shown = ", ".join(where[:4]) + (f" and {len(where) - 4} more" if len(where) > 4 else "")
        console().print(f"[dim]– {sentence(shown)}: {sentence(reason)}[/dim]")


def _print_ratios(pairs: Sequence[Ratio], contexts: Sequence[int], names: Sequence[str]) -> None:
    if not pairs:
        return
    out = console()
    for reference in dict.fromkeys(p.reference for p in pairs):
        mine = [p for p in pairs if p.reference == reference]
        out.print(f"[bold]{sentence(reference)}: times the peak of[/bold]")
        rows = []
        for other in dict.fromkeys(p.other for p in sorted(mine, key=lambda p: p.other)):
            cells = []
            for context in contexts:
                times = [p.times for p in mine if p.other == other and p.context == context]
                cells.append(_range(times))
            rows.append([other, *cells])
        out.print(table(["(over devices)", *(f"@{n}" for n in names)], rows, "l" + "r" * len(names)))
        low, high = mine[-1], mine[0]
        for word, p in (("least", low), ("most", high)):
            out.print(
                f"[dim]{word}: {number(p.times)} x {sentence(p.other)} on {sentence(p.device)} "
                f"@{context_name(p.context)}[/dim]"
            )
        out.print()


def _range(times: Sequence[float]) -> str:
    if not times:
        return "–"
    low, high = number(min(times)), number(max(times))
    return low if low == high else f"{low}–{high}"
