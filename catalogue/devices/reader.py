"""From a device file to a Device: every fault is one sentence with the file and the key."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from pathlib import Path
from reprlib import repr as short_repr
from string import ascii_lowercase, digits

from catalogue.devices.device import FAMILIES, Alternative, Device
from catalogue.devices.figures import FIGURES, IN_NETWORK_REDUCTION, Figure
from catalogue.errors import CatalogueError, nearest
from catalogue.yaml_file import read_yaml, text_keys

HEADER = ("name", "title", "family", "as_of", "figures", "notes")
LABEL_SLACK = 1.075
"""Usable bytes over the label: a label that counts GiB is 2^30 / 10^9 = 1.074 times its decimal reading."""


@dataclass
class _Facts:
    """What has been read so far, keyed by the file's keys; numbers in the file's units."""

    values: dict[str, int | float | bool | None] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    alternatives: dict[str, list[Alternative]] = field(default_factory=dict)


def read_device(path: Path | Traversable) -> Device:
    """The device that a YAML file describes.

    Raises CatalogueError when a figure is missing, has no source, is out of range or contradicts another.
    """
    where = path.name
    content = read_yaml(path)
    for key in content:
        if key not in HEADER:
            raise CatalogueError(
                f"{where} must use the keys {', '.join(HEADER)}, but got {key!r}{nearest(key, HEADER)}"
            )
    name = _text(content, "name", where)
    if not set(name) <= set(ascii_lowercase + digits + "-._"):
        raise CatalogueError(
            f"{where}: name must use lower-case letters, digits, '-', '.', '_', but got {name!r}; rename it"
        )
    family = _text(content, "family", where) if "family" in content else "other"
    if family not in FAMILIES:
        raise CatalogueError(
            f"{where}: family must be one of {', '.join(FAMILIES)}, but got {family!r}; use 'other'"
        )
    title = _text(content, "title", where) if "title" in content else name
    if "as_of" in content:
        _text(content, "as_of", where)
    facts = _figures(content.get("figures"), where)
    _check_consistency(facts.values, where)
    return _build(name, title, family, facts, _notes(content.get("notes", []), where))


def _text(content: Mapping[str, object], key: str, where: str) -> str:
    value = content.get(key)
    if not isinstance(value, str) or not value.strip():
        raise CatalogueError(f"{where}: {key} must be text, but got {short_repr(value)}; write it in quotes")
    return value


def _notes(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise CatalogueError(
            f"{where}: notes must be a list of texts, but got {short_repr(value)}; write '- text'"
        )
    for note in value:
        if not isinstance(note, str):
            raise CatalogueError(
                f"{where}: each note must be text, but got {short_repr(note)}; write it in quotes"
            )
    return tuple(value)


def _figures(content: object, where: str) -> _Facts:
    """Every figure, its source and its alternatives."""
    given = text_keys(content, f"{where}: figures")
    known = [*(figure.key for figure in FIGURES), IN_NETWORK_REDUCTION]
    for key in given:
        if key not in known:
            raise CatalogueError(
                f"{where}: figures must have known keys with the unit in the key, but got {key!r}"
                f"{nearest(key, known) or '; see a catalogued device for the keys'}"
            )
    facts = _Facts()
    for figure in FIGURES:
        if figure.key not in given and figure.optional:
            facts.values[figure.key] = None
            facts.sources[figure.key] = "not given"
            continue
        entry = _entry(given, figure.key, where)
        at = f"{where}: {figure.key}"
        facts.values[figure.key] = _number(entry["value"], figure, at)
        facts.sources[figure.key] = _text(entry, "source", at)
        facts.alternatives[figure.key] = _alternatives(entry.get("alternatives", []), figure, at)
    entry = _entry(given, IN_NETWORK_REDUCTION, where)
    at = f"{where}: {IN_NETWORK_REDUCTION}"
    if not isinstance(entry["value"], bool):
        raise CatalogueError(
            f"{at} must be true or false, but got {short_repr(entry['value'])}; write one of them"
        )
    facts.values[IN_NETWORK_REDUCTION] = entry["value"]
    facts.sources[IN_NETWORK_REDUCTION] = _text(entry, "source", at)
    return facts


def _entry(given: Mapping[str, object], key: str, where: str) -> dict[str, object]:
    if key not in given:
        raise CatalogueError(
            f"{where}: {key} must be given, but is missing; write `{key}: {{value: ..., source: ...}}`"
        )
    entry = text_keys(given[key], f"{where}: {key}")
    if "value" not in entry or not set(entry) <= {"value", "source", "alternatives"}:
        raise CatalogueError(
            f"{where}: {key} must have value, source and optionally alternatives, but got "
            f"{', '.join(entry) or 'nothing'}; write `{{value: ..., source: ...}}`"
        )
    return entry


def _number(value: object, figure: Figure, at: str) -> int | float | None:
    if value is None and figure.optional:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise CatalogueError(
            f"{at} must be a number of {figure.unit}, but got {short_repr(value)}; "
            "write digits such as 1.5 or 1.0e+3"
        )
    if isinstance(value, float) and not math.isfinite(value):
        raise CatalogueError(
            f"{at} must be a finite number of {figure.unit}, but got {value}; write the figure"
        )
    if not figure.low <= value <= figure.high:
        raise CatalogueError(
            f"{at} must lie between {figure.low:g} and {figure.high:g} {figure.unit}, "
            f"but got {short_repr(value)}; check the unit"
        )
    if figure.key == "scale_up_domain" and value != int(value):
        raise CatalogueError(f"{at} must be a whole number of devices, but got {value}; count the devices")
    return value


def _alternatives(content: object, figure: Figure, at: str) -> list[Alternative]:
    if not isinstance(content, list):
        raise CatalogueError(
            f"{at} must have a list of alternatives, but got {short_repr(content)}; write '- ...'"
        )
    found = []
    for item in content:
        entry = text_keys(item, f"{at}: an alternative")
        value = _number(entry.get("value"), figure, f"{at}: an alternative")
        if value is None:
            raise CatalogueError(f"{at}: an alternative must have a value, but got null; remove it")
        found.append(Alternative(figure.si(value), _text(entry, "source", f"{at}: an alternative")))
    return found


def _check_consistency(values: Mapping[str, int | float | bool | None], where: str) -> None:
    """Relations between figures that a slip of units breaks."""

    def at_most(low: str, high: str, slack: float = 1.0) -> None:
        a, b = values[low], values[high]
        if a is not None and b is not None and a > b * slack:
            raise CatalogueError(
                f"{where}: {low} must not exceed {high}, but got {low}={a} and {high}={b}; check both units"
            )

    at_most("bf16_tflops", "fp8_tflops")
    at_most("fp8_tflops", "fp6_tflops")
    at_most("fp8_tflops", "fp4_tflops")
    at_most("fp6_tflops", "fp4_tflops")
    at_most("vector_fp32_tflops", "bf16_tflops")
    at_most("usable_memory_gb", "nominal_memory_gb", LABEL_SLACK)
    at_most("l2_cache_mib", "onchip_total_mib")
    at_most("scale_up_pair_gb_per_s", "scale_up_gb_per_s")
    flops, rate = values["bf16_tflops"], values["memory_tb_per_s"]
    if flops is not None and rate is not None and not 1 <= flops / rate <= 10_000:
        raise CatalogueError(
            f"{where}: bf16_tflops / memory_tb_per_s must lie between 1 and 10000 FLOP per byte, but got "
            f"{flops} / {rate}; check both units"
        )


def _build(name: str, title: str, family: str, facts: _Facts, notes: tuple[str, ...]) -> Device:
    si: dict[str, float | None] = {}
    sources: dict[str, str] = {}
    alternatives: dict[str, tuple[Alternative, ...]] = {}
    for figure in FIGURES:
        value = facts.values[figure.key]
        others = facts.alternatives.get(figure.key, [])
        if figure.key == "usable_memory_gb":
            # The label stands in for what a program can use; where both are known it is an alternative.
            if value is None:
                continue
            label = Alternative(_known(si, figure.field), f"label: {sources[figure.field]}")
            others = [*others, label, *alternatives.get(figure.field, ())]
        si[figure.field] = None if value is None else figure.si(value)
        sources[figure.field] = facts.sources[figure.key]
        if others:
            alternatives[figure.field] = tuple(others)
    for missing, stand_in in (
        ("onchip_total_bytes", "onchip_bytes"),
        ("scale_up_pair_bytes_per_second", "scale_up_bytes_per_second"),
    ):
        if si[missing] is None:
            si[missing] = si[stand_in]
            sources[missing] = f"{sources[missing]}; {stand_in} is used"
    prefix = "flops_per_second."
    rates = {key.removeprefix(prefix): rate for key, rate in si.items() if key.startswith(prefix) and rate}
    sources[IN_NETWORK_REDUCTION] = facts.sources[IN_NETWORK_REDUCTION]
    return Device(
        name=name,
        title=title,
        family=family,
        flops_per_second=rates,
        vector_flops_per_second=_known(si, "vector_flops_per_second"),
        exp_per_second=si["exp_per_second"],
        memory_bytes=round(_known(si, "memory_bytes")),
        memory_bytes_per_second=_known(si, "memory_bytes_per_second"),
        onchip_bytes=round(_known(si, "onchip_bytes")),
        onchip_total_bytes=round(_known(si, "onchip_total_bytes")),
        scale_up_bytes_per_second=_known(si, "scale_up_bytes_per_second"),
        scale_up_pair_bytes_per_second=_known(si, "scale_up_pair_bytes_per_second"),
        scale_up_domain=round(_known(si, "scale_up_domain")),
        in_network_reduction=facts.values[IN_NETWORK_REDUCTION] is True,
        scale_out_bytes_per_second=_known(si, "scale_out_bytes_per_second"),
        host_bytes_per_second=_known(si, "host_bytes_per_second"),
        host_memory_bytes=round(_known(si, "host_memory_bytes")),
        power_watts=_known(si, "power_watts"),
        price_dollars_per_hour=si["price_dollars_per_hour"],
        owner_cost_dollars_per_hour=si["owner_cost_dollars_per_hour"],
        sources=sources,
        alternatives=alternatives,
        notes=notes,
    )


def _known(si: Mapping[str, float | None], key: str) -> float:
    value = si[key]
    if value is None:
        raise CatalogueError(f"{key} must be known, but is null; give the figure")
    return value
