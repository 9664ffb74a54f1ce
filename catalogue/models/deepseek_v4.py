"""DeepSeek-V4: compressed attention (CSA, HCA), hyper-connections, hashed and learned routing.

Sections of a layer: `attention`, and `moe` with `shared` and `experts` inside; a pair of layers holds them
in `hca` and `csa`. Others: `embed`, `head`, and the draft layer `mtp` with its own `embed` and `head`. In
V4.1 a layer that makes a cache for others stands before the repeat of those (`shared_rows`).

Dimensions: D hidden; M, N streams before and after attention, MD = M·D; H = G·J heads in G output groups;
C head width (K = V); R query rank; O output rank per group; W window rows; N4, N128 compressed rows;
T chosen rows; IH, IC index heads and width; R8, R128 raw rows, Z series, A4, A128 positions of a block;
E experts, k per token; F, FS expert and shared width; V vocabulary; D2 = D. To cut heads, cut H, G and IH.

Not parameters: the integer tables `table` (token to experts, hashed layers) and `copies`. Sources: facts, the
reference `inference/model.py`, the technical report arXiv 2606.19348 (sections 2.2, 2.3, 3.5, 4.2.1).
"""

from __future__ import annotations

from catalogue.architecture import Activation, Dense, Format, Formats, Router
from catalogue.compressed import DeepSeekV4
from catalogue.models import feed, moe, shared_rows, streams
from catalogue.models.blocks import Block, Model
from catalogue.models.caches import Kv, stored
from catalogue.models.compression import Compressor, compress, indexer, score
from catalogue.models.context import Context, Dims
from catalogue.models.layers import runs
from rooflang.design import Design
from rooflang.size import floordiv, minimum, symbol

FP8 = Format("fp8", "fp8")


def build(name: str, f: DeepSeekV4, kv: Kv) -> Design:
    """The design of one decode step."""
    model = Model(name)
    _dims(model, f)
    model.input("index<V>", "B Q", "ids")
    model.input("f32", "B Q V", "noise")
    with model.section("embed") as b:
        b.weight("bf16", "V D", "emb")
        streams.copies(b)
        b.let("e", "gather(emb[ids])")
        b.let("x", "einsum(e, copies -> B Q M D)")
    if f.kv_sources:
        shared_rows.layers(model, f, kv)
    else:
        _layers(model, f, kv)
    with model.section("head") as b:
        b.weight("bf16", "D V", "unemb")
        _logits(b, f)
        with b.kernel():
            b.let("noisy", "add(logits, noise)")
            b.let("next", "sample(noisy over V)")
        b.let("guess: index<V>", "cast(next)")
    _draft(model, f, kv)
    return model.design("next", "guess")


def _dims(model: Model, f: DeepSeekV4) -> None:
    s = symbol("S")
    model.dim(D=f.hidden, M=f.streams, N=f.streams, MD=f.streams * f.hidden, D2=f.hidden, V=f.vocabulary)
    model.dim(
        H=f.heads, C=f.head_dim, R=f.q_rank, G=f.output_groups, J=f.heads // f.output_groups, O=f.output_rank
    )
    model.dim(W=minimum(s, f.window), IH=f.index_heads, IC=f.index_dim)
    if f.kv_sources:
        shared_rows.dims(model, f)
    else:
        model.dim(N4=floordiv(s, 4), N128=floordiv(s, 128), T=minimum(floordiv(s, 4), f.index_rows))
        model.dim(R8=8, R128=128, Z=2, A4=4, A128=128)
    model.dim(E=f.experts, k=f.experts_per_token, F=f.expert_width, FS=f.expert_width * f.shared_experts)


def _layers(model: Model, f: DeepSeekV4, kv: Kv) -> None:
    attentions = {0: "swa", 4: "csa", 128: "hca"}
    kinds = tuple(
        attentions[r] + ("_hash" if i < f.hash_layers else "")
        for i, r in enumerate(f.compress_ratios[: f.layers])
    )
    for period, count in runs(kinds):
        with model.repeat("pair" if len(period) > 1 else period[0], count) as layer:
            for kind in period:
                if len(period) == 1:
                    _layer(layer, kind, f, kv)
                else:
                    with layer.section(kind) as part:
                        _layer(part, kind, f, kv)


def _layer(layer: Block, kind: str, f: DeepSeekV4, kv: Kv) -> None:
    attention, _, hashed = kind.partition("_")
    with layer.section("attention") as a:
        _attention(a, attention, f, kv)
    with layer.section("moe") as m:
        experts(m, bool(hashed), f)


def _attention(a: Block, kind: str, f: DeepSeekV4, kv: Kv) -> None:
    rows = "v4_row" if kv == "served" else "bf16"
    theta = f.rope_theta if kind == "swa" else f.compressed_rope_theta
    h = streams.enter(a, "M", "N", f.norm_epsilon, f.sinkhorn_iterations)
    h, h8 = normed(a, h, f)
    q, q8 = queries(a, h8, f, theta)
    window(a, rows, 64, f, theta)
    more = Compressor("c", 128 if kind == "hca" else 4, "C", rows, 64, f.rope_dims, theta, f.norm_epsilon)
    keys = Compressor(
        "i", 4, "IC", "mxfp4" if kv == "served" else "bf16", 32, f.rope_dims, theta, f.norm_epsilon
    )
    seen: list[tuple[str, str, str]] = [("win", "win", "W")]
    if kind != "swa":
        compress(a, more, h)
        seen.append(("far", more.rows, "N128"))
    if kind == "csa":
        compress(a, keys, h)
        query = indexer(a, keys, q8)
        found = score(a, h, query, keys.rows, "N4", f.index_heads, f.index_dim)
        picks = a.let("picks", f"topk({found} over N4 -> B Q T)")
        seen[1] = ("far", f"{more.rows}[{picks}]", "T")
    core(a, q, seen)
    output(a, "o" if len(seen) > 1 else "o_win", f, theta)
    streams.leave(a, "attended", "M", "N")


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


def _logits(b: Block, f: DeepSeekV4) -> None:
    mixed = streams.collapse(b, f.norm_epsilon)
    b.weight("f32", "D", "gain")
    b.let("last", f"norm({mixed} over D, gain)", eps=f.norm_epsilon)
    b.let("logits: f32", "einsum(last, unemb -> B Q V)")


def _draft(model: Model, f: DeepSeekV4, kv: Kv) -> None:
    """The draft layer: from the latest token and the streams, one more token (its most likely one)."""
    if not f.draft_layers:
        return
    with model.repeat("mtp", 1, draft=True) as layer:
        with layer.section("embed") as b:
            b.weight("fp8", "D D2", "e_proj", "h_proj")
            b.weight("f32", "D", "e_gain", "h_gain")
            b.let("e", "gather(emb[guess])")
            b.let("e_n", "norm(e over D, e_gain)", eps=f.norm_epsilon)
            b.let("x_n", "norm(x over D, h_gain)", eps=f.norm_epsilon)
            e8, x8 = rounded(b, "e_n", "D"), rounded(b, "x_n", "D")
            b.let("e_p", f"einsum({e8}, e_proj -> B Q D2)")
            b.let("e_m", "einsum(e_p, copies -> B Q M D2)")
            b.let("x_p", f"einsum({x8}, h_proj -> B Q M D2)")
            b.let("x_s", "add(e_m, x_p)")
            # D2 is D again: the streams laid end to end, named anew.
            b.let("x_f", "merge(x_s over M -> B Q MD)")
            b.let("x", "split(x_f over MD -> B Q M D)")
        if f.kv_sources:
            shared_rows.stages(layer, f, kv)
        else:
            _layer(layer, "swa", f, kv)
        with layer.section("head") as b:
            _logits(b, f)
            b.let("guess", "sample(logits over V)")
