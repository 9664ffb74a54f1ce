"""`seis verify`: whether two designs compute the same model, and if not, where they part."""

from __future__ import annotations

from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seis.cli.options import DATABASE, Database, Json
from seis.cli.problems import REFUSED

if TYPE_CHECKING:
    from mutations.verify import Verdict


def verify(
    reference: Annotated[
        str,
        typer.Argument(
            help="The design to be equal to: a file, a model or a hash; alone, a certificate to be replayed: "
            "a JSON file, or the hash of a stored one."
        ),
    ],
    candidate: Annotated[
        str | None, typer.Argument(help="The design that claims to be: a file, a model or a hash.")
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option(help="Write the certificate of an accepted candidate to this file.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the random tests.")] = 0,
    database: Database = DATABASE,
    json: Json = False,
) -> None:
    """Say whether two designs compute the same; exit status 0 accepted, 1 refused, 2 unusable input.

    With one argument: replay a certificate, and say whether its verdict stands (0) or not (1).
    """
    if candidate is None:
        _replay(reference, database, json)
        return
    from mutations.verify import verify as judge
    from seis.cli.sources import find

    designs = find(reference, database=database).design, find(candidate, database=database).design
    verdict = judge(*designs, seed=seed)
    if certificate is not None and verdict.accepted:
        from mutations.verify.replay import document

        certificate.write_text(dumps(document(*designs, verdict), indent=1) + "\n", encoding="utf-8")
    if json:
        from seis.cli.output import print_json

        print_json(describe(verdict))
    else:
        _print(verdict, reference, candidate)
    if verdict.verdict != "accepted":
        raise typer.Exit(REFUSED)


def _replay(name: str, database: str, json: bool) -> None:
    from seis.cli.certificates import again

    found = again(name, database)
    if json:
        from seis.cli.output import print_json

        print_json(
            {"stands": found.stands, "differences": list(found.differences), **describe(found.verdict)}
        )
    else:
        from seis.cli.output import console, facts, sentence

        out = console()
        said = "[bold green]stands[/]" if found.stands else "[bold red]does not stand[/]"
        out.print(f"the verdict of {sentence(name)} {said}")
        rows = [("", text) for text in found.differences]
        bound = found.verdict.false_accept_bound
        rows += [("wrong by chance", f"at most {bound:.1g}")] if found.stands and bound else []
        out.print(facts(rows))
    if not found.stands:
        raise typer.Exit(REFUSED)


def describe(verdict: Verdict) -> dict[str, Any]:
    """The verdict as `--json` prints it."""
    return {
        "verdict": verdict.verdict,
        "reasons": [
            {"code": r.code, "where": r.where, "message": r.message, "hint": r.advice}
            for r in verdict.reasons
        ],
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
    rows += [("what to do", text) for text in dict.fromkeys(r.advice for r in verdict.reasons) if text]
    if accepted:
        bound = verdict.false_accept_bound
        rows.append(("wrong by chance", f"at most {bound:.1g}" if bound else "no, nothing was left to test"))
    rows.append(("time", f"{number(verdict.milliseconds)} ms"))
    out.print(facts(rows))
