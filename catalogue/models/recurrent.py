"""Mixers with a fixed state in place of a cache: what they share, and which writer serves which.

Dimensions: HK heads of keys, HV heads of values that share each of them (left out where it is one), CK the
width of keys and queries, CV that of values; A taps of a short convolution, AW the rows that it keeps. The
recurrent state is f32, the convolution's rows are bf16, as engines store them.
"""

from __future__ import annotations

from catalogue.architecture import GatedDelta, KimiDelta, Lightning, Mamba2
from catalogue.models import recurrent_delta, recurrent_lightning, recurrent_mamba
from catalogue.models.blocks import Block
from catalogue.models.context import Context

Recurrent = GatedDelta | KimiDelta | Lightning | Mamba2


def write(b: Block, mixer: Recurrent, h: str, ctx: Context) -> str:
    """What the mixer makes of the normed input `h`: the name of a value of width D, before the residual."""
    match mixer:
        case GatedDelta():
            return recurrent_delta.gated(b, mixer, h, ctx)
        case KimiDelta():
            return recurrent_delta.kimi(b, mixer, h, ctx)
        case Lightning():
            return recurrent_lightning.write(b, mixer, h, ctx)
        case Mamba2():
            return recurrent_mamba.write(b, mixer, h, ctx)
