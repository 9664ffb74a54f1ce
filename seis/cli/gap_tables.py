"""How `seis gap` shows its result in 80 columns."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

from evaluator.truth.gap import mapping
from seis.cli.baseline import ACCEPTANCE
from seis.cli.gap import CHECKS
from seis.cli.output import WIDTH, console, facts, sentence, table
from seis.cli.units import number, percent, share

if TYPE_CHECKING:
    from evaluator.truth.gap import Gap


def print_gap(result: Gap) -> None:
    """The run, its fractions, what binds, and the changes."""
    out = console()
    run = result.run
    name = run.design.name.partition(": ")[0]
    out.print(f"[bold]{sentence(name)} on {run.count} x {run.device.name}[/bold]")
    out.print(
        facts(
            [
                ("mapping", mapping(run.design)),
                ("batch", f"{number(run.batch)} sequences at {run.scenario.context:,} tokens of context"),
                (
                    "measured",
                    f"{number(run.throughput)} tokens/s/GPU, "
                    f"{number(run.throughput * run.count / run.batch)} tokens/s/user",
                ),
                ("binding", f"{result.binding} (of the limit)"),
            ]
        )
    )
    out.print()
    rows = [
        ["limit, published peaks", number(result.limit), share(run.throughput / result.limit)],
        ["overlapped, published peaks", number(result.overlapped), share(run.throughput / result.overlapped)],
        ["achievable, predicted", number(result.achievable), share(run.throughput / result.achievable)],
    ]
    out.print(table(("", "tokens/s/GPU", "reached"), rows, "lrr"))
    out.print()
    if result.above_bound or run.throughput > result.limit:
        above = "what is possible" if result.above_bound else "the limit under balanced routing"
        out.print(f"The run is above {above}. Check:")
        for check in CHECKS:
            out.print(f"  {check}")
        out.print()
    if result.changes:
        rows = [[c.text, number(c.per_device), number(c.per_user), percent(c.gain)] for c in result.changes]
        out.print(table(("what would help most", "tokens/s/GPU", "tokens/s/user", "gain"), rows, "lrrr"))
        notes = [
            f"Each is evaluated anew under the achievable setting; gains are over the prediction of the run "
            f"itself, {number(result.achievable)} tokens/s/GPU and {number(result.predicted_per_user)} "
            "tokens/s/user."
        ]
        if any(c.kind == "drafting" for c in result.changes):
            notes.append(f"Of drafted tokens {ACCEPTANCE}.")
        out.print(f"[dim]{sentence(fill(' '.join(notes), WIDTH))}[/dim]")
