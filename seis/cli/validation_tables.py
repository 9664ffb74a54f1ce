"""How `seis validate` shows its result in 80 columns."""

from __future__ import annotations

from collections import Counter
from textwrap import fill
from typing import TYPE_CHECKING

from seis.cli.output import WIDTH, console, facts, sentence, table
from seis.cli.units import percent, share

if TYPE_CHECKING:
    from evaluator.truth.validation import Validation

_TITLES = {
    "model": "services by model", "operator": "kernels and operators", "device": "all by device",
    "precision": "all by precision",
}  # fmt: skip
_METRICS = {"ttft": "time to first token", "tpot": "time per output token"}


def print_validation(found: Validation) -> None:
    """Counts, quartiles of achieved over bound, prediction errors, and why rows were not placed."""
    out = console()
    above = len(found.violations)
    rows_read = "1 row" if found.rows == 1 else f"{found.rows} rows"
    out.print(f"[bold]{rows_read}, {len(found.placed)} placed, {above} above their bound[/bold]\n")
    for placed in found.violations:
        worst = max(placed.achieved, key=lambda m: placed.achieved[m])
        text = (
            f"{placed.id}: {worst} is {placed.fraction:.2f} times what {placed.device} can do; check the "
            "row's device, count, precision and drafting"
        )
        out.print(f"{sentence(fill(text, WIDTH))}\n")
    for by, group in found.quartiles().items():
        if group:
            rows = [
                [name, str(n), *(share(v) for v in (low, middle, high))]
                for name, (low, middle, high, n) in group.items()
            ]
            out.print(table((_TITLES[by], "rows", "1st quartile", "median", "3rd"), rows, "lrrrr"))
            out.print()
    out.print("[dim]Share of the bound that is achieved.[/dim]\n")
    for metric, group in found.errors().items():
        if group:
            rows = [
                [name, str(n), *(percent(v) for v in (low, middle, high))]
                for name, (low, middle, high, n) in group.items()
            ]
            heads = (f"prediction: {_METRICS[metric]}", "rows", "1st quartile", "median", "3rd")
            out.print(table(heads, rows, "lrrrr"))
            out.print()
    reached = found.reached()
    if reached is not None:
        low, middle, high, n = reached
        text = (
            "Predicted over measured time, less 1; the first token without waiting for other requests. "
            f"Of {n} services whose decode stands alone or whose configuration is given in full, the median "
            f"runs at {share(middle)} of the predicted speed ({share(low)} to {share(high)})."
        )
        out.print(f"[dim]{sentence(fill(text, WIDTH))}[/dim]\n")
    if found.not_placed:
        reasons = Counter(reason for _, reason in found.not_placed)
        left = len(found.not_placed)
        out.print(f"[bold]not placed: {left} {'row' if left == 1 else 'rows'}[/bold]")
        out.print(facts((f"{n:4}", sentence(reason)) for reason, n in reasons.most_common()))
