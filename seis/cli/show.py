"""`seis show`: the RoofLang text of a design."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from seis.cli.options import DATABASE, MODEL, Database, Json, Kv, KvOption


def show(
    design: Annotated[str, typer.Argument(help="A model, a .roof file, or a stored design's hash.")] = MODEL,
    kv: KvOption = Kv.served,
    database: Database = DATABASE,
    json: Json = False,
) -> None:
    """Print a design in RoofLang; the text parses back to the same design."""
    from rooflang.printer import print_design
    from seis.cli.sources import find

    source = find(design, kv, database)
    text = print_design(source.design)
    if not json:
        sys.stdout.write(text)
        return
    from rooflang.canonical import design_hash, structure_hash
    from seis.cli.output import print_json

    print_json(
        {
            "name": source.design.name,
            "origin": source.origin,
            "design": design_hash(source.design),
            "structure": structure_hash(source.design),
            "text": text,
        }
    )
