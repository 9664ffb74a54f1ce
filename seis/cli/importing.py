"""`seis import`: a model from its Hugging Face config.json; what was inferred and what was not understood."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seis.cli.options import Json, Kv, KvOption

if TYPE_CHECKING:
    from catalogue.huggingface import Imported

MAXIMUM_SHOWN = 12
REST = (
    "These keys may change what a step computes, and are left out. Write the design\n"
    "with --output, complete it by hand (docs/rooflang.md), and use the .roof file in\n"
    "place of the model."
)


def import_(
    path: Annotated[str, typer.Argument(help="A config.json, or a directory with one.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Also write the design as a .roof file.")
    ] = None,
    kv: KvOption = Kv.served,
    json: Json = False,
) -> None:
    """Import a model from its config.json, and count its parameters, cache bytes and FLOPs."""
    from catalogue.huggingface import import_config
    from catalogue.huggingface.design import full_path
    from catalogue.models.registry import Description
    from seis.cli.models import row
    from seis.cli.problems import UsageError

    if output is not None and output.suffix != ".roof":
        raise UsageError(f"--output must end in .roof, but got {output}; name it {output.stem}.roof")
    found = import_config(path)
    served, bf16 = found.design(), found.design("bf16")
    told = Description(found.name, full_path(path), "as its config says", found.assumptions)
    document = {
        **row(served, bf16, told),
        "assumptions": list(found.assumptions),
        "not_understood": [{"key": n.key, "value": n.value} for n in found.not_understood],
    }
    if output is not None:
        from rooflang.printer import print_design

        output.write_text(print_design(bf16 if kv is Kv.bf16 else served), encoding="utf-8")
    if json:
        from seis.cli.output import print_json

        print_json(document)
    else:
        _print(found, document, output)


def _print(found: Imported, figures: dict[str, Any], output: Path | None) -> None:
    from seis.cli import units
    from seis.cli.importing_tables import layers, stored
    from seis.cli.models import CONTEXTS
    from seis.cli.output import console, facts, sentence, table

    out = console()
    out.print(f"[bold]{sentence(found.name)}[/bold]")
    rows = [
        ("parameters", f"{figures['parameters']:,}"),
        ("active per token", units.count(figures["active_parameters"])),
        *layers(found.architecture),
        ("weights", stored(found.architecture)),
    ]
    if figures["state_bytes"]:
        rows.append(("fixed state", f"{units.size(figures['state_bytes'])} per sequence"))
    out.print(facts(rows))
    out.print()
    cells = [
        [
            f"at {context:,} tokens",
            units.size(figures["kv_bytes_per_token"]["served"][str(context)]),
            units.size(figures["kv_bytes_per_token"]["bf16"][str(context)]),
            units.flops(figures["flops_per_token"][str(context)]),
        ]
        for context in CONTEXTS
    ]
    out.print(table(("", "KV per token as served", "in bf16", "FLOPs per token"), cells, "lrrr"))
    _listed("Assumed", list(found.assumptions))
    _listed("Not understood", [f"{n.key} = {_short(n.value)}" for n in found.not_understood])
    if found.not_understood:
        out.print(REST)
    if output is not None:
        out.print(f"\nThe design is in {sentence(str(output))}.")


def _listed(title: str, lines: list[str]) -> None:
    """Sentences under a title, wrapped to the width of the console."""
    import textwrap

    from seis.cli.output import WIDTH, console, sentence

    if not lines:
        return
    out = console()
    out.print(f"\n[bold]{title}[/bold]")
    for line in lines[:MAXIMUM_SHOWN]:
        wrapped = textwrap.wrap(line, WIDTH, initial_indent="- ", subsequent_indent="  ")
        out.print(sentence("\n".join(wrapped)), soft_wrap=True)
    if len(lines) > MAXIMUM_SHOWN:
        out.print(f"and {len(lines) - MAXIMUM_SHOWN} more; --json lists all")


def _short(value: object) -> str:
    from reprlib import repr as short_repr

    return short_repr(value)
