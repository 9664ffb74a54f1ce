"""`seis replay`: does a stored search again from its record and says whether the same came out."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from seis.cli.options import DATABASE, Database, Json, at_least
from seis.cli.problems import REFUSED


def replay(
    search: Annotated[
        str | None, typer.Argument(help="An id of a search or job, or a model; the newest one.")
    ] = None,
    workers: Annotated[int, typer.Option(help="Processes that verify and evaluate.")] = 2,
    database: Database = DATABASE,
    json: Json = False,
) -> None:
    """Do a stored search again, from its record in place of a language model, and compare."""
    from agent.llm.replay import replay as run
    from seis.cli.sources import open_database
    from seis.cli.stored_search import read

    at_least("--workers", workers, 1)
    with open_database(database, create=False) as opened:
        stored = read(opened, search)
        if json:
            found = run(opened, stored.search, stored.problem, workers=workers)
        else:
            from seis.cli.progress import Bar

            with Bar() as bar:
                found = run(opened, stored.search, stored.problem, workers=workers, progress=bar)
    if json:
        from seis.cli.output import print_json

        print_json({**asdict(found), "identical": found.identical})
    else:
        from seis.cli.output import console

        verdict = "the same, byte for byte" if found.identical else f"not the same: {found.difference}"
        console().print(
            f"{found.candidates} candidates in {found.rounds} rounds, {found.exchanges} recorded exchanges: "
            f"{verdict}"
        )
    if not found.identical:
        raise typer.Exit(REFUSED)
