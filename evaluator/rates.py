"""A device's rates under a setting: the published limits, or what today's kernels reach of them."""

from __future__ import annotations

from dataclasses import dataclass

from catalogue.devices import Device
from catalogue.efficiency import PHYSICAL, Efficiency, efficiency_for
from evaluator.errors import ScenarioError

SETTINGS = ("physical", "achievable")


@dataclass(frozen=True, slots=True)
class Rates:
    """A device with the fractions and latencies of one setting."""

    device: Device
    efficiency: Efficiency
    setting: str

    def flops_per_second(self, rate: str, attention: bool) -> float:
        """Matrix rate. A format that the device lacks runs at the next wider one; f32 as TF32, half BF16."""
        if rate == "f32":
            return self.flops_per_second("bf16", attention) / 2
        peaks = self.device.flops_per_second
        chain = {"fp4": ("fp4", "fp8", "bf16"), "fp8": ("fp8", "bf16"), "int8": ("int8", "bf16")}.get(
            rate, ("bf16",)
        )
        name = next(n for n in chain if n in peaks)
        if attention and self.setting == "achievable":
            return peaks["bf16"] * self.efficiency.attention_flops_fraction * (peaks[name] / peaks["bf16"])
        return peaks[name] * self.efficiency.gemm_flops_fraction[name]

    def memory_bytes_per_second(self, kind: str, rate: str) -> float:
        """Memory rate for a class (weight, expert, state, activation) in a kernel of a matrix rate."""
        e = self.efficiency
        if kind == "expert":
            fraction = e.grouped_weight_stream_fraction
        elif kind == "weight":
            fraction = e.weight_stream_fraction.get(rate, e.weight_stream_fraction["bf16"])
        else:
            fraction = e.stream_fraction
        return self.device.memory_bytes_per_second * fraction

    @property
    def vector_per_second(self) -> float:
        # The published rate counts a fused multiply-add as two, so this is a bound for other operations.
        return self.device.vector_flops_per_second * self.efficiency.vector_flops_fraction

    @property
    def exponentials_per_second(self) -> float | None:
        rate = self.device.exp_per_second
        return None if rate is None else rate * self.efficiency.exp_fraction

    @property
    def up_bytes_per_second(self) -> float:
        return self.device.scale_up_bytes_per_second * self.efficiency.scale_up_fraction

    @property
    def reduce_bytes_per_second(self) -> float:
        """Scale-up rate of an all-reduce: in the switches, where they reduce."""
        if not self.device.in_network_reduction:
            return self.up_bytes_per_second
        return self.device.scale_up_bytes_per_second * self.efficiency.in_network_all_reduce_fraction

    @property
    def far_bytes_per_second(self) -> float:
        return self.device.scale_out_bytes_per_second * self.efficiency.scale_out_fraction


def rates_for(device: Device, setting: str) -> Rates:
    """Rates of a device. Raises ScenarioError for an unknown setting."""
    if setting not in SETTINGS:
        raise ScenarioError(f"a setting must be physical or achievable, but got {setting!r}")
    return Rates(device, PHYSICAL if setting == "physical" else efficiency_for(device), setting)
