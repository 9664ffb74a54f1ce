"""From a device file to a Device: every fault is one sentence with the file and the key."""

from collections.abc import Mapping
from importlib.resources.abc import Traversable
from pathlib import Path
from string import ascii_lowercase, digits

from catalogue.devices.device import FAMILIES, FORMATS, Alternative, Device
from catalogue.devices.entries import NOT_PUBLISHED, Facts, check_consistency, read_figures, text_of, texts_of
from catalogue.devices.figures import CAPACITY, FIGURES, IN_NETWORK_REDUCTION
from catalogue.errors import CatalogueFileError, nearest
from catalogue.yaml_file import read_yaml

HEADER = ("name", "title", "family", "as_of", "figures", "notes")


def read_device(path: Path | Traversable) -> Device:
    """The device that a YAML file describes; a figure that it does not give is unknown.

    Raises CatalogueFileError when a figure has no source, is out of range or contradicts another, or when
    the memory's capacity is missing.
    """
    return device_of(read_yaml(path), path.name)


def device_of(content: Mapping[str, object], where: str) -> Device:
    """The device that the content of a file describes; `where` names the file in errors."""
    check_keys(content, HEADER, where)
    name = name_of(content, where)
    family = text_of(content, "family", where) if "family" in content else "other"
    if family not in FAMILIES:
        raise CatalogueFileError(
            f"{where}: family must be one of {', '.join(FAMILIES)}, but got {family!r}; use 'other'"
        )
    title = text_of(content, "title", where) if "title" in content else name
    if "as_of" in content:
        text_of(content, "as_of", where)
    facts = read_figures(content.get("figures"), where)
    check_consistency(facts.values, where)
    if all(facts.values.get(key) is None for key in CAPACITY):
        raise CatalogueFileError(
            f"{where}: {' or '.join(CAPACITY)} must be given, but both are missing; "
            f"write `{CAPACITY[0]}: {{value: ..., source: ...}}`"
        )
    return _build(name, title, family, facts, texts_of(content.get("notes", []), "notes", where))


def check_keys(content: Mapping[str, object], known: tuple[str, ...], where: str) -> None:
    """Raises CatalogueFileError when the file has a key that is not known."""
    for key in content:
        if key not in known:
            raise CatalogueFileError(
                f"{where} must use the keys {', '.join(known)}, but got {key!r}{nearest(key, known)}"
            )


def name_of(content: Mapping[str, object], where: str) -> str:
    """The name that a file gives itself."""
    name = text_of(content, "name", where)
    if not set(name) <= set(ascii_lowercase + digits + "-._"):
        raise CatalogueFileError(
            f"{where}: name must use lower-case letters, digits, '-', '.', '_', but got {name!r}; rename it"
        )
    return name


def _build(name: str, title: str, family: str, facts: Facts, notes: tuple[str, ...]) -> Device:
    si, sources, unknown, alternatives = in_si(facts)
    for missing, stand_in in (
        ("onchip_total_bytes", "onchip_bytes"),
        ("scale_up_pair_bytes_per_second", "scale_up_bytes_per_second"),
    ):
        if missing not in si and stand_in in si:
            si[missing] = si[stand_in]
            sources[missing] = f"{unknown.pop(missing, NOT_PUBLISHED)}; {stand_in} is used"
    for figure in FIGURES:
        # A format without an entry is one that the device lacks; any other figure is one that nobody states.
        if figure.field not in si and not figure.field.startswith("flops_per_second."):
            unknown.setdefault(figure.field, NOT_PUBLISHED)
    reduces = facts.values.get(IN_NETWORK_REDUCTION)
    if reduces is None:
        unknown[IN_NETWORK_REDUCTION] = facts.sources.get(IN_NETWORK_REDUCTION, NOT_PUBLISHED)
    else:
        sources[IN_NETWORK_REDUCTION] = facts.sources[IN_NETWORK_REDUCTION]

    def count(key: str) -> int | None:
        return round(si[key]) if key in si else None

    return Device(
        name=name,
        title=title,
        family=family,
        flops_per_second={f: si[key] for f in FORMATS if (key := f"flops_per_second.{f}") in si},
        vector_flops_per_second=si.get("vector_flops_per_second"),
        exp_per_second=si.get("exp_per_second"),
        memory_bytes=round(si["memory_bytes"]),
        memory_bytes_per_second=si.get("memory_bytes_per_second"),
        onchip_bytes=count("onchip_bytes"),
        onchip_total_bytes=count("onchip_total_bytes"),
        scale_up_bytes_per_second=si.get("scale_up_bytes_per_second"),
        scale_up_pair_bytes_per_second=si.get("scale_up_pair_bytes_per_second"),
        scale_up_domain=count("scale_up_domain"),
        in_network_reduction=None if reduces is None else bool(reduces),
        scale_out_bytes_per_second=si.get("scale_out_bytes_per_second"),
        host_bytes_per_second=si.get("host_bytes_per_second"),
        host_memory_bytes=count("host_memory_bytes"),
        power_watts=si.get("power_watts"),
        price_dollars_per_hour=si.get("price_dollars_per_hour"),
        owner_cost_dollars_per_hour=si.get("owner_cost_dollars_per_hour"),
        sources=sources,
        alternatives=alternatives,
        unknown=unknown,
        notes=notes,
    )


Si = tuple[dict[str, float], dict[str, str], dict[str, str], dict[str, tuple[Alternative, ...]]]


def in_si(facts: Facts) -> Si:
    """By field: known numbers in SI base units, their sources, why others are unknown, alternatives."""
    si: dict[str, float] = {}
    sources: dict[str, str] = {}
    unknown: dict[str, str] = {}
    alternatives: dict[str, tuple[Alternative, ...]] = {}
    for figure in FIGURES:
        if figure.key not in facts.values:
            continue
        value, others = facts.values[figure.key], facts.alternatives[figure.key]
        if value is None:
            if figure.field not in si:
                unknown[figure.field] = facts.sources[figure.key]
        else:
            if figure.field in si:  # the label, beside what a program can use
                label = Alternative(si[figure.field], f"label: {sources[figure.field]}")
                others = [*others, label, *alternatives.get(figure.field, ())]
            unknown.pop(figure.field, None)
            si[figure.field], sources[figure.field] = figure.si(value), facts.sources[figure.key]
        if others:
            alternatives[figure.field] = tuple(others)
    return si, sources, unknown, alternatives
