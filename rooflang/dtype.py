"""Storage formats: how many bits an element takes, scales included, and at which rate it multiplies.

`index<V>` is the format of an integer that names a position of dimension V.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from rooflang.errors import DesignError, nearest


@dataclass(frozen=True, slots=True)
class Format:
    """One storage format. `bits` per element with its scales; `rate` is the matrix-unit class."""

    name: str
    bits: Fraction
    rate: str
    source: str

    @property
    def bytes(self) -> Fraction:
        return self.bits / 8


# Matrix-unit classes from narrow to wide: a product runs at the wider operand's class.
RATES: tuple[str, ...] = ("fp4", "fp8", "int8", "bf16", "f32")

_FORMATS = (
    Format("f32", Fraction(32), "f32", "IEEE 754"),
    Format("bf16", Fraction(16), "bf16", "bfloat16"),
    Format(
        "fp8", Fraction(8), "fp8", "OCP e4m3; one scale per 128x128 block is below 0.03 % and not counted"
    ),
    Format("int8", Fraction(8), "int8", "two's complement"),
    Format("mxfp4", Fraction(17, 4), "fp4", "OCP e2m1 with one e8m0 scale per 32 elements"),
    Format("nvfp4", Fraction(9, 2), "fp4", "e2m1 with one e4m3 scale per 16 elements"),
    Format("mxfp8", Fraction(33, 4), "fp8", "OCP e4m3 with one e8m0 scale per 32 elements"),
    Format("int4", Fraction(33, 8), "fp8", "int4 with one bf16 scale per 128, widened to multiply"),
    Format("int4_64", Fraction(17, 4), "fp8", "int4 with one bf16 scale per 64, widened to multiply"),
    Format("int4_32", Fraction(9, 2), "fp8", "int4 with one bf16 scale per 32, widened to multiply"),
    Format("int8_row", Fraction(8), "int8", "int8 with one scale per output channel, which is not counted"),
    Format("int32", Fraction(32), "f32", "two's complement"),
    Format(
        "v4_row", Fraction(584 * 8, 512), "bf16", "448 fp8 + 64 bf16 RoPE + 7 e8m0 + 1 pad = 584 B per 512"
    ),
    Format(
        "ds_mla_row", Fraction(656 * 8, 576), "bf16", "512 fp8 + 4 f32 scales + 64 bf16 RoPE = 656 B per 576"
    ),
    Format("fp8_key", Fraction(132 * 8, 128), "fp8", "128 fp8 + one f32 scale = 132 B per 128"),
)
_BY_NAME = {f.name: f for f in _FORMATS}


def format_of(name: str) -> Format:
    """The format of that name. Raises DesignError for an unknown one."""
    if name.startswith("index<"):
        return Format(name, Fraction(32), "f32", "int32 position")
    found = _BY_NAME.get(name)
    if found is None:
        raise DesignError(f"a storage format must be known, but got {name!r}{nearest(name, list(_BY_NAME))}")
    return found


def index_dim(name: str) -> str | None:
    """The dimension that an index format points into: `index<V>` gives `V`."""
    return name[6:-1] if name.startswith("index<") and name.endswith(">") else None


def product_rate(names: list[str]) -> str:
    """The matrix-unit class of a product: that of its widest operand."""
    ranks = [RATES.index(format_of(n).rate) for n in names]
    return RATES[max(ranks)] if ranks else "bf16"


def format_names() -> tuple[str, ...]:
    return tuple(_BY_NAME)
