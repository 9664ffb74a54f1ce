"""A device: what one accelerator can do at most, in SI base units, with the source of every figure."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from hashlib import sha256

FORMATS = ("bf16", "fp8", "fp6", "fp4", "int8")
"""Number formats of tensor cores that a device may have a rate for."""

FAMILIES = ("hopper", "blackwell", "blackwell-ultra", "cdna4", "other")
"""Architecture families; measured efficiencies are given per family."""


@dataclass(frozen=True)
class Alternative:
    """Another published value of a figure, in the unit of the field that it belongs to."""

    value: float
    source: str


@dataclass(frozen=True)
class Device:
    """The published limits of one accelerator.

    Rates are dense (no 2:4 sparsity) and per device; links are given in one direction. `sources` and
    `alternatives` are keyed by field name, with the format after a dot: `flops_per_second.fp8`.
    """

    name: str
    title: str
    family: str
    flops_per_second: Mapping[str, float]
    """Tensor-core rate by format, of `FORMATS`; a format that the device lacks is absent."""
    vector_flops_per_second: float
    """FP32 rate outside the tensor cores."""
    exp_per_second: float | None
    """Exponentials per second; None where not published."""
    memory_bytes: int
    """What a program can use, where known; otherwise the vendor's label."""
    memory_bytes_per_second: float
    onchip_bytes: int
    """L2 cache."""
    onchip_total_bytes: int
    """Upper bound of all storage on the package but its memory: caches, shared memory, registers.

    The credit that keeps a bound sound. Where unknown, the L2 cache, which is then no upper bound."""
    scale_up_bytes_per_second: float
    scale_up_pair_bytes_per_second: float
    """Between one pair of devices; below the rate above in a mesh without a switch."""
    scale_up_domain: int
    """Devices that reach each other over the scale-up links."""
    in_network_reduction: bool
    """Whether switches of the scale-up fabric reduce (NVLink SHARP)."""
    scale_out_bytes_per_second: float
    host_bytes_per_second: float
    host_memory_bytes: int
    """Host memory per device."""
    power_watts: float
    price_dollars_per_hour: float | None
    """Low end of published rentals, or an owner's cost where none is known: see its source."""
    owner_cost_dollars_per_hour: float | None
    """Cost to a GPU cloud that owns the device: one basis for all devices."""
    sources: Mapping[str, str] = field(repr=False)
    alternatives: Mapping[str, tuple[Alternative, ...]] = field(repr=False)
    notes: tuple[str, ...] = field(repr=False)

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 (hex) of the name, family and figures; sources and notes do not change it."""
        prose = ("title", "sources", "alternatives", "notes")
        facts = {item.name: getattr(self, item.name) for item in fields(self) if item.name not in prose}
        text = json.dumps(facts, sort_keys=True, default=dict, allow_nan=False)
        return sha256(text.encode()).hexdigest()

    def __hash__(self) -> int:
        return hash(self.content_hash)
