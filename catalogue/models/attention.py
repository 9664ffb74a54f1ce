"""Softmax attention with K key/value heads, each serving G query heads of width C (MHA, GQA, MQA, MFA).

Caches hold S rows, or W rows of a sliding window; values have the width U where it is not C. With an indexer,
each key/value head reads only the T tokens that its index query scores highest (`sparse`).
"""

from __future__ import annotations

from catalogue.architecture import GroupedQuery
from catalogue.models import sparse
from catalogue.models.blocks import Block
from catalogue.models.context import Context
from rooflang.size import minimum, symbol


def write(b: Block, g: GroupedQuery, h: str, ctx: Context) -> str:
    """The attended value of width D."""
    kept = g.window or g.chunk
    s = symbol("S")
    rows = ctx.dim("S", s) if kept is None else ctx.dim("W", minimum(s, kept))
    k, heads, c = ctx.dim("K", g.kv_heads), ctx.dim("G", g.heads // g.kv_heads), ctx.dim("C", g.head_dim)
    u = c if g.value_dim == g.head_dim else ctx.dim("U", g.value_dim)
    keys, values, seen = *_caches(g), rows
    for name, width in ((keys, c), (values, u)):
        span = ("append", 1) if kept is None else ("window", kept)
        if not g.reuses_cache:
            b.state(ctx.cache, f"B {rows} {k} {width}", name, *span)
    _project(b, g, h, ctx, (k, heads, c, u))
    q = _turn(b, g, ctx, (k, heads, c, u))
    if g.indexer is not None:
        chosen, seen = sparse.per_head(b, g.indexer, h, k, g.rope, ctx)
        keys, values = f"{keys}[{chosen}]", f"{values}[{chosen}]"
    with b.kernel():
        b.let("s: f32", f"einsum({q}, {keys} -> B Q {k} {heads} {seen})")
        if g.sinks:
            b.weight("bf16", f"{k} {heads}", "sink")
        b.let("total", f"logsumexp(s over {seen}{', sink' if g.sinks else ''})")
        b.let("p", "softmax(s, total)")
        o = b.let("o", f"einsum(p, {values} -> B Q {k} {heads} {u})")
        if g.gate or g.head_gate:
            b.let("open", "sigmoid(gate)")
            o = b.let("o_g", "mul(o, open)")
        o = ctx.operand(b, o, u, ctx.output)
    with b.kernel():
        return _biased(b, "o", f"einsum({o}, wo -> B Q D)", g, "y")


def _caches(g: GroupedQuery) -> tuple[str, str]:
    """Names of the caches of keys and of values."""
    end = f"_{g.shared_cache}" if g.shared_cache else ""
    return f"keys{end}", f"values{end}"


def _project(b: Block, g: GroupedQuery, h: str, ctx: Context, dims: tuple[str, str, str, str]) -> None:
    """Queries, keys and values (`q`, `k`, `v`), and the output gate."""
    k, heads, c, u = dims
    stored, wide, x = ctx.formats.mixer.weights, f"{k} {heads} {c}", ctx.operand(b, h, "D", ctx.formats.mixer)
    source, wq = x, f"D {wide}"
    if g.query_rank is not None:
        r = ctx.dim("R", g.query_rank)
        b.weight(stored, f"D {r}", "wq_a")
        b.let("q_a", f"einsum({x}, wq_a -> B Q {r})")
        with b.kernel():
            source = ctx.operand(b, ctx.norm(b, "q_a", r, "q_n", "q_a_gain"), r, ctx.formats.mixer)
        wq = f"{r} {wide}"
    b.weight(stored, wq, "wq")
    if not g.reuses_cache:
        b.weight(stored, f"D {k} {c}", "wk")
    if not (g.keys_are_values or g.reuses_cache):
        b.weight(stored, f"D {k} {u}", "wv")
    gate = f"{k} {heads} {u}" if g.gate else f"{k} {heads}"
    if g.gate or g.head_gate:
        b.weight(stored, f"D {gate}", "wgate")
    b.weight(ctx.output.weights, f"{k} {heads} {u} D", "wo")
    for name, shape in (("q", wide), ("k", f"{k} {c}"), ("v", f"{k} {u}"), ("o", "D")):
        if name in g.biases and not (g.reuses_cache and name in "kv"):
            b.weight("bf16", shape, f"{name}_bias")
    with b.kernel():
        _biased(b, "q", f"einsum({source}, wq -> B Q {wide})", g)
        if not g.reuses_cache:
            _biased(b, "k", f"einsum({x}, wk -> B Q {k} {c})", g)
        if not (g.keys_are_values or g.reuses_cache):
            _biased(b, "v", f"einsum({x}, wv -> B Q {k} {u})", g)
        if g.gate or g.head_gate:
            b.let("gate", f"einsum({x}, wgate -> B Q {gate})")


def _biased(b: Block, name: str, call: str, g: GroupedQuery, result: str = "") -> str:
    value = b.let(result or name, call)
    return b.let(f"{value}_b", f"add({value}, {name}_bias)") if name in g.biases else value


def _turn(b: Block, g: GroupedQuery, ctx: Context, dims: tuple[str, str, str, str]) -> str:
    """Queries and keys normed, scaled and rotated; keys and values appended to their caches."""
    k, heads, c, u = dims
    q, key, value = (f"{n}_b" if n in g.biases else n for n in ("q", "k", "k" if g.keys_are_values else "v"))
    factor = g.scale if g.scale is not None else g.head_dim**-0.5
    factor *= g.rope.attention_factor if g.rope else 1.0
    with b.kernel():
        if g.qk_norm == "head":
            q = ctx.norm(b, q, c, "q_n", "q_gain" if g.qk_norm_gain else "")
        elif g.qk_norm == "whole":
            q = _normed_whole(b, q, (k, heads, c), "QW", ctx)
        if factor != 1.0:
            q = b.let("q_s", f"scale({q})", by=factor)
        if g.rope is not None:
            q = b.let("q_t", f"rope({q} over {c})", last=g.rope.dims, theta=g.rope.theta)
        if g.reuses_cache:
            return q
        if g.qk_norm == "head":
            key = ctx.norm(b, key, c, "k_n", "k_gain" if g.qk_norm_gain else "")
        elif g.qk_norm == "whole":
            key = _normed_whole(b, key, (k, c), "KW", ctx)
        if g.rope is not None:
            key = b.let("k_t", f"rope({key} over {c})", last=g.rope.dims, theta=g.rope.theta)
        keys, values = _caches(g)
        b.append(keys, ctx.stored(b, key, c, ctx.cache))
        b.append(values, ctx.stored(b, value, u, ctx.cache))
    return q


def _normed_whole(b: Block, x: str, dims: tuple[str, ...], stem: str, ctx: Context) -> str:
    """RMS norm over all heads together: they are laid end to end for it."""
    total = 1
    for d in dims:
        total *= ctx.size(d)
    whole = ctx.dim(stem, total)
    b.let(f"{x}_flat", f"merge({x} over {dims[0]} -> B Q {whole})")
    ctx.norm(b, f"{x}_flat", whole, f"{x}_wide", f"{x}_gain")
    return b.let(f"{x}_n", f"split({x}_wide over {whole} -> B Q {' '.join(dims)})")
