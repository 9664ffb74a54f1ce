"""Mamba-2 (Nemotron-H, Nemotron-3): a state-space layer whose input and output maps serve groups of heads.

S <- exp(-exp(A) · dt) · S + B ⊗ (dt · x) and y = C · S + D · x, with dt = softplus(a + shift): B are the keys
and C the queries of a group HK, x the values of its heads HV. The result is gated by silu and then normed
over each group. Source: arXiv 2405.21060 and the `nemotron_h` model of the transformers library.
"""

from __future__ import annotations

from catalogue.architecture import Mamba2
from catalogue.models.blocks import Block
from catalogue.models.context import Context
from catalogue.models.recurrence import closed, convolved, decayed, project, recur


def write(b: Block, m: Mamba2, h: str, ctx: Context) -> str:
    """The mixed value of width D."""
    share = m.heads // m.groups
    groups, per, n, p = (
        ctx.dim(stem, size)
        for stem, size in (("HK", m.groups), ("HV", share), ("CK", m.state), ("CV", m.head_dim))
    )
    heads, whole = f"{groups} {per}", ctx.dim("HC", share * m.head_dim)
    x, stored = ctx.operand(b, h, "D", ctx.formats.mixer), ctx.formats.mixer.weights
    shapes = {
        "z": f"{heads} {p}",
        "v": f"{heads} {p}",
        "k": f"{groups} {n}",
        "q": f"{groups} {n}",
        "a": heads,
    }
    with b.kernel():
        made = {
            name: project(b, x, stored, f"{name}: f32" if name == "a" else name, dims, m.bias)
            for name, dims in shapes.items()
        }
    with b.kernel():
        q, k, v = (convolved(b, made[s], shapes[s], m.conv, ctx, m.conv_bias) for s in ("q", "k", "v"))
    b.weight("f32", heads, "dt", "skip")
    with b.kernel():
        _, decay = decayed(b, made["a"], heads)
        b.let("stepped", f"mul({v}, step)")
        read = recur(b, heads, (n, p), f"{k}, stepped, {decay}", q)
        b.let("passed: bf16", f"mul({v}, skip)")
        o = b.let("o_s", f"add({read}, passed)")
    b.weight(ctx.norms, f"{groups} {whole}", "o_gain")
    with b.kernel():
        b.let("open", f"silu({made['z']})")
        b.let("o_g", f"mul({o}, open)")
        b.let("flat", f"merge(o_g over {per} -> B Q {groups} {whole})")
        b.let("o_n", f"norm(flat over {whole}, o_gain)", eps=ctx.epsilon)
        ctx.operand(b, "o_n", whole, ctx.output)
    y = closed(b, "o_n", f"{groups} {whole}", whole, ctx)
    if m.bias:
        b.weight("bf16", "D", "o_bias")
        y = b.let("y_b", f"add({y}, o_bias)")
    return y
