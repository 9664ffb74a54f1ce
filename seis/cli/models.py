"""`seis models`: the catalogued models and what they count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from seis.cli.options import Json

if TYPE_CHECKING:
    from catalogue.models.registry import Description
    from rooflang.design import Design

CONTEXTS = (4096, 32768, 131072, 1048576)
SHOWN = (4096, 131072)


def models(
    name: Annotated[
        str | None, typer.Argument(help="One model, its unique beginning, or a config.json.")
    ] = None,
    json: Json = False,
) -> None:
    """List the models, with their parameters, cache bytes and FLOPs per token."""
    from catalogue.models import model_names
    from catalogue.models.facts import full_name

    names = [full_name(name)] if name else list(model_names())
    if json:
        from seis.cli.output import print_json

        print_json([count(n) for n in names])
        return
    _print_table(names)
    if name:
        _print_facts(names[0])


def count(name: str) -> dict[str, Any]:
    """What is known of one model, as `--json` prints it."""
    from catalogue.models import describe, load_model

    return row(load_model(name), load_model(name, "bf16"), describe(name))


def row(served: Design, bf16: Design, told: Description) -> dict[str, Any]:
    """The figures of a model, and what is told of it."""
    from catalogue.models.formats import formats_by_part

    return {
        **figures(served.name, served, bf16),
        "source": told.source,
        "precision": told.precision,
        "formats": formats_by_part(served),
        "inferred": list(told.inferred),
    }


def figures(name: str, served: Design, bf16: Design) -> dict[str, Any]:
    """What a model counts, from its design with caches as served and with caches in bf16."""
    from catalogue.models import counts

    return {
        "name": name,
        "parameters": counts.parameters(served),
        "active_parameters": counts.active_parameters(served),
        "kv_bytes_per_token": {
            kind: {str(c): counts.kv_bytes_per_token(design, c) for c in CONTEXTS}
            for kind, design in (("bf16", bf16), ("served", served))
        },
        "state_bytes": counts.state_bytes(served),
        "flops_per_token": {str(c): counts.flops_per_token(served, c) for c in CONTEXTS},
    }


def _print_table(names: list[str]) -> None:
    from catalogue.models import counts, load_model
    from seis.cli import units
    from seis.cli.output import console, table

    out = console()
    rows = []
    for name in names:
        served = load_model(name)
        flops = (units.flops(counts.flops_per_token(served, c)).removesuffix("FLOP") for c in SHOWN)
        rows.append(
            [
                served.name, units.count(counts.parameters(served)),
                units.count(counts.active_parameters(served)),
                *(units.size(counts.kv_bytes_per_token(served, c)) for c in SHOWN), *flops,
            ]
        )  # fmt: skip
    columns = ("model", "total", "active", "KV @4k", "@128k", "FLOP @4k", "@128k")
    out.print(table(columns, rows, "lrrrrrr"))
    out.print("[dim]KV is bytes per token of cache as served; FLOP is of one decoded token.[/dim]")


def _print_facts(name: str) -> None:
    from catalogue.models import counts, describe, load_model
    from catalogue.models.formats import formats_by_part
    from seis.cli import units
    from seis.cli.output import console, facts, sentence

    told, served = describe(name), load_model(name)
    state = counts.state_bytes(served)
    rows = [
        ("published", told.precision),
        ("written as", ", ".join(f"{part} {dtype}" for part, dtype in formats_by_part(served).items())),
        *([("state", f"{units.size(state)} per sequence, at any context")] if state else []),
        ("source", told.source),
        *(("inferred" if i == 0 else "", text) for i, text in enumerate(told.inferred)),
    ]
    out = console()
    out.print()
    out.print(facts([(key, sentence(value)) for key, value in rows]))
