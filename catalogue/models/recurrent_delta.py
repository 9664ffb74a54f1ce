"""Gated DeltaNet (Qwen3-Next and later) and Kimi delta attention: delta rules with a learned decay.

S <- decay · S + k ⊗ beta · (v - k · (decay · S)), with keys and queries of length 1, decay =
exp(-exp(A) · softplus(x + dt)), one per value head (Gated DeltaNet) or per channel of the keys (Kimi).
Sources: arXiv 2412.06464 and the `qwen3_next` model of the transformers library; arXiv 2510.26692 and
`kimi_linear`. Kimi-K3 bounds its log-decay from below; that costs no other work and is not written.
"""

from __future__ import annotations

from catalogue.architecture import GatedDelta, KimiDelta
from catalogue.models.blocks import Block
from catalogue.models.context import Context
from catalogue.models.recurrence import closed, convolved, decayed, project, recur


def gated(b: Block, m: GatedDelta, h: str, ctx: Context) -> str:
    """Gated DeltaNet: value heads HV share the key head HK; the output norm is gated by silu."""
    heads, share = ctx.dim("HK", m.key_heads), ctx.dim("HV", m.value_heads // m.key_heads)
    c, u = ctx.dim("CK", m.key_dim), ctx.dim("CV", m.value_dim)
    values, x, stored = (
        f"{heads} {share}",
        ctx.operand(b, h, "D", ctx.formats.mixer),
        ctx.formats.mixer.weights,
    )
    with b.kernel():
        project(b, x, stored, "q", f"{heads} {c}")
        project(b, x, stored, "k", f"{heads} {c}")
        project(b, x, stored, "v", f"{values} {u}")
        project(b, x, stored, "z", f"{values} {u}")
    with b.kernel():
        project(b, h, "bf16", "b", values)
        project(b, h, "bf16", "a: f32", values)
    q, k, v = _prepared(b, (f"{heads} {c}", f"{values} {u}"), c, m.conv, m.key_dim, ctx)
    b.weight("f32", values, "dt")
    with b.kernel():
        _, decay = decayed(b, "a", values)
        b.let("beta", "sigmoid(b)")
        o = recur(b, values, (c, u), f"{k}, {v}, {decay}, beta", q)
    return _output(b, o, "silu(z)", values, u, ctx)


def kimi(b: Block, m: KimiDelta, h: str, ctx: Context) -> str:
    """Kimi delta attention: as many key heads as value heads, low-rank decays, a gate by sigmoid."""
    heads, c, u = ctx.dim("HK", m.heads), ctx.dim("CK", m.key_dim), ctx.dim("CV", m.value_dim)
    x, stored = ctx.operand(b, h, "D", ctx.formats.mixer), ctx.formats.mixer.weights
    ranks = {"f": m.decay_rank or m.key_dim, "g": m.gate_rank}
    with b.kernel():
        project(b, x, stored, "q", f"{heads} {c}")
        project(b, x, stored, "k", f"{heads} {c}")
        project(b, x, stored, "v", f"{heads} {u}")
        project(b, x, stored, "b", heads)
        for name, rank in ranks.items():
            if rank is not None:
                project(b, x, stored, f"{name}_a", ctx.dim("RF", rank))
        if m.gate_rank is None:
            project(b, x, stored, "z", f"{heads} {u}")
    with b.kernel():
        for name, result, dims in (("f", "a: f32", f"{heads} {c}"), ("g", "z", f"{heads} {u}")):
            if (rank := ranks[name]) is not None:
                r = ctx.dim("RF", rank)
                b.weight(stored, f"{r} {dims}", f"w_{name}_b")
                low = ctx.operand(b, f"{name}_a", r, ctx.formats.mixer)
                b.let(result, f"einsum({low}, w_{name}_b -> B Q {dims})")
    q, k, v = _prepared(b, (f"{heads} {c}", f"{heads} {u}"), c, m.conv, m.key_dim, ctx)
    b.weight("f32", f"{heads} {c}", "dt")
    with b.kernel():
        _, decay = decayed(b, "a", heads)
        b.let("beta", "sigmoid(b)")
        o = recur(b, heads, (c, u), f"{k}, {v}, {decay}, beta", q)
    return _output(b, o, "sigmoid(z)", heads, u, ctx)


def _prepared(
    b: Block, dims: tuple[str, str], width: str, taps: int, size: int, ctx: Context
) -> tuple[str, str, str]:
    """Queries, keys and values after their convolutions; queries and keys of length 1, queries scaled."""
    with b.kernel():
        q, k, v = (convolved(b, name, dims[name == "v"], taps, ctx) for name in ("q", "k", "v"))
        b.let("q_n", f"norm({q} over {width})", kind="l2", eps=1e-6)
        b.let("k_n", f"norm({k} over {width})", kind="l2", eps=1e-6)
        return b.let("q_s", "scale(q_n)", by=size**-0.5), "k_n", v


def _output(b: Block, o: str, gate: str, heads: str, width: str, ctx: Context) -> str:
    """Each head normed with one shared gain, times the gate, and projected to width D."""
    with b.kernel():
        normed = ctx.norm(b, o, width, "o_n", "o_gain")
        b.let("open", gate)
        b.let("o_g", f"mul({normed}, open)")
        ctx.operand(b, "o_g", width, ctx.output)
    return closed(b, "o_g", f"{heads} {width}", width, ctx)
