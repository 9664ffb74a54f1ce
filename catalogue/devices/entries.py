"""The `figures` of a file: every value with its source and alternatives, checked one by one."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from reprlib import repr as short_repr

from catalogue.devices.device import Alternative
from catalogue.devices.figures import FIGURES, IN_NETWORK_REDUCTION, Figure
from catalogue.errors import CatalogueFileError, nearest
from catalogue.yaml_file import text_keys

NOT_PUBLISHED = "not published"


@dataclass
class Facts:
    """What a file gives, keyed by the file's keys; numbers in the file's units, None where not known.

    `sources` of an unknown figure says why it is unknown.
    """

    values: dict[str, int | float | bool | None] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    alternatives: dict[str, list[Alternative]] = field(default_factory=dict)


def read_figures(content: object, where: str) -> Facts:
    """Every figure that is given. Raises CatalogueFileError for one without source or out of range."""
    given = text_keys(content, f"{where}: figures")
    known = {**{figure.key: figure for figure in FIGURES}, IN_NETWORK_REDUCTION: None}
    facts = Facts()
    for key, content_of_key in given.items():
        if key not in known:
            raise CatalogueFileError(
                f"{where}: figures must have known keys with the unit in the key, but got {key!r}"
                f"{nearest(key, known) or '; see a catalogued device for the keys'}"
            )
        at, figure = f"{where}: {key}", known[key]
        entry = _entry(content_of_key, at)
        if entry["value"] is None:
            facts.values[key] = None
        elif figure is None:
            facts.values[key] = _flag(entry["value"], at)
        else:
            facts.values[key] = _number(entry["value"], figure, at)
        facts.sources[key] = text_of(entry, "source", at)
        if figure is not None:
            facts.alternatives[key] = _alternatives(entry.get("alternatives", []), figure, at)
    return facts


def text_of(content: Mapping[str, object], key: str, where: str) -> str:
    """The text under a key. Raises CatalogueFileError when it is none."""
    value = content.get(key)
    if not isinstance(value, str) or not value.strip():
        raise CatalogueFileError(
            f"{where}: {key} must be text, but got {short_repr(value)}; write it in quotes"
        )
    return value


def texts_of(value: object, key: str, where: str) -> tuple[str, ...]:
    """A list of texts. Raises CatalogueFileError when it is none."""
    if not isinstance(value, list):
        raise CatalogueFileError(
            f"{where}: {key} must be a list of texts, but got {short_repr(value)}; write '- text'"
        )
    for item in value:
        if not isinstance(item, str):
            raise CatalogueFileError(
                f"{where}: each of {key} must be text, but got {short_repr(item)}; write it in quotes"
            )
    return tuple(value)


def _entry(content: object, at: str) -> dict[str, object]:
    entry = text_keys(content, at)
    if "value" not in entry or not set(entry) <= {"value", "source", "alternatives"}:
        raise CatalogueFileError(
            f"{at} must have value, source and optionally alternatives, but got "
            f"{', '.join(entry) or 'nothing'}; write `{{value: ..., source: ...}}`"
        )
    return entry


def _flag(value: object, at: str) -> bool:
    if not isinstance(value, bool):
        raise CatalogueFileError(
            f"{at} must be true or false, but got {short_repr(value)}; write one of them"
        )
    return value


def _number(value: object, figure: Figure, at: str) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise CatalogueFileError(
            f"{at} must be a number of {figure.unit}, but got {short_repr(value)}; "
            "write digits such as 1.5 or 1.0e+3"
        )
    if isinstance(value, float) and not math.isfinite(value):
        raise CatalogueFileError(
            f"{at} must be a finite number of {figure.unit}, but got {value}; write the figure"
        )
    if not figure.low <= value <= figure.high:
        raise CatalogueFileError(
            f"{at} must lie between {figure.low:g} and {figure.high:g} {figure.unit}, "
            f"but got {short_repr(value)}; check the unit, and leave out what is not known"
        )
    if figure.key == "scale_up_domain" and value != int(value):
        raise CatalogueFileError(
            f"{at} must be a whole number of devices, but got {value}; count the devices"
        )
    return value


def _alternatives(content: object, figure: Figure, at: str) -> list[Alternative]:
    if not isinstance(content, list):
        raise CatalogueFileError(
            f"{at} must have a list of alternatives, but got {short_repr(content)}; write '- ...'"
        )
    found = []
    for item in content:
        entry = text_keys(item, f"{at}: an alternative")
        if entry.get("value") is None:
            raise CatalogueFileError(f"{at}: an alternative must have a value, but got null; remove it")
        value = _number(entry["value"], figure, f"{at}: an alternative")
        found.append(Alternative(figure.si(value), text_of(entry, "source", f"{at}: an alternative")))
    return found


def check_consistency(values: Mapping[str, int | float | bool | None], where: str) -> None:
    """Relations between figures that a slip of units breaks."""

    def at_most(low: str, high: str, slack: float = 1.0) -> None:
        a, b = values.get(low), values.get(high)
        if a is not None and b is not None and a > b * slack:
            raise CatalogueFileError(
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
    flops, rate = values.get("bf16_tflops"), values.get("memory_tb_per_s")
    if flops is not None and rate is not None and not 1 <= flops / rate <= 10_000:
        raise CatalogueFileError(
            f"{where}: bf16_tflops / memory_tb_per_s must lie between 1 and 10000 FLOP per byte, but got "
            f"{flops} / {rate}; check both units"
        )


LABEL_SLACK = 1.1
"""Usable bytes over the label: a label that counts GiB is 2^30 / 10^9 = 1.074 times its decimal reading,
and some are rounded down besides."""
