"""`seis devices`: the catalogued accelerators and their published limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from seis.cli.options import Json

if TYPE_CHECKING:
    from catalogue.devices import Device


def devices(
    name: Annotated[str | None, typer.Argument(help="One device, or a path to your own .yaml.")] = None,
    json: Json = False,
) -> None:
    """List the devices; with a name, every figure of one and its source."""
    from catalogue.devices import device_names, load_device

    found = [load_device(n) for n in ([name] if name else device_names())]
    if json:
        from seis.cli.output import print_json

        print_json([describe(d) for d in found])
    elif name:
        _print_one(found[0])
    else:
        _print_all(found)


def describe(device: Device) -> dict[str, Any]:
    """Every figure in SI base units, as `--json` prints it."""
    from dataclasses import fields

    found = {f.name: getattr(device, f.name) for f in fields(device)}
    found["alternatives"] = {
        key: [{"value": a.value, "source": a.source} for a in others]
        for key, others in device.alternatives.items()
    }
    return found


def _print_all(found: list[Device]) -> None:
    from seis.cli.output import console, table
    from seis.cli.units import number

    out = console()
    rows = []
    for d in found:
        rates = d.flops_per_second
        rows.append(
            [
                d.name,
                *(number(rates[f] / 1e12) if f in rates else "–" for f in ("bf16", "fp8", "fp4")),
                number(d.memory_bytes / 1e9), number(d.memory_bytes_per_second / 1e12),
                f"{number(d.scale_up_bytes_per_second / 1e9)} x{d.scale_up_domain}",
                number(d.scale_out_bytes_per_second / 1e9),
                "–" if d.price_dollars_per_hour is None else f"{d.price_dollars_per_hour:.2f}",
            ]
        )  # fmt: skip
    heads = ("device", "BF16", "FP8", "FP4", "GB", "TB/s", "scale-up", "out", "$/h")
    out.print(table(heads, rows, "l" + "r" * 8))
    out.print(
        "[dim]Dense TFLOP/s; memory; GB/s one way over scale-up links (x devices that they\n"
        "join) and scale-out. `seis devices NAME` gives every figure and its source.[/dim]"
    )


def _print_one(device: Device) -> None:
    from seis.cli.output import console, facts, sentence

    out = console()
    out.print(f"[bold]{sentence(device.title)}[/bold]  {device.name}, {device.family}\n")
    rows = []
    for key, value in _figures(device):
        label, text = _said(key, value)
        source = device.sources.get(key, "")
        rows.append((label, f"{text}  ({source})" if source else text))
    out.print(facts(rows))
    for note in device.notes:
        out.print(f"[dim]·[/dim] {sentence(note)}")


def _figures(device: Device) -> list[tuple[str, Any]]:
    found = [(f"flops_per_second.{k}", v) for k, v in device.flops_per_second.items()]
    for key in device.__dataclass_fields__:
        if key not in ("name", "title", "family", "flops_per_second", "sources", "alternatives", "notes"):
            found.append((key, getattr(device, key)))
    return found


def _said(key: str, value: Any) -> tuple[str, str]:
    """A figure's name and value in the unit that people use."""
    from seis.cli.units import number, size

    if value is None:
        return key.replace("_", " "), "not published"
    if key.startswith("flops_per_second."):
        return f"{key.rpartition('.')[2].upper()} matrix", f"{number(value / 1e12)} TFLOP/s"
    if isinstance(value, bool):
        return key.replace("_", " "), "yes" if value else "no"
    for suffix, unit in (("_bytes_per_second", "/s"), ("_bytes", "")):
        if key.endswith(suffix):
            return key.removesuffix(suffix).replace("_", " "), size(value) + unit
    if key == "vector_flops_per_second":
        return "vector FP32", f"{number(value / 1e12)} TFLOP/s"
    if key == "exp_per_second":
        return "exponentials", f"{number(value / 1e12)} T/s"
    for suffix, unit in (("_dollars_per_hour", "$/h"), ("_watts", "W")):
        if key.endswith(suffix):
            return key.removesuffix(suffix).replace("_", " "), f"{number(value)} {unit}"
    return key.replace("_", " "), f"{number(value)} devices" if key == "scale_up_domain" else str(value)
