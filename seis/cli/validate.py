"""`seis validate`: measurements held against their bounds, and predictions against measurements."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seis.cli.options import Json

if TYPE_CHECKING:
    from evaluator.truth.validation import Validation


def validate(
    files: Annotated[
        list[Path] | None, typer.Argument(help="CSV files of measurements; the catalogued ones.")
    ] = None,
    json: Json = False,
) -> int:
    """Hold measurements against their bounds: exit status 1 if one is above its bound."""
    from catalogue.measured import measured_files
    from evaluator.truth.rows import read
    from evaluator.truth.validation import validate as judged
    from mutations.start import starting_designs
    from seis.cli.problems import REFUSED

    found = judged([read(f) for f in files or measured_files()], starting_designs)
    if json:
        from seis.cli.output import print_json

        print_json(describe(found))
    else:
        from seis.cli.validation_tables import print_validation

        print_validation(found)
    return REFUSED if found.violations else 0


def describe(found: Validation) -> dict[str, Any]:
    """The validation as `--json` prints it."""
    reached = found.reached()
    return {
        "rows": found.rows,
        "placed": len(found.placed),
        "violations": [p.id for p in found.violations],
        "not_placed": [{"id": name, "reason": reason} for name, reason in found.not_placed],
        "quartiles": _named(found.quartiles()),
        "prediction_error": _named(found.errors()),
        "isolated_decode": None if reached is None else _quartiles(reached),
        "achieved": {p.id: dict(p.achieved) for p in found.placed},
    }


def _named(groups: dict[str, dict[str, tuple[float, float, float, int]]]) -> dict[str, Any]:
    return {by: {name: _quartiles(q) for name, q in group.items()} for by, group in groups.items()}


def _quartiles(found: tuple[float, float, float, int]) -> dict[str, float]:
    return dict(zip(("first", "median", "third", "rows"), found, strict=True))
