"""Multi-head latent attention (MLA), in the absorbed form of decoding.

Dimensions: H heads; R query rank; L latent width; P rotary width, A width without rotation, AP = A + P,
LP = L + P; U value width; T chosen rows of sparse attention. The cache is two states: `latent` and `rotary`
are the keys of all heads, and `latent` their values too.
Sources: technical reports of DeepSeek-V2 (arXiv 2405.04434) and V3 (arXiv 2412.19437, section 2.1).
"""

from __future__ import annotations

from catalogue.architecture import Latent
from catalogue.models import sparse
from catalogue.models.blocks import Block
from catalogue.models.context import Context
from rooflang.size import symbol


def write(b: Block, m: Latent, h: str, ctx: Context) -> str:
    """The attended value of width D. A choice that is reused is `picks` of the layer that made it."""
    heads, low, a = ctx.dim("H", m.heads), ctx.dim("L", m.latent), ctx.dim("A", m.nope_dims)
    p, u, rows = ctx.dim("P", m.rope_dims), ctx.dim("U", m.value_dims), ctx.dim("S", symbol("S"))
    source = _down(b, m, h, ctx, (low, p))
    latent, rotary = "latent", "rotary"
    if m.indexer is not None:
        picks, rows = sparse.shared(b, m.indexer, h, source, m.rope, ctx)
        latent, rotary = f"latent[{picks}]", f"rotary[{picks}]"
    elif m.reuses_choice:
        rows = "T"
        latent, rotary = "latent[picks]", "rotary[picks]"
    _queries(b, m, source, ctx, (heads, low, a, p))
    with b.kernel():
        b.let("s_l: f32", f"einsum(q_l, {latent} -> B Q {heads} {rows})")
        b.let("s_t: f32", f"einsum({'q_t' if m.rope else 'q_turn'}, {rotary} -> B Q {heads} {rows})")
        b.let("s", "add(s_l, s_t)")
        b.let("total", f"logsumexp(s over {rows})")
        b.let("p", "softmax(s, total)")
        b.let("o_l", f"einsum(p, {latent} -> B Q {heads} {low})")
    with b.kernel():
        o = b.let("o", f"einsum(o_l, w_uv -> B Q {heads} {u})")
        if m.gate:
            o = _gated(b, h, ctx, heads, u)
        o = ctx.operand(b, o, u, ctx.output)
    with b.kernel():
        return b.let("y", f"einsum({o}, wo -> B Q D)")


def _down(b: Block, m: Latent, h: str, ctx: Context, dims: tuple[str, str]) -> tuple[str, str]:
    """The step's row is cached; given back is what queries are made of, and its width."""
    low, p = dims
    stored, x = ctx.formats.mixer.weights, ctx.operand(b, h, "D", ctx.formats.mixer)
    whole = ctx.dim("LP", m.latent + m.rope_dims)
    b.weight(stored, f"D {whole}", "wkv_a")
    source = (x, "D")
    if m.query_rank is None:
        b.let("kv_a", f"einsum({x}, wkv_a -> B Q {whole})")
    else:
        r = ctx.dim("R", m.query_rank)
        b.weight(stored, f"D {r}", "wq_a")
        with b.kernel():
            b.let("q_a", f"einsum({x}, wq_a -> B Q {r})")
            b.let("kv_a", f"einsum({x}, wkv_a -> B Q {whole})")
        with b.kernel():
            q = _scaled(b, ctx.norm(b, "q_a", r, "q_n", "q_gain"), m.query_scale)
            source = (ctx.operand(b, q, r, ctx.formats.mixer), r)
    sparsely = m.indexer is not None or m.reuses_choice
    cache = "ds_mla_row" if sparsely and ctx.served else ctx.cache
    b.state(cache, f"B S {low}", "latent")
    b.state(cache, f"B S {p}", "rotary")
    with b.kernel():
        b.let("l_a", f"slice(kv_a over {whole} -> B Q {low})", start=0)
        row = _scaled(b, ctx.norm(b, "l_a", low, "l", "kv_gain"), m.latent_scale)
        b.append("latent", ctx.stored(b, row, low, cache))
        t = b.let("t_a", f"slice(kv_a over {whole} -> B Q {p})", start=m.latent)
        if m.rope is not None:
            t = b.let("t", f"rope(t_a over {p})", last=m.rope.dims, theta=m.rope.theta)
        b.append("rotary", ctx.stored(b, t, p, cache))
    return source


def _scaled(b: Block, x: str, by: float) -> str:
    return x if by == 1.0 else b.let(f"{x}_s", f"scale({x})", by=by)


def _queries(
    b: Block, m: Latent, source: tuple[str, str], ctx: Context, dims: tuple[str, str, str, str]
) -> None:
    """Queries against the latent (`q_l`, up-projection of keys absorbed) and the rotary rows."""
    heads, low, a, p = dims
    x, over = source
    stored, both = ctx.formats.mixer.weights, ctx.dim("AP", m.nope_dims + m.rope_dims)
    b.weight(stored, f"{over} {heads} {both}", "wq_b")
    b.weight(stored, f"{low} {heads} {a}", "w_uk")
    b.weight(stored, f"{low} {heads} {ctx.dim('U', m.value_dims)}", "w_uv")
    b.weight(ctx.output.weights, f"{heads} {ctx.dim('U', m.value_dims)} D", "wo")
    factor = (m.nope_dims + m.rope_dims) ** -0.5 * (m.rope.attention_factor if m.rope else 1.0)
    b.let("q_b", f"einsum({x}, wq_b -> B Q {heads} {both})")
    with b.kernel():
        b.let("q_s", "scale(q_b)", by=factor)
        b.let("q_plain", f"slice(q_s over {both} -> B Q {heads} {a})", start=0)
        b.let("q_turn", f"slice(q_s over {both} -> B Q {heads} {p})", start=m.nope_dims)
        if m.rope is not None:
            b.let("q_t", f"rope(q_turn over {p})", last=m.rope.dims, theta=m.rope.theta)
    b.let("q_l", f"einsum(q_plain, w_uk -> B Q {heads} {low})")


def _gated(b: Block, h: str, ctx: Context, heads: str, u: str) -> str:
    """The attended values times a sigmoid of the layer's input."""
    b.weight(ctx.formats.mixer.weights, f"D {heads} {u}", "wgate")
    b.let("gate", f"einsum({ctx.operand(b, h, 'D', ctx.formats.mixer)}, wgate -> B Q {heads} {u})")
    b.let("open", "sigmoid(gate)")
    return b.let("o_g", "mul(o, open)")
