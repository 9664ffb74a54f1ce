"""A system: how many devices of one kind are joined, and by what links."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from catalogue.devices.device import Device
from catalogue.devices.entries import check_consistency, read_figures, text_of, texts_of
from catalogue.devices.figures import FIGURES, IN_NETWORK_REDUCTION
from catalogue.devices.reader import check_keys, in_si, name_of
from catalogue.errors import CatalogueFileError

HEADER = ("name", "title", "device", "devices", "topology", "layout", "source", "as_of", "figures", "notes")

TOPOLOGIES = ("switched", "mesh", "torus", "direct", "pcie")
"""How devices of a scale-up domain are joined: through switches, each with each, to neighbours in a torus,
by a cable, or over the host's PCIe."""

_STATED = tuple(
    f.field for f in FIGURES if not f.field.startswith("flops_per_second.") and f.field != "memory_bytes"
)
"""The fields of a device that a system may state anew."""

_COUNTS = ("scale_up_domain", "host_memory_bytes", "onchip_bytes", "onchip_total_bytes")


@dataclass(frozen=True)
class System:
    """Devices of one kind with the links between them.

    `accelerator` is the device as it is in this system: figures that the system states replace those of
    the device alone. It may stand wherever a device may, under the system's name.
    """

    name: str
    title: str
    device: str
    """Name of the catalogued device."""
    devices: int
    """Devices of the whole system."""
    topology: str
    """Of a scale-up domain, one of `TOPOLOGIES`."""
    layout: str
    """The topology in words: switches, links per device, sizes of a torus."""
    source: str
    """Where the count and the topology come from."""
    accelerator: Device
    stated: tuple[str, ...]
    """Fields of the accelerator that the system states anew."""
    notes: tuple[str, ...] = field(repr=False)


def device_name(content: Mapping[str, object], where: str) -> str:
    """The device of which the content of a file makes a system. Raises CatalogueFileError without one."""
    check_keys(content, HEADER, where)
    return text_of(content, "device", where)


def system_of(content: Mapping[str, object], base: Device, where: str) -> System:
    """The system of devices `base` that the content of a file describes; `where` names the file in errors.

    Raises CatalogueFileError when it does not say what it must.
    """
    name = name_of(content, where)
    title = text_of(content, "title", where) if "title" in content else name
    devices = content.get("devices")
    if isinstance(devices, bool) or not isinstance(devices, int) or devices < 1:
        raise CatalogueFileError(
            f"{where}: devices must be a whole number of at least 1, but got {devices!r}"
        )
    topology = text_of(content, "topology", where)
    if topology not in TOPOLOGIES:
        raise CatalogueFileError(
            f"{where}: topology must be one of {', '.join(TOPOLOGIES)}, but got {topology!r}; choose one"
        )
    layout, source = text_of(content, "layout", where), text_of(content, "source", where)
    if "as_of" in content:
        text_of(content, "as_of", where)
    notes = texts_of(content.get("notes", []), "notes", where)
    accelerator, stated = _joined(base, content.get("figures", {}), where)
    accelerator = replace(accelerator, name=name, title=title, notes=(*base.notes, *notes))
    domain = accelerator.scale_up_domain
    if domain is None or domain > devices:
        raise CatalogueFileError(
            f"{where}: scale_up_domain must be known and at most devices = {devices}, but is {domain}; "
            "give it under figures"
        )
    return System(name, title, base.chip, devices, topology, layout, source, accelerator, stated, notes)


def _joined(base: Device, content: object, where: str) -> tuple[Device, tuple[str, ...]]:
    """The device with the figures of a system in place of its own, and the fields that are replaced."""
    facts = read_figures(content, where)
    check_consistency(facts.values, where)
    si, sources, unknown, alternatives = in_si(facts)
    values: dict[str, float | bool | None] = {**si, **dict.fromkeys(unknown)}
    if IN_NETWORK_REDUCTION in facts.values:
        values[IN_NETWORK_REDUCTION] = facts.values[IN_NETWORK_REDUCTION]
        told = sources if facts.values[IN_NETWORK_REDUCTION] is not None else unknown
        told[IN_NETWORK_REDUCTION] = facts.sources[IN_NETWORK_REDUCTION]
    for key in values:
        if key not in (*_STATED, IN_NETWORK_REDUCTION):
            raise CatalogueFileError(
                f"{where}: figures of a system must be links, memory bandwidth, host, power or price, "
                f"but got {key}; state it in the file of the device"
            )
    pair, whole = "scale_up_pair_bytes_per_second", "scale_up_bytes_per_second"
    if whole in values and pair not in values and base.scale_up_pair_bytes_per_second is None:
        values[pair] = values[whole]
        sources[pair] = f"not published; {whole} is used"
    changed = {k: round(v) if k in _COUNTS and v is not None else v for k, v in values.items()}
    own = {k: v for k, v in base.alternatives.items() if k not in values}
    joined: dict[str, object] = {
        **changed,
        "sources": {**{k: v for k, v in base.sources.items() if k not in values}, **sources},
        "unknown": {**{k: v for k, v in base.unknown.items() if k not in values}, **unknown},
        "alternatives": {**own, **alternatives},
    }
    return replace(base, **joined), tuple(values)  # type: ignore[arg-type]
