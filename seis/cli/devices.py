"""`seis devices`: the catalogued accelerators and systems, and their published limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from seis.cli.options import Json

if TYPE_CHECKING:
    from catalogue.devices import Device
    from catalogue.systems import System


def devices(
    name: Annotated[
        str | None, typer.Argument(help="One device or system, or a path to your own .yaml.")
    ] = None,
    json: Json = False,
) -> None:
    """List the devices and systems; with a name, every figure of one and its source."""
    from catalogue.devices import device_names, load_device
    from catalogue.systems import load_system, system_names

    found = [load_device(n) for n in ([name] if name else (*device_names(), *system_names()))]
    systems = {d.name: load_system(d.name) for d in found if d.name != d.chip and d.name in system_names()}
    if json:
        from seis.cli.output import print_json

        print_json([describe(d, systems.get(d.name)) for d in found])
    elif name:
        from seis.cli.device_tables import print_device

        print_device(found[0], systems.get(found[0].name), achievable(found[0]))
    else:
        from seis.cli.device_tables import print_list

        print_list([d for d in found if d.name == d.chip], list(systems.values()))


def describe(device: Device, system: System | None) -> dict[str, Any]:
    """Every figure in SI base units, as `--json` prints it."""
    from dataclasses import fields

    found = {f.name: getattr(device, f.name) for f in fields(device)}
    found["alternatives"] = {
        key: [{"value": a.value, "source": a.source} for a in others]
        for key, others in device.alternatives.items()
    }
    found["achievable"] = achievable(device)
    keys = ("device", "devices", "topology", "layout", "source", "stated")
    found["system"] = None if system is None else {key: getattr(system, key) for key in keys}
    return found


def achievable(device: Device) -> dict[str, dict[str, Any]]:
    """What today's software reaches: by fraction or latency its value, spread, source and scope."""
    from catalogue.efficiency import efficiency_for

    e = efficiency_for(device)
    found = {}
    for key, source in e.sources.items():
        name, _, form = key.partition(".")
        value = getattr(e, name)
        found[key] = {
            "value": value[form] if form else value, "spread": list(e.spreads[key]), "source": source,
            "scope": e.scopes[key],
        }  # fmt: skip
    return found
