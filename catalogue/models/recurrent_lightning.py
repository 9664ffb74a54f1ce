"""Lightning attention (MiniMax-01 and M1): linear attention with one constant decay per head.

S <- exp(-slope) · S + k ⊗ v with silu on queries, keys and values; the result is normed over all heads
together and gated. Slopes fall geometrically over the heads and linearly over the layers: they are constants,
kept as integers of 2^-30. Source: arXiv 2501.08313 and the `minimax` model of the transformers library.
"""

from __future__ import annotations

from catalogue.architecture import Lightning
from catalogue.models.blocks import Block
from catalogue.models.context import Context
from catalogue.models.recurrence import closed, project, recur


def write(b: Block, m: Lightning, h: str, ctx: Context) -> str:
    """The attended value of width D."""
    heads, c = ctx.dim("HK", m.heads), ctx.dim("CK", m.head_dim)
    u, whole = ctx.dim("CV", m.head_dim), ctx.dim("HC", m.heads * m.head_dim)
    x, stored = ctx.operand(b, h, "D", ctx.formats.mixer), ctx.formats.mixer.weights
    with b.kernel():
        for name, width in (("q", c), ("k", c), ("v", u)):
            project(b, x, stored, name, f"{heads} {width}")
            b.let(f"{name}_u", f"silu({name})")
        project(b, x, stored, "z", f"{heads} {u}")
    b.weight("int32", heads, "slope")
    with b.kernel():
        b.let("log_decay: f32", "scale(slope)", by=-(2.0**-30))
        b.let("decay", "exp(log_decay)")
        o = recur(b, heads, (c, u), "k_u, v_u, decay", "q_u")
    with b.kernel():
        b.let("flat", f"merge({o} over {heads} -> B Q {whole})")
        ctx.norm(b, "flat", whole, "wide", "o_gain")
        b.let("o_n", f"split(wide over {whole} -> B Q {heads} {u})")
        b.let("open", "sigmoid(z)")
        b.let("o_g", "mul(o_n, open)")
        ctx.operand(b, "o_g", u, ctx.output)
    return closed(b, "o_g", f"{heads} {u}", u, ctx)
