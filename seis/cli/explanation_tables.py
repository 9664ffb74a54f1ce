"""An explanation for people: what changed, where the time went, memory, assumptions, certificate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seis.cli.baseline import scene
from seis.cli.operator_tables import said
from seis.cli.output import console, facts, sentence, table
from seis.cli.overlap_tables import print_overlap
from seis.cli.units import number, percent, seconds, size

if TYPE_CHECKING:
    from seis.cli.explanation import Explanation

SECTIONS = 8


def print_explanation(found: Explanation) -> None:
    """80 columns; the change first, then the evidence."""
    out = console()
    about = found.stored.about
    better = "better" if found.gain > 0 else "not better"
    out.print(
        f"[bold]{about['model']} on {about['count']} x {about['device']}: {percent(found.gain)}, "
        f"{better} on both axes[/bold]"
    )
    out.print(f"[dim]{scene(about)}[/dim]\n")
    out.print(
        facts(
            [
                (name, f"{number(p.tokens_per_second_per_user)} tokens/s/user, "
                       f"{number(p.tokens_per_second_per_gpu)} tokens/s/GPU, batch {p.batch:,}, "
                       f"{said(p.configuration)}")
                for name, p in (("before", found.old), ("after", found.new))
            ]
        )
    )  # fmt: skip
    mark = "; [bold red]the gain vanishes[/bold red]" if found.vanishes else ""
    out.print(facts([("simulated", f"{percent(found.simulated_gain)} on both axes{mark}")]))
    _print_changes(found)
    out.print()
    out.print(_times(found))
    out.print()
    print_overlap(found.before.simulated, "Before: ")
    out.print()
    print_overlap(found.after.simulated, "After: ")
    out.print()
    out.print(facts(_memory(found)))
    out.print("\n[bold]Gain on both axes if an assumption changes[/bold]")
    out.print(facts([(name, percent(gain)) for name, gain in found.sensitivity.items()]))
    out.print()
    c = found.certificate
    proof = "none"
    if c is not None:
        chance = c["false_accept_bound"]
        proof = f"{c['verdict']}, {c['certificate'][:16]}"
        proof += f", wrong with a chance of at most {chance:.1g}" if isinstance(chance, float) else ""
    out.print(
        facts(
            [
                ("design", found.design[:16]),
                ("certificate", proof),
                *(("more" if i == 0 else "", c) for i, c in enumerate(found.commands)),
            ]
        )
    )


def _print_changes(found: Explanation) -> None:
    out = console()
    out.print("\n[bold]What changed[/bold]")
    if not found.changes:
        out.print(f"Nothing: a conventional design ({sentence(found.summary)}).")
    for number_, change in enumerate(found.changes, 1):
        out.print(f"{number_}. [bold]{sentence(change.rule)}[/bold] at {sentence(change.site)}")
        rows = [("rewrites", change.rewrites), ("helps", change.helps), ("costs", change.costs),
                ("source", change.source)]  # fmt: skip
        out.print(facts([("   " + name, text) for name, text in rows if text]))


def _times(found: Explanation) -> str:
    old, new = found.before.sections, found.after.sections
    names = sorted({*old, *new}, key=lambda n: -max(old.get(n, 0.0), new.get(n, 0.0)))
    rows = []
    for name in names[:SECTIONS]:
        before, after = old.get(name, 0.0), new.get(name, 0.0)
        rows.append([name, seconds(before) if before else "–", seconds(after) if after else "–"])
    for name in ("limit", "overlapped", "simulated", "serial"):
        rows.append(
            [
                f"step, {name}" + ("" if name == "simulated" else " clock"),
                seconds(found.before.step[name]),
                seconds(found.after.step[name]),
            ]
        )
    bounds = [(n, found.before.bounds.get(n, 0.0), found.after.bounds.get(n, 0.0))
              for n in dict.fromkeys([*found.before.bounds, *found.after.bounds])]  # fmt: skip
    for name, before, after in sorted(bounds, key=lambda b: -max(b[1:])):
        rows.append(
            [f"bound by {name}", seconds(before) if before else "–", seconds(after) if after else "–"]
        )
    return table(("where the time goes", "before", "after"), rows, "lrr")


def _memory(found: Explanation) -> list[tuple[str, str]]:
    rows = []
    for name, side in (("before", found.before), ("after", found.after)):
        for pool, m in side.memory.items():
            parts = ", ".join(f"{k} {size(m[k])}" for k in ("weights", "kv", "activations"))
            rows.append((f"memory {name}" + (f", {pool}" if len(side.memory) > 1 else ""),
                         f"{parts} of {size(m['capacity'])}"))  # fmt: skip
    return rows
