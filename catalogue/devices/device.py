"""A device: what one accelerator can do at most, in SI base units, with the source of every figure."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from hashlib import sha256
from typing import Any

FORMATS = ("bf16", "fp8", "fp6", "fp4", "int8")
"""Number formats of tensor cores that a device may have a rate for."""

FAMILIES = (
    "ampere", "ada", "hopper", "blackwell", "blackwell-ultra", "blackwell-rtx", "rubin",
    "cdna3", "cdna4", "cdna5", "rdna", "tpu", "neuron", "gaudi", "ascend", "lpu", "wafer", "apple", "other",
)  # fmt: skip
"""Architecture families; measured efficiencies are given per family."""

LABELS = {
    "flops_per_second.bf16": "BF16 matrix rate",
    "flops_per_second.fp8": "FP8 matrix rate",
    "flops_per_second.fp6": "FP6 matrix rate",
    "flops_per_second.fp4": "FP4 matrix rate",
    "flops_per_second.int8": "INT8 matrix rate",
    "vector_flops_per_second": "vector rate",
    "exp_per_second": "exponential rate",
    "memory_bytes": "memory",
    "memory_bytes_per_second": "memory bandwidth",
    "onchip_bytes": "L2 cache",
    "onchip_total_bytes": "on-chip storage",
    "scale_up_bytes_per_second": "scale-up rate",
    "scale_up_pair_bytes_per_second": "scale-up rate of a pair",
    "scale_up_domain": "scale-up domain",
    "in_network_reduction": "reduction in the network",
    "scale_out_bytes_per_second": "scale-out rate",
    "host_bytes_per_second": "rate of the host link",
    "host_memory_bytes": "host memory",
    "power_watts": "power",
    "price_dollars_per_hour": "rental price",
    "owner_cost_dollars_per_hour": "owner's cost",
}
"""What the figures are called in sentences, by field."""


@dataclass(frozen=True)
class Alternative:
    """Another published value of a figure, in the unit of the field that it belongs to."""

    value: float
    source: str


@dataclass(frozen=True)
class Device:
    """The published limits of one accelerator; None is a figure that is not known.

    Rates are dense (no 2:4 sparsity) and per device; links are given in one direction. `sources`,
    `alternatives` and `unknown` are keyed by field name, with the format after a dot:
    `flops_per_second.fp8`.
    """

    name: str
    title: str
    family: str
    flops_per_second: Mapping[str, float]
    """Tensor-core rate by format, of `FORMATS`. A format that the device lacks is absent here and in
    `unknown`; one that it has at an unknown rate is in `unknown`."""
    vector_flops_per_second: float | None
    """FP32 rate outside the tensor cores."""
    exp_per_second: float | None
    """Exponentials per second."""
    memory_bytes: int
    """What a program can use, where known; otherwise the vendor's label."""
    memory_bytes_per_second: float | None
    onchip_bytes: int | None
    """L2 cache, or the memory on the chip that software manages in its place."""
    onchip_total_bytes: int | None
    """Upper bound of all storage on the package but its memory: caches, shared memory, registers.

    The credit that keeps a bound sound. Where unknown, the L2 cache, which is then no upper bound."""
    scale_up_bytes_per_second: float | None
    scale_up_pair_bytes_per_second: float | None
    """Between one pair of devices; below the rate above in a mesh without a switch."""
    scale_up_domain: int | None
    """Devices that reach each other over the scale-up links."""
    in_network_reduction: bool | None
    """Whether switches of the scale-up fabric reduce (NVLink SHARP)."""
    scale_out_bytes_per_second: float | None
    host_bytes_per_second: float | None
    host_memory_bytes: int | None
    """Host memory per device."""
    power_watts: float | None
    """Rated power of the device alone."""
    price_dollars_per_hour: float | None
    """Low end of published rentals: see its source."""
    owner_cost_dollars_per_hour: float | None
    """Cost to a GPU cloud that owns the device: one basis for all devices."""
    sources: Mapping[str, str] = field(repr=False)
    alternatives: Mapping[str, tuple[Alternative, ...]] = field(repr=False)
    unknown: Mapping[str, str] = field(repr=False)
    """Why a figure has no value, for every field that is None and every format of unknown rate."""
    notes: tuple[str, ...] = field(repr=False)
    chip: str = ""
    """Name of the device that a system is made of; its own name otherwise."""

    def __post_init__(self) -> None:
        if not self.chip:
            object.__setattr__(self, "chip", self.name)

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 (hex) of the name, family and figures; sources and notes do not change it."""
        prose = ("title", "sources", "alternatives", "unknown", "notes")
        facts = {item.name: getattr(self, item.name) for item in fields(self) if item.name not in prose}
        facts["unknown"] = sorted(self.unknown)
        text = json.dumps(facts, sort_keys=True, default=dict, allow_nan=False)
        return sha256(text.encode()).hexdigest()

    def __hash__(self) -> int:
        return hash(self.content_hash)

    def lacks(self, key: str) -> str:
        """`tpu-8t has no known scale-up rate (not published)`, for the key of an unknown figure."""
        return f"{self.name} has no known {LABELS[key]} ({self.unknown.get(key, 'not published')})"

    def scaled(self, name: str, factor: float) -> "Device":
        """The device with one of its rates multiplied; a rate that is unknown stays unknown."""
        value: Any = getattr(self, name)
        if value is None:
            return self
        if isinstance(value, Mapping):
            value = {form: rate * factor for form, rate in value.items()}
        else:
            value = value * factor
        changed: dict[str, Any] = {name: value}
        return replace(self, **changed)
