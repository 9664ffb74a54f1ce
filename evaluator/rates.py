"""A device's rates under a setting: the published limits, or what today's kernels reach of them.

A rate is None where the device's figure is not known.
"""

from __future__ import annotations

from dataclasses import dataclass

from catalogue.devices import Device
from catalogue.efficiency import PHYSICAL, Efficiency, efficiency_for
from evaluator.errors import ScenarioError

SETTINGS = ("physical", "achievable")

_WIDER = {"fp4": ("fp4", "fp8", "bf16"), "fp8": ("fp8", "bf16"), "int8": ("int8", "bf16")}
"""The formats in which products of a format may run: a device that lacks one takes the next wider."""


@dataclass(frozen=True, slots=True)
class Rates:
    """A device with the fractions and latencies of one setting."""

    device: Device
    efficiency: Efficiency
    setting: str

    def runs_as(self, rate: str) -> str:
        """The format in which products of a matrix rate run: the narrowest that the device has."""
        d = self.device
        for name in _WIDER.get(rate, ()):
            if name in d.flops_per_second or f"flops_per_second.{name}" in d.unknown:
                return name
        return "bf16"

    def flops_per_second(self, rate: str, attention: bool) -> float | None:
        """Matrix rate. A format that the device lacks runs at the next wider one; f32 as TF32, half BF16."""
        name = self.runs_as(rate)
        peak = self.device.flops_per_second.get(name)
        if peak is None:
            return None
        if rate == "f32":
            peak /= 2
        if attention and self.setting == "achievable":
            return peak * self.efficiency.attention_flops_fraction
        return peak * self.efficiency.gemm_flops_fraction[name]

    def memory_fraction(self, kind: str, rate: str) -> float:
        """Of the memory bandwidth, for a class (weight, expert, state, activation) in a kernel of a rate."""
        e = self.efficiency
        if kind == "expert":
            return e.grouped_weight_stream_fraction
        if kind == "weight":
            return e.weight_stream_fraction.get(rate, e.weight_stream_fraction["bf16"])
        return e.stream_fraction

    @property
    def onchip_seconds(self) -> float:
        """Memory time that storage on the chip can save per micro-batch; none where it is not known."""
        return self._memory_seconds(self.device.onchip_total_bytes)

    @property
    def prefetch_seconds(self) -> float:
        """Memory time of what can wait on the chip for a later kernel: a bound grants all storage there, a
        prediction the L2 cache, which alone keeps its content from kernel to kernel.
        """
        d = self.device
        return self._memory_seconds(d.onchip_total_bytes if self.setting == "physical" else d.onchip_bytes)

    def _memory_seconds(self, size: int | None) -> float:
        speed = self.device.memory_bytes_per_second
        return 0.0 if size is None or speed is None else size / speed

    @property
    def vector_per_second(self) -> float | None:
        # The published rate counts a fused multiply-add as two, so this is a bound for other operations.
        return _of(self.device.vector_flops_per_second, self.efficiency.vector_flops_fraction)

    @property
    def exponentials_per_second(self) -> float | None:
        return _of(self.device.exp_per_second, self.efficiency.exp_fraction)

    @property
    def domain(self) -> int:
        """Devices of a scale-up domain; one where it is not known, so that no link is taken for granted."""
        return self.device.scale_up_domain or 1

    @property
    def in_network(self) -> bool:
        """Whether the fabric reduces; where that is not known, a bound grants it, a prediction does not."""
        known = self.device.in_network_reduction
        return self.setting == "physical" if known is None else known

    @property
    def up_bytes_per_second(self) -> float | None:
        return _of(self.device.scale_up_bytes_per_second, self.efficiency.scale_up_fraction)

    @property
    def reduce_bytes_per_second(self) -> float | None:
        """Scale-up rate of an all-reduce: in the switches, where they reduce."""
        if not self.in_network:
            return self.up_bytes_per_second
        return _of(self.device.scale_up_bytes_per_second, self.efficiency.in_network_all_reduce_fraction)

    @property
    def far_bytes_per_second(self) -> float | None:
        return _of(self.device.scale_out_bytes_per_second, self.efficiency.scale_out_fraction)

    @property
    def host_bytes_per_second(self) -> float | None:
        return _of(self.device.host_bytes_per_second, self.efficiency.host_fraction)

    @property
    def reach(self) -> float:
        """Devices among which every transfer can be priced: one, a domain, or any number."""
        return _reach(self.device)[0]


def confined(device: Device, count: int) -> str:
    """Why replicas on `count` devices stay on fewer, such as `a replica is priced on at most 8 devices, since
    l40s has no known scale-out rate (not published)`; empty where every transfer has a known rate."""
    reach, key = _reach(device)
    if count <= reach:
        return ""
    devices = "one device" if reach == 1 else f"at most {reach:g} devices"
    return f"a replica is priced on {devices}, since {device.lacks(key)}"


def _reach(device: Device) -> tuple[float, str]:
    """Devices among which every transfer can be priced, and the figure without which it ends there."""
    d = device
    if d.scale_up_domain is None:
        return 1, "scale_up_domain"
    if d.scale_up_domain > 1 and d.scale_up_bytes_per_second is None:
        return 1, "scale_up_bytes_per_second"
    if d.scale_out_bytes_per_second is None:
        return d.scale_up_domain, "scale_out_bytes_per_second"
    return float("inf"), ""


def _of(rate: float | None, fraction: float) -> float | None:
    return None if rate is None else rate * fraction


def rates_for(device: Device, setting: str) -> Rates:
    """Rates of a device. Raises ScenarioError for an unknown setting."""
    if setting not in SETTINGS:
        raise ScenarioError(f"a setting must be physical or achievable, but got {setting!r}")
    return Rates(device, PHYSICAL if setting == "physical" else efficiency_for(device), setting)
