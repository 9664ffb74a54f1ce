"""What a search found, for people: both frontiers, the best discovery in words, and where to read on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seis.cli.baseline import scene
from seis.cli.frontier_tables import frontier_table, gap_rows
from seis.cli.options import DATABASE
from seis.cli.output import console, facts, sentence
from seis.cli.pictures import curve, in_terminal
from seis.cli.stored_search import titles
from seis.cli.units import number, percent, seconds

if TYPE_CHECKING:
    import db
    from agent import Problem, SearchResult

ENDS = {"budget": "its budget", "exhausted": "nothing left to try", "time": "time", "interrupted": "Ctrl-C"}


def print_result(
    problem: Problem,
    database: db.Database,
    result: SearchResult,
    place: str,
    spent: dict[str, Any] | None = None,
) -> None:
    """80 columns, the answer last, where the eye is when the command ends."""
    out = console()
    about = {"context": problem.scenario.context, "clock": problem.clock, "setting": problem.setting}
    out.print(f"[bold]{problem.model} on {problem.count} x {problem.device}[/bold]")
    out.print(f"[dim]{scene(about)}[/dim]\n")
    curves = [curve("baseline", result.baseline_frontier), curve("discovered", result.frontier)]
    out.print(in_terminal(curves))
    for name, points in (("Conventional", result.baseline_frontier), ("Discovered", result.frontier)):
        if name == "Discovered" and {p.design for p in points} <= {
            p.design for p in result.baseline_frontier
        }:
            out.print("\nNothing beyond the conventional frontier yet.")
        elif points:
            out.print(f"\n[bold]{name} frontier[/bold]")
            out.print(frontier_table(points, titles(database, points), 7))
    out.print()
    out.print(
        f"{result.structures} structures: {result.accepted} accepted, {result.refused} refused, "
        f"{result.failed} without an answer"
    )
    reasons = database.count_reasons(result.search_id)
    if reasons:
        out.print("refused most for " + ", ".join(f"{r.reason} ({r.count})" for r in reasons[:3]))
    out.print(
        f"{number(result.points)} points in {seconds(result.seconds)}, ended by {ENDS[result.stopped]}; "
        f"hypervolume {percent(result.hypervolume_gain)}\n"
    )
    if spent:
        from seis.cli.llm import sentence_of

        out.print(sentence_of(spent) + "\n", markup=False)
    if result.stagnant:
        out.print(
            f"The frontier has not grown over the last {result.quiet} structures; "
            "the search varies more widely.\n"
        )
    rows = gap_rows(result.gap_to_limit, result.gap_to_relaxation)
    if rows:
        out.print(facts(rows))
        out.print()
    flag = "" if place == DATABASE else f" --database {place}"
    _print_best(result, flag)


def _print_best(result: SearchResult, flag: str) -> None:
    out = console()
    best = result.best
    if best is None:
        out.print("No verified design is better on both axes yet; run again to search on.")
        return
    weight = "" if best.significant else "; below 5 % is within the spread"
    out.print(f"[bold green]Best discovery: {percent(best.gain)} on both axes[/bold green]{weight}")
    bound = (
        ""
        if best.false_accept_bound is None
        else f", wrong with a chance of at most {best.false_accept_bound:.1g}"
    )
    rows = [
        (
            name,
            f"{number(p.tokens_per_second_per_user)} tokens/s/user, "
            f"{number(p.tokens_per_second_per_gpu)} tokens/s/GPU, batch {p.batch:,}",
        )
        for name, p in (("before", best.old), ("after", best.new))
    ]
    mark = "; [bold red]the gain vanishes[/bold red]" if best.vanishes else ""
    rows = [("change", sentence(best.summary)), *rows]
    rows.append(("simulated", f"{percent(best.simulated.gain)} on both axes{mark}"))
    rows += [
        ("design", best.design[:16]),
        ("certificate", f"{best.certificate[:16]}{bound}" if best.certificate else "none"),
        ("more", f"seis explain {best.design[:8]}{flag}"),
    ]
    out.print(facts(rows))
