"""`seis frontier`: what a search has found so far, beside the conventional baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from seis.cli.options import DATABASE, Database, Json, Plot

if TYPE_CHECKING:
    import db
    from seis.cli.stored_search import Stored


def frontier(
    search: Annotated[
        str | None, typer.Argument(help="A search's id or its model; the newest search by default.")
    ] = None,
    plot: Plot = None,
    database: Database = DATABASE,
    json: Json = False,
) -> None:
    """Print the discovered frontier of a search beside the conventional one."""
    from seis.cli.pictures import check_picture
    from seis.cli.sources import open_database
    from seis.cli.stored_search import read

    check_picture(plot)
    with open_database(database, create=False) as opened:
        stored = read(opened, search)
        if json:
            from seis.cli.output import print_json

            limit, relaxation = stored.gaps(opened)
            print_json({**describe(stored), "gap_to_limit": limit, "gap_to_relaxation": relaxation})
        else:
            _print(stored, opened)
    if plot is not None:
        draw(plot, stored)


def describe(stored: Stored) -> dict[str, Any]:
    """The frontiers as `--json` prints them."""
    from seis.cli.baseline import point_json

    return {
        "baseline_frontier": [point_json(p, p.design) for p in stored.baseline],
        "frontier": [point_json(p, p.design) for p in stored.frontier],
        "simultaneous_gain": stored.gain,
        "hypervolume_gain": stored.hypervolume_gain,
        "search": stored.search.id,
        "state": stored.search.state,
        **stored.about,
    }


def draw(path: Any, stored: Stored) -> None:
    """Write both frontiers and the largest simultaneous gain as a picture."""
    from seis.cli.baseline import scene
    from seis.cli.pictures import curve, write

    about = stored.about
    gain = None
    if stored.old is not None and stored.new is not None:
        gain = (stored.gain, stored.old, stored.new)
    write(
        path,
        [curve("baseline", stored.baseline), curve("discovered", stored.frontier)],
        f"{about['model']} on {about['count']} x {about['device']}", scene(about), gain,
    )  # fmt: skip


def _print(stored: Stored, database: db.Database) -> None:
    from seis.cli.baseline import scene
    from seis.cli.frontier_tables import frontier_table, gap_rows
    from seis.cli.output import console, facts
    from seis.cli.pictures import curve, in_terminal
    from seis.cli.stored_search import titles
    from seis.cli.units import percent

    out = console()
    about = stored.about
    out.print(f"[bold]{about['model']} on {about['count']} x {about['device']}[/bold]")
    out.print(f"[dim]{scene(about)}; search {stored.search.id[:12]}, {stored.search.state}[/dim]\n")
    out.print(in_terminal([curve("baseline", stored.baseline), curve("discovered", stored.frontier)]))
    out.print()
    out.print(frontier_table(stored.frontier, titles(database, stored.frontier)))
    out.print()
    rows = [("hypervolume gain", percent(stored.hypervolume_gain))]
    if stored.new is not None and stored.gain > 0:
        text = f"{percent(stored.gain)}: seis explain {stored.new.design[:8]}"
        rows.insert(0, ("better on both axes", text))
    out.print(facts([*rows, *gap_rows(*stored.gaps(database))]))
