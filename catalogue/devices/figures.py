"""The figures of a device file: their keys, units, and the range in which a value is believable."""

from dataclasses import dataclass
from fractions import Fraction

TERA = Fraction(10**12)
GIGA = Fraction(10**9)
MEBI = Fraction(2**20)
ONE = Fraction(1)


@dataclass(frozen=True)
class Figure:
    """One number of a device file. `scale` turns the file's unit into the field's SI base unit."""

    key: str
    field: str
    unit: str
    scale: Fraction
    low: float
    high: float

    def si(self, value: int | float) -> float:
        """`value`, given in the file's unit, in the SI base unit; rounded once."""
        return float(Fraction(str(value)) * self.scale)


# Ranges are wide enough for any accelerator on sale or announced, and narrow enough to catch a wrong prefix.
FIGURES = (
    Figure("bf16_tflops", "flops_per_second.bf16", "TFLOP/s", TERA, 0.1, 1e6),
    Figure("fp8_tflops", "flops_per_second.fp8", "TFLOP/s", TERA, 0.1, 1e6),
    Figure("fp6_tflops", "flops_per_second.fp6", "TFLOP/s", TERA, 0.1, 1e6),
    Figure("fp4_tflops", "flops_per_second.fp4", "TFLOP/s", TERA, 0.1, 1e6),
    Figure("int8_tops", "flops_per_second.int8", "TOP/s", TERA, 0.1, 1e6),
    Figure("vector_fp32_tflops", "vector_flops_per_second", "TFLOP/s", TERA, 0.1, 1e5),
    Figure("exp_tera_per_s", "exp_per_second", "10^12 per second", TERA, 0.01, 1e4),
    Figure("nominal_memory_gb", "memory_bytes", "GB", GIGA, 0.1, 1e5),
    Figure("usable_memory_gb", "memory_bytes", "GB", GIGA, 0.1, 1e5),
    Figure("memory_tb_per_s", "memory_bytes_per_second", "TB/s", TERA, 0.01, 1e5),
    Figure("l2_cache_mib", "onchip_bytes", "MiB", MEBI, 0.1, 1e5),
    Figure("onchip_total_mib", "onchip_total_bytes", "MiB", MEBI, 0.1, 1e5),
    Figure("scale_up_gb_per_s", "scale_up_bytes_per_second", "GB/s", GIGA, 1, 1e5),
    Figure("scale_up_pair_gb_per_s", "scale_up_pair_bytes_per_second", "GB/s", GIGA, 1, 1e5),
    Figure("scale_up_domain", "scale_up_domain", "devices", ONE, 1, 1e6),
    Figure("scale_out_gb_per_s", "scale_out_bytes_per_second", "GB/s", GIGA, 0.1, 1e4),
    Figure("host_gb_per_s", "host_bytes_per_second", "GB/s", GIGA, 0.1, 1e5),
    Figure("host_memory_gb", "host_memory_bytes", "GB", GIGA, 1, 1e6),
    Figure("power_watts", "power_watts", "W", ONE, 1, 1e6),
    Figure("price_usd_per_hour", "price_dollars_per_hour", "USD/h", ONE, 0.01, 1e4),
    Figure("owner_cost_usd_per_hour", "owner_cost_dollars_per_hour", "USD/h", ONE, 0.01, 1e4),
)  # fmt: skip

IN_NETWORK_REDUCTION = "in_network_reduction"
"""The one figure that is true or false."""

CAPACITY = ("nominal_memory_gb", "usable_memory_gb")
"""The figures of which a device must have one; every other may be unknown."""
