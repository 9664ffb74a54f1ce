"""Devices and systems for people: one line each, or every figure of one with where it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seis.cli.output import console, facts, sentence, short, table
from seis.cli.units import number, size

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from catalogue.devices import Device
    from catalogue.systems import System

UNKNOWN = "–"
NAME = 19
"""Columns of a device's name in the list."""


def print_list(devices: Sequence[Device], systems: Sequence[System]) -> None:
    """80 columns: a table of devices, then one of systems."""
    out = console()
    rows = []
    for d in devices:
        rates = d.flops_per_second
        rows.append(
            [
                short(d.name, NAME),
                *(_scaled(rates.get(f), 1e12) for f in ("bf16", "fp8", "fp4")),
                _scaled(d.memory_bytes, 1e9), _scaled(d.memory_bytes_per_second, 1e12),
                f"{_scaled(d.scale_up_bytes_per_second, 1e9)} x{d.scale_up_domain or UNKNOWN}",
                _scaled(d.scale_out_bytes_per_second, 1e9),
                UNKNOWN if d.price_dollars_per_hour is None else f"{d.price_dollars_per_hour:.2f}",
            ]
        )  # fmt: skip
    heads = ("device", "BF16", "FP8", "FP4", "GB", "TB/s", "scale-up", "out", "$/h")
    out.print(table(heads, rows, "l" + "r" * 8))
    out.print(
        f"[dim]Dense TFLOP/s; memory; GB/s one way over scale-up links (x devices that they\n"
        f"join) and scale-out; rent. {UNKNOWN} is what the device lacks or nobody states.[/dim]\n"
    )
    lines = [
        [s.name, str(s.devices), s.device, _scaled(s.accelerator.scale_up_bytes_per_second, 1e9),
         _scaled(s.accelerator.scale_out_bytes_per_second, 1e9), s.topology]
        for s in systems
    ]  # fmt: skip
    out.print(table(("system", "devices", "of", "scale-up", "out", "topology"), lines, "lrlrrl"))
    out.print(
        "[dim]A system may be named wherever a device may. `seis devices NAME` gives every\n"
        "figure and its source, and what today's software reaches.[/dim]"
    )


def _scaled(value: float | None, unit: float) -> str:
    return UNKNOWN if value is None else number(value / unit)


def print_device(device: Device, system: System | None, achievable: Mapping[str, Mapping[str, Any]]) -> None:
    """Every figure with its source and other published values, what is unknown, and what is reached."""
    out = console()
    out.print(f"[bold]{sentence(device.title)}[/bold]  {device.name}, {device.family}\n")
    if system is not None:
        out.print(facts([
            ("system", f"{system.devices} x {system.device}, {system.topology}"),
            ("layout", sentence(system.layout)), ("source", sentence(system.source)),
        ]))  # fmt: skip
        out.print()
    rows = []
    for key, value in _figures(device):
        label, text = _said(key, value)
        rows.append((label, sentence(f"{text}  ({device.sources.get(key, '')})")))
        for other in device.alternatives.get(key, ()):
            rows.append(("", sentence(f"or {_said(key, other.value)[1]}  ({other.source})")))
    out.print(facts(rows))
    if device.unknown:
        out.print("\n[bold]Not known[/bold]")
        unknown = [(_said(key, 0)[0], sentence(f"unknown: {why}")) for key, why in device.unknown.items()]
        out.print(facts(unknown))
    _print_achievable(device, achievable)
    if device.notes:
        out.print()
    for note in device.notes:
        out.print(f"[dim]·[/dim] {sentence(note)}")


def _print_achievable(device: Device, achievable: Mapping[str, Mapping[str, Any]]) -> None:
    out = console()
    out.print("\n[bold]What today's software reaches[/bold]  (lowest–highest; whose measurements)")
    rows = []
    for key, entry in achievable.items():
        name, _, form = key.partition(".")
        if form and form not in device.flops_per_second:
            continue
        low, high = entry["spread"]
        if name.endswith("_seconds"):
            label, unit, scale = name.removesuffix("_seconds"), " µs", 1e6
        else:
            label, unit, scale = name.removesuffix("_fraction"), "", 1.0
        text = f"{entry['value'] * scale:.3g}{unit}  {low * scale:.3g}–{high * scale:.3g}{unit}"
        label = " ".join(filter(None, (label.replace("_", " "), form.upper())))
        rows.append((label, sentence(f"{text}; {entry['scope']}  ({entry['source']})")))
    out.print(facts(rows))


def _figures(device: Device) -> list[tuple[str, Any]]:
    """The known figures by field."""
    found = [(f"flops_per_second.{k}", v) for k, v in device.flops_per_second.items()]
    skipped = ("name", "title", "family", "chip", "flops_per_second", "sources", "alternatives", "unknown",
               "notes")  # fmt: skip
    for key in device.__dataclass_fields__:
        if key not in skipped and getattr(device, key) is not None:
            found.append((key, getattr(device, key)))
    return found


def _said(key: str, value: Any) -> tuple[str, str]:
    """A figure's name and value in the unit that people use."""
    from catalogue.devices.device import LABELS

    label = LABELS[key]
    if isinstance(value, bool):
        return label, "yes" if value else "no"
    if "flops_per_second" in key:
        return label, f"{number(value / 1e12)} TFLOP/s"
    for suffix, unit in (("_bytes_per_second", "/s"), ("_bytes", "")):
        if key.endswith(suffix):
            return label, size(value) + unit
    if key == "exp_per_second":
        return label, f"{number(value / 1e12)} T/s"
    for suffix, unit in (("_dollars_per_hour", "$/h"), ("_watts", "W")):
        if key.endswith(suffix):
            return label, f"{number(value)} {unit}"
    return label, f"{number(value)} devices"
