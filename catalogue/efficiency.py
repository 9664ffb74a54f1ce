"""What today's software reaches of a device's limits: fractions of peak and latencies, with spreads."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from catalogue.devices import FAMILIES, FORMATS, Device
from catalogue.errors import CatalogueFileError, nearest
from catalogue.yaml_file import read_yaml, text_keys

_BY_FORMAT = ("gemm_flops_fraction", "weight_stream_fraction")
_FRACTIONS = (
    "attention_flops_fraction",
    "vector_flops_fraction",
    "exp_fraction",
    "stream_fraction",
    "grouped_weight_stream_fraction",
    "scale_up_fraction",
    "in_network_all_reduce_fraction",
    "scale_out_fraction",
    "host_fraction",
)
_LATENCIES = (
    "scale_up_latency_seconds",
    "scale_up_dispatch_latency_seconds",
    "scale_out_latency_seconds",
    "kernel_gap_seconds",
    "kernel_floor_seconds",
    "kernel_barrier_seconds",
)
_KEYS = (*(f"{name}.{form}" for name in _BY_FORMAT for form in FORMATS), *_FRACTIONS, *_LATENCIES)


@dataclass(frozen=True)
class Efficiency:
    """Fractions in (0, 1] of a Device's rates, and latencies in seconds that come on top.

    `sources`, `spreads` (lowest, highest) and `scopes` are keyed by field, with the format after a dot:
    `gemm_flops_fraction.fp8`. A time predicted with these values has a spread and is not a bound.
    """

    gemm_flops_fraction: Mapping[str, float]
    """Of `flops_per_second`, by format, for large matrix products."""
    attention_flops_fraction: float
    """Of the BF16 peak, for prefill attention in any format."""
    vector_flops_fraction: float
    exp_fraction: float
    weight_stream_fraction: Mapping[str, float]
    """Of the memory bandwidth, by weight format, for dense products at small batch."""
    stream_fraction: float
    """Of the memory bandwidth, for large contiguous reads: KV cache, activations."""
    grouped_weight_stream_fraction: float
    """Of the memory bandwidth, for the weights of a grouped expert product."""
    scale_up_fraction: float
    """Of the scale-up rate, for collectives and all-to-all, by the bytes that a rank sends or receives."""
    in_network_all_reduce_fraction: float
    """Of the scale-up rate, for an all-reduce in the switches, N bytes out and N in for N bytes of data."""
    scale_out_fraction: float
    host_fraction: float
    scale_up_latency_seconds: float
    """Per all-reduce, all-gather or reduce-scatter of a scale-up domain."""
    scale_up_dispatch_latency_seconds: float
    """Per expert dispatch or combine within a scale-up domain."""
    scale_out_latency_seconds: float
    """Per message or dispatch over the scale-out network."""
    kernel_gap_seconds: float
    """Between dependent kernels of a graph."""
    kernel_floor_seconds: float
    """The shortest time that a kernel with real work takes."""
    kernel_barrier_seconds: float
    """A wait of all blocks inside one kernel."""
    sources: Mapping[str, str] = field(repr=False)
    spreads: Mapping[str, tuple[float, float]] = field(repr=False)
    scopes: Mapping[str, str] = field(repr=False)
    """What an entry holds for: `default`, `families.hopper`, `devices.gb300-nvl72`."""


@dataclass(frozen=True)
class _Entry:
    value: float
    spread: tuple[float, float]
    source: str
    scope: str = ""


def efficiency_for(device: Device) -> Efficiency:
    """The achievable efficiency of a device: its own entries, over its family's, over the defaults."""
    table = _table()
    entries = {
        **table["default"],
        **table.get(f"families.{device.family}", {}),
        **table.get(f"devices.{device.chip}", {}),
    }
    return _efficiency(entries)


def _efficiency(entries: Mapping[str, _Entry]) -> Efficiency:
    def by_format(name: str) -> dict[str, float]:
        return {form: entries[f"{name}.{form}"].value for form in FORMATS}

    return Efficiency(
        gemm_flops_fraction=by_format("gemm_flops_fraction"),
        weight_stream_fraction=by_format("weight_stream_fraction"),
        **{key: entries[key].value for key in (*_FRACTIONS, *_LATENCIES)},
        sources={key: entry.source for key, entry in entries.items()},
        spreads={key: entry.spread for key, entry in entries.items()},
        scopes={key: entry.scope for key, entry in entries.items()},
    )


@cache
def _table() -> Mapping[str, Mapping[str, _Entry]]:
    """The entries of efficiency.yaml by `default`, `families.<family>` and `devices.<name>`."""
    path = files("catalogue") / "efficiency.yaml"
    content = read_yaml(path)
    found = {"default": _entries(content.get("default"), "default")}
    for missing in sorted(set(_KEYS) - set(found["default"])):
        raise CatalogueFileError(f"efficiency.yaml: default must have {missing}, but it is missing; add it")
    for group in ("families", "devices"):
        members = text_keys(content.get(group), f"efficiency.yaml: {group}")
        for name, entries in members.items():
            if group == "families" and name not in FAMILIES:
                raise CatalogueFileError(
                    f"efficiency.yaml: a family must be one of {', '.join(FAMILIES)}, "
                    f"but got {name!r}; rename it"
                )
            found[f"{group}.{name}"] = _entries(entries, f"{group}.{name}")
    return MappingProxyType(found)


def _entries(content: object, scope: str) -> dict[str, _Entry]:
    found, where = {}, f"efficiency.yaml: {scope}"
    for key, item in text_keys(content, where).items():
        at = f"{where}: {key}"
        if key not in _KEYS:
            raise CatalogueFileError(f"{where} must have known keys, but got {key!r}{nearest(key, _KEYS)}")
        found[key] = replace(_entry(text_keys(item, at), key in _LATENCIES, at), scope=scope)
    return found


def _entry(item: Mapping[str, object], latency: bool, at: str) -> _Entry:
    value, spread, source = item.get("value"), item.get("spread"), item.get("source")
    if not isinstance(source, str) or not source.strip():
        raise CatalogueFileError(
            f"{at} must have a source, but got {source!r}; say where the value comes from"
        )
    low, high = spread if isinstance(spread, list) and len(spread) == 2 else (None, None)
    numbers = [number for number in (low, value, high) if isinstance(number, float) and math.isfinite(number)]
    if len(numbers) != 3 or not 0 < numbers[0] <= numbers[1] <= numbers[2] <= (1e-3 if latency else 1):
        what = "seconds up to 1.0e-3" if latency else "a fraction up to 1.0"
        raise CatalogueFileError(
            f"{at} must be {what} within its spread, 0 < low <= value <= high, "
            f"but got {value!r} in {spread!r}; correct the entry"
        )
    return _Entry(numbers[1], (numbers[0], numbers[2]), source)


_FULL_RATE = _Entry(1.0, (1.0, 1.0), "physical limit: the published rate")
_NO_LATENCY = _Entry(0.0, (0.0, 0.0), "physical limit: no latency")
PHYSICAL = _efficiency({key: _NO_LATENCY if key in _LATENCIES else _FULL_RATE for key in _KEYS})
"""The bound's setting: every rate in full, no latency."""
