"""`seis models`: the catalogued models and what they count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from seis.cli.options import Json

if TYPE_CHECKING:
    from rooflang.design import Design

CONTEXTS = (4096, 32768, 131072, 1048576)


def models(
    name: Annotated[
        str | None, typer.Argument(help="One model, its unique beginning, or a config.json.")
    ] = None,
    json: Json = False,
) -> None:
    """List the models, with their parameters, cache bytes and FLOPs per token."""
    from catalogue.models import model_names
    from catalogue.models.facts import full_name

    found = [count(n) for n in ([full_name(name)] if name else model_names())]
    if json:
        from seis.cli.output import print_json

        print_json(found)
    else:
        _print(found)


def count(name: str) -> dict[str, Any]:
    """The figures of one model, as `--json` prints them."""
    from catalogue.models import load_model

    served, bf16 = load_model(name), load_model(name, "bf16")
    return figures(served.name, served, bf16)


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


def _print(found: list[dict[str, Any]]) -> None:
    from seis.cli import units
    from seis.cli.output import console, table

    out = console()
    rows = []
    for m in found:
        kv, flops = m["kv_bytes_per_token"]["served"], m["flops_per_token"]
        rows.append(
            [
                m["name"], units.count(m["parameters"]), units.count(m["active_parameters"]),
                *(units.size(kv[c]) for c in ("4096", "131072")),
                *(units.flops(flops[c]) for c in ("4096", "131072")),
            ]
        )  # fmt: skip
    out.print(table(("model", "total", "active", "KV @4k", "@128k", "FLOPs @4k", "@128k"), rows, "lrrrrrr"))
    out.print("[dim]KV is bytes per token of cache as served; FLOPs are of one decoded token.[/dim]")
