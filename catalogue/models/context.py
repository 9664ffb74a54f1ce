"""What the writers of a layer's parts share: names of dimensions, formats, and how values are rounded.

A writer of a mixer is `write(b, mixer, h, ctx) -> str`: into the block `b` it writes what the mixer makes of
the normed input `h` of width D, and gives back the name of the result of width D, before the residual.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from catalogue.architecture import Format, Formats
from catalogue.models.blocks import Block, Model
from rooflang.design import Op
from rooflang.size import Size, SizeLike, as_size

# Elements per scale of an activation, where it is not 128.
_BLOCKS = {"nvfp4": 16, "mxfp4": 32, "mxfp8": 32}


@dataclass(slots=True)
class Dims:
    """Names of dimensions, given out by size: a stem that is taken by another size gets a number."""

    model: Model

    def __call__(self, stem: str, size: SizeLike) -> str:
        """The name of the dimension of this stem and size: `K`, or `K2` where `K` has another size."""
        wanted: Size = as_size(size)
        name, number = stem, 2
        while self.model.dims.get(name, wanted) != wanted:
            name, number = f"{stem}{number}", number + 1
        self.model.dims[name] = wanted
        return name


@dataclass(frozen=True, slots=True)
class Context:
    """The surroundings of one layer's part.

    `dim` names dimensions; `cache`, `norms` and `router` are formats of caches, gains and routers; `served`
    tells whether caches are stored as engines serve them.
    """

    dim: Dims
    formats: Formats
    epsilon: float
    norms: str = "bf16"
    cache: str = "bf16"
    served: bool = True
    router: str = "bf16"
    norm_bias: bool = False
    post_norms: bool = False

    @property
    def output(self) -> Format:
        """The format of a mixer's output projection."""
        return self.formats.output or self.formats.mixer

    def size(self, name: str) -> int:
        """The size of a dimension that is a number."""
        return int(self.dim.model.dims[name].at())

    def norm(self, b: Block, x: str, over: str, result: str, gain: str = "") -> str:
        """RMS norm over a dimension, with a learned gain of this name if one is given."""
        if not gain:
            return b.let(result, f"norm({x} over {over})", eps=self.epsilon)
        b.weight(self.norms, over, gain)
        if not (self.norm_bias and over == "D"):
            return b.let(result, f"norm({x} over {over}, {gain})", eps=self.epsilon)
        b.weight(self.norms, over, f"{gain}_bias")
        b.let(f"{result}_c", f"norm({x} over {over}, {gain})", eps=self.epsilon)
        return b.let(result, f"add({result}_c, {gain}_bias)")

    def operand(self, b: Block, x: str, over: str, format: Format) -> str:
        """The activation `x` as products with weights of this format read it: rounded, or as it is.

        Rounded once for all products of the section, with a scale per block of the format.
        """
        dtype = format.activations
        if dtype in ("bf16", "f32"):
            return x
        name = f"{x}{'4' if 'fp4' in dtype else '8'}"
        if not made(b, name):
            block = gcd(self.size(over), _BLOCKS.get(dtype, 128))
            b.let(f"{name}: {dtype}", f"quantize({x} over {over})", block=block)
        return name

    def stored(self, b: Block, x: str, over: str, dtype: str) -> str:
        """The value as its cache keeps it: rounded where the format is narrower than bf16."""
        if dtype in ("bf16", "f32"):
            return x
        return b.let(f"{x}_q: {dtype}", f"quantize({x} over {over})", block=gcd(self.size(over), 128))


def made(b: Block | None, name: str) -> bool:
    """Whether the section of `b`, or one around it, has already made this value."""
    while b is not None:
        if any(isinstance(s, Op) and s.result == name for s in b.statements):
            return True
        b = b.parent
    return False
