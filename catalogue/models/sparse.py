"""Sparse attention: light index queries score every cached token by an index key of its own, and attention
reads only the T tokens that score highest.

In DeepSeek sparse attention (DSA) all heads share one choice: score = Σ_h w_h relu(q_h · k) over index heads
IH of width IC. Block-sparse attention (MSA) has one index query per key/value head and a choice for each;
engines score whole blocks by their best token, here tokens are chosen one by one, as many as the blocks hold.
The Hadamard rotation of index queries and keys changes no product and is left out.
Sources: DeepSeek-V3.2 technical report and its reference `inference/model.py`; config of MiniMax-M3.
"""

from __future__ import annotations

from catalogue.architecture import Indexer, Rope
from catalogue.models.blocks import Block
from catalogue.models.context import Context
from rooflang.size import minimum, symbol


def shared(
    b: Block, i: Indexer, h: str, query: tuple[str, str], rope: Rope | None, ctx: Context
) -> tuple[str, str]:
    """One choice for all heads: (`picks`, T). `query` is what index queries are made of, and its width."""
    heads, width = ctx.dim("IH", i.heads), ctx.dim("IC", i.dim)
    keys = _keys(b, i, h, width, rope, ctx)
    source, over = query
    b.weight(ctx.formats.indexer.weights, f"{over} {heads} {width}", "i_wq")
    b.weight("bf16", f"D {heads}", "i_weights")
    b.let("i_q", f"einsum({source}, i_wq -> B Q {heads} {width})")
    with b.kernel():
        q = _rounded(b, _turned(b, "i_q", i, width, rope), width, ctx)
    with b.kernel():
        b.let("i_w", f"einsum({h}, i_weights -> B Q {heads})")
        b.let("i_ws", "scale(i_w)", by=(i.dim * i.heads) ** -0.5)
    with b.kernel():
        b.let("i_dot", f"einsum({q}, {keys} -> B Q {heads} S)")
        b.let("i_relu", "relu(i_dot)")
        b.let("i_sum: f32", "einsum(i_ws, i_relu -> B Q S)")
    rows = ctx.dim("T", minimum(symbol("S"), i.top * i.block))
    return b.let("picks", f"topk(i_sum over S -> B Q {rows})"), rows


def per_head(b: Block, i: Indexer, h: str, heads: str, rope: Rope | None, ctx: Context) -> tuple[str, str]:
    """A choice for each key/value head: (`picks`, T)."""
    width = ctx.dim("IC", i.dim)
    keys = _keys(b, i, h, width, rope, ctx)
    x = ctx.operand(b, h, "D", ctx.formats.indexer)
    b.weight(ctx.formats.indexer.weights, f"D {heads} {width}", "i_wq")
    b.let("i_q", f"einsum({x}, i_wq -> B Q {heads} {width})")
    with b.kernel():
        q = _rounded(b, _turned(b, "i_q", i, width, rope), width, ctx)
    b.let("i_dot: f32", f"einsum({q}, {keys} -> B Q {heads} S)")
    rows = ctx.dim("T", minimum(symbol("S"), i.top * i.block))
    return b.let("picks", f"topk(i_dot over S -> B Q {heads} {rows})"), rows


def _keys(b: Block, i: Indexer, h: str, width: str, rope: Rope | None, ctx: Context) -> str:
    """The step's index keys, appended to their cache."""
    ctx.dim("S", symbol("S"))
    stored = "fp8_key" if ctx.served else "bf16"
    x = ctx.operand(b, h, "D", ctx.formats.indexer)
    b.weight(ctx.formats.indexer.weights, f"D {width}", "i_wk")
    b.state(stored, f"B S {width}", "i_keys")
    b.let("i_k", f"einsum({x}, i_wk -> B Q {width})")
    with b.kernel():
        normed = ctx.norm(b, "i_k", width, "i_kn", "i_gain")
        b.append("i_keys", ctx.stored(b, _turned(b, normed, i, width, rope), width, stored))
    return "i_keys"


def _turned(b: Block, x: str, i: Indexer, width: str, rope: Rope | None) -> str:
    if rope is None or not i.rope_dims:
        return x
    return b.let(f"{x}_t", f"rope({x} over {width})", last=i.rope_dims, theta=rope.theta)


def _rounded(b: Block, x: str, width: str, ctx: Context) -> str:
    """Index queries in the format of their keys' products."""
    return ctx.stored(b, x, width, "fp8") if ctx.served else x
