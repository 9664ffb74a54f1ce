"""`seis verify`: whether two designs compute the same model, and if not, where they part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from seis.cli.options import DATABASE, Database, Json
from seis.cli.problems import REFUSED

if TYPE_CHECKING:
    from mutations.verify import Verdict


def verify(
    reference: Annotated[str, typer.Argument(help="The design to be equal to: a file, a model or a hash.")],
    candidate: Annotated[
        str, typer.Argument(help="The design that claims to be: a file, a model or a hash.")
    ],
    seed: Annotated[int, typer.Option(help="Seed of the random tests.")] = 0,
    database: Database = DATABASE,
    json: Json = False,
) -> None:
    """Say whether two designs compute the same; exit status 0 accepted, 1 refused, 2 unusable input."""
    from mutations.verify import verify as judge
    from seis.cli.sources import find

    verdict = judge(
        find(reference, database=database).design, find(candidate, database=database).design, seed=seed
    )
    if json:
        from seis.cli.output import print_json

        print_json(describe(verdict))
    else:
        _print(verdict, reference, candidate)
    if verdict.verdict != "accepted":
        raise typer.Exit(REFUSED)


def describe(verdict: Verdict) -> dict[str, Any]:
    """The verdict as `--json` prints it."""
    return {
        "verdict": verdict.verdict,
        "reasons": [{"code": r.code, "where": r.where, "message": r.message} for r in verdict.reasons],
        "layers": verdict.layers,
        "false_accept_bound": verdict.false_accept_bound,
        "milliseconds": verdict.milliseconds,
    }


def _print(verdict: Verdict, reference: str, candidate: str) -> None:
    from seis.cli.output import console, facts, sentence
    from seis.cli.units import number

    out = console()
    accepted = verdict.verdict == "accepted"
    colour = "green" if accepted else "red"
    said = "computes the same as" if accepted else "does not compute the same as"
    out.print(f"[bold {colour}]{verdict.verdict}[/]: {sentence(candidate)} {said} {sentence(reference)}")
    rows = [(f"{r.code}", f"{r.where}: {r.message}" if r.where else r.message) for r in verdict.reasons]
    if accepted:
        bound = verdict.false_accept_bound
        rows.append(("wrong by chance", f"at most {bound:.1g}" if bound else "no, nothing was left to test"))
    rows.append(("time", f"{number(verdict.milliseconds)} ms"))
    out.print(facts(rows))
