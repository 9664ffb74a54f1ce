"""`seis explain`: a discovery in plain words, with where the time went before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from seis.cli.options import DATABASE, Database, Json, Trace

if TYPE_CHECKING:
    from seis.cli.explanation import Explanation


def explain(
    design: Annotated[
        str | None, typer.Argument(help="A stored design's hash; the best one by default.")
    ] = None,
    search: Annotated[
        str | None, typer.Option(help="A search's id or its model; the newest search by default.")
    ] = None,
    trace: Trace = None,
    database: Database = DATABASE,
    json: Json = False,
) -> None:
    """Explain a discovered design: what changed, where the time went, what it rests on."""
    from seis.cli.explanation import read_explanation
    from seis.cli.sources import open_database

    with open_database(database, create=False) as opened:
        found = read_explanation(opened, search, design)
    if trace is not None:
        from seis.cli.overlap_tables import write_trace

        write_trace(trace, {"before": found.before.simulated, "after": found.after.simulated})
    if json:
        from seis.cli.output import print_json

        print_json(describe(found))
    else:
        from seis.cli.explanation_tables import print_explanation

        print_explanation(found)


def describe(found: Explanation) -> dict[str, Any]:
    """The explanation as `--json` prints it."""
    from seis.cli.baseline import point_json
    from seis.cli.overlap_tables import describe as overlap

    return {
        "design": found.design,
        "summary": found.summary,
        "gain": found.gain,
        "old": point_json(found.old, found.old.design),
        "new": point_json(found.new, found.new.design),
        "changes": [
            {"rule": c.rule, "site": c.site, "rewrites": c.rewrites, "helps": c.helps, "costs": c.costs,
             "source": c.source, "prediction": c.prediction}
            for c in found.changes
        ],
        "seconds_by_section": _pair(found.before.sections, found.after.sections),
        "seconds_by_bound": _pair(found.before.bounds, found.after.bounds),
        "step_seconds": _pair(found.before.step, found.after.step),
        "simulated": _pair(overlap(found.before.simulated), overlap(found.after.simulated)),
        "simulated_gain": found.simulated_gain,
        "vanishes": found.vanishes,
        "bytes_per_gpu": _pair(found.before.memory, found.after.memory),
        "sensitivity": found.sensitivity,
        "certificate": found.certificate,
        "commands": found.commands,
    }  # fmt: skip


def _pair(old: Any, new: Any) -> dict[str, Any]:
    return {"old": old, "new": new}
