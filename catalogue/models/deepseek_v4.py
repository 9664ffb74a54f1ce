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

from catalogue.compressed import DeepSeekV4
from catalogue.models import deepseek_v4_parts as parts
from catalogue.models import shared_rows, streams
from catalogue.models.blocks import Block, Model
from catalogue.models.caches import Kv
from catalogue.models.compression import Compressor, compress, indexer, score
from catalogue.models.layers import runs
from rooflang.design import Design
from rooflang.size import floordiv, minimum, symbol


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
        parts.experts(m, bool(hashed), f)


def _attention(a: Block, kind: str, f: DeepSeekV4, kv: Kv) -> None:
    rows = "v4_row" if kv == "served" else "bf16"
    theta = f.rope_theta if kind == "swa" else f.compressed_rope_theta
    h = streams.enter(a, "M", "N", f.norm_epsilon, f.sinkhorn_iterations)
    h, h8 = parts.normed(a, h, f)
    q, q8 = parts.queries(a, h8, f, theta)
    parts.window(a, rows, 64, f, theta)
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
    parts.core(a, q, seen)
    parts.output(a, "o" if len(seen) > 1 else "o_win", f, theta)
    streams.leave(a, "attended", "M", "N")


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
            e8, x8 = parts.rounded(b, "e_n", "D"), parts.rounded(b, "x_n", "D")
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
