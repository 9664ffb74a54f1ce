"""Parts of a layer that DeepSeek-V4 and V4.1 share: norms, queries, window, core attention, output, experts.

Dimensions and sources as in `deepseek_v4`.
"""

from __future__ import annotations

from catalogue.architecture import Activation, Dense, Format, Formats, Router
from catalogue.compressed import DeepSeekV4
from catalogue.models import feed, moe, streams
from catalogue.models.blocks import Block
from catalogue.models.caches import stored
from catalogue.models.context import Context, Dims

FP8 = Format("fp8", "fp8")


def normed(b: Block, mixed: str, f: DeepSeekV4) -> tuple[str, str]:
    """The sublayer's input as bf16 and as fp8."""
    b.weight("f32", "D", "gain")
    with b.kernel():
        h = b.let("h" if b.name == "attention" else "u", f"norm({mixed} over D, gain)", eps=f.norm_epsilon)
        return h, rounded(b, h, "D")


def rounded(b: Block, x: str, over: str) -> str:
    """The activation in fp8, with one scale per 128 elements."""
    return b.let(f"{x}8: fp8", f"quantize({x} over {over})", block=128)


def queries(a: Block, h8: str, f: DeepSeekV4, theta: float) -> tuple[str, str]:
    """Queries of width C per head, and the low-rank query that the indexer shares; also the window row."""
    a.weight("fp8", "D R", "wq_a")
    a.weight("fp8", "D C", "wkv")
    a.weight("f32", "R", "q_gain")
    a.weight("fp8", "R H C", "wq_b")
    with a.kernel():
        a.let("q_a", f"einsum({h8}, wq_a -> B Q R)")
        a.let("kv_a", f"einsum({h8}, wkv -> B Q C)")
    with a.kernel():
        a.let("q_n", "norm(q_a over R, q_gain)", eps=f.norm_epsilon)
        q8 = rounded(a, "q_n", "R")
    q = a.let("q_b", f"einsum({q8}, wq_b -> B Q H C)")
    with a.kernel():
        if not f.kv_sources:
            q = a.let("q_h", "norm(q_b over C)", eps=f.norm_epsilon)
        a.let("q_s", f"scale({q})", by=f.head_dim**-0.5)
        a.let("q", "rope(q_s over C)", last=f.rope_dims, theta=theta)
    return "q", q8


def window(a: Block, rows: str, block: int, f: DeepSeekV4, theta: float) -> None:
    """The row that is both K and V of every head, kept for the last tokens."""
    a.weight("f32", "C", "kv_gain")
    a.state(rows, "B W C", "win", "window", f.window)
    with a.kernel():
        a.let("kv_n", "norm(kv_a over C, kv_gain)", eps=f.norm_epsilon)
        a.let("kv", "rope(kv_n over C)", last=f.rope_dims, theta=theta)
        a.append("win", stored(a, "kv", "C", rows, block))


def core(a: Block, q: str, seen: list[tuple[str, str, str]]) -> None:
    """One softmax over all visible rows and a sink per head; each row is key and value."""
    a.weight("f32", "H", "sink")
    with a.kernel():
        for name, rows, dim in seen:
            a.let(f"s_{name}: f32", f"einsum({q}, {rows} -> B Q H {dim})")
        sums = ", ".join(f"s_{name} over {dim}" for name, _, dim in seen)
        a.let("total", f"logsumexp({sums}, sink)")
        for name, rows, _ in seen:
            a.let(f"p_{name}", f"softmax(s_{name}, total)")
            a.let(f"o_{name}", f"einsum(p_{name}, {rows} -> B Q H C)")
        if len(seen) > 1:
            a.let("o", "add(o_win, o_far)")


def output(a: Block, o: str, f: DeepSeekV4, theta: float) -> None:
    """Inverse rotation, then a projection per group of heads and one over all groups."""
    a.weight("fp8", "G J C O", "wo_a")
    a.weight("fp8", "G O D", "wo_b")
    with a.kernel():
        a.let("o_t", f"rope({o} over C)", last=f.rope_dims, inverse=True, theta=theta)
        a.let("o_g", "split(o_t over H -> B Q G J C)")
        o8 = rounded(a, "o_g", "C")
    with a.kernel():
        a.let("low", f"einsum({o8}, wo_a -> B Q G O)")
        low8 = rounded(a, "low", "O")
    a.let("attended", f"einsum({low8}, wo_b -> B Q D)")


def experts(
    m: Block, hashed: bool, f: DeepSeekV4, names: tuple[str, str] = ("E", "k"), prefix: str = ""
) -> None:
    """The mixture of experts; `hashed` layers look their choice up by token.

    `names` are the dimensions of experts and choices, `prefix` stands before the names of sections.
    """
    count, k = names
    mixed = streams.enter(m, "N", "M", f.norm_epsilon, f.sinkhorn_iterations)
    u, u8 = normed(m, mixed, f)
    m.weight("bf16", f"D {count}", "router")
    if hashed:
        m.weight(f"index<{count}>", f"V {k}", "table")
    else:
        m.weight("f32", count, "bias")
    with m.kernel():
        m.let("affinity: f32", f"einsum({u}, router -> B Q {count})")
        m.let("score", "sqrtsoftplus(affinity)")
        if hashed:
            m.let("chosen", "gather(table[ids])")
        else:
            m.let("ranked", "add(score, bias)")
            m.let("chosen", f"topk(ranked over {count} -> B Q {k})")
        m.let("picked", "gather(score[chosen])")
        moe.shares(m, Router("sqrtsoftplus", scale=f.routed_scale), "picked", k)
    ctx, act = Context(Dims(m.model), Formats(), f.norm_epsilon), Activation(limit=f.swiglu_limit)
    with m.section(f"{prefix}shared") as b:
        shared = feed.dense(b, u, Dense(f.expert_width * f.shared_experts, act), FP8, ctx, "FS", "s")
    with m.section(f"{prefix}experts") as b:
        routed = feed.experts(b, u8, (count, k, "F", "D"), Format(f.expert_format, "fp8"), act, ctx)
    m.let("fed", f"add({shared}, {routed})")
    streams.leave(m, "fed", "N", "M")
