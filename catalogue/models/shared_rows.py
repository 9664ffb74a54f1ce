"""DeepSeek-V4.1: one compressed cache and one choice of its rows for many layers, and n-gram memory.

A source layer makes a cache of rows (every 1 or 2 tokens) with index keys; the layers after it read that
cache. Some of them choose rows anew, the others attend to the rows that were chosen last. Choices after the
last source are made among its candidates alone: rows that it preselects, which engines take in blocks of 8
and this design one by one. A source stands outside all repeats, so that the others see its cache.

Section `engram` of a layer adds to each stream what hashed n-grams recall: `recalled`, rows of tables that
engines keep outside device memory, is an input; a key per stream opens one common value.
Sources: facts; serving code of vLLM and SGLang for V4.1. How keys and value share the engram's projection is
inferred, and so is that a cache without compression has no gate; both agree with the published total.
"""

from __future__ import annotations

from catalogue.compressed import DeepSeekV4
from catalogue.models import deepseek_v4_parts as v4
from catalogue.models import streams
from catalogue.models.blocks import Block, Model
from catalogue.models.caches import Kv
from catalogue.models.compression import Compressor, compress, indexer, score
from catalogue.models.kinds import numbered
from catalogue.models.layers import runs
from rooflang.size import floordiv, minimum, symbol


def dims(model: Model, f: DeepSeekV4) -> None:
    """Rows N2 and S of caches, T of N2 and T1 of S chosen, TC candidates; an engram's widths."""
    s = symbol("S")
    model.dim(S=s, N2=floordiv(s, 2), R2=2)
    model.dim(
        T=minimum(floordiv(s, 2), f.index_rows), T1=minimum(s, f.index_rows), TC=minimum(s, f.candidates)
    )
    if f.engram is not None:
        model.dim(EM=f.engram.rows * f.engram.width)
    if f.draft_experts:
        model.dim(ED=f.draft_experts, kd=f.draft_experts_per_token)


def layers(model: Model, f: DeepSeekV4, kv: Kv) -> None:
    """All layers: sources in sections, those between them in repeats."""
    kinds = [_kind(f, i) for i in range(f.layers)]
    names: list[str] = []
    start = 0
    for stop in (*f.kv_sources, f.layers):
        for period, count in runs(kinds[start:stop]):
            title = _next(names, "group" if len(period) > 1 else period[0][0])
            with model.repeat(title, count) as block:
                _period(block, period, f, kv)
        if stop < f.layers:
            with model.section(_next(names, "source")) as block:
                _layer(block, kinds[stop], f, kv)
        start = stop + 1


Kind = tuple[str, int, bool]  # how rows are chosen, tokens per row of the cache, whether it has an engram


def _kind(f: DeepSeekV4, layer: int) -> Kind:
    ratio = f.compress_ratios[layer]
    if layer in f.kv_sources:
        name = "source"
    elif ratio == 0:
        name = "window"
    else:
        name = "choosing" if layer in f.index_sources else "reusing"
    return name, ratio, f.engram is not None and layer in f.engram.layers


def _next(names: list[str], name: str) -> str:
    names.append(name)
    return numbered(names)[-1]


def _period(block: Block, period: tuple[Kind, ...], f: DeepSeekV4, kv: Kv) -> None:
    if len(period) == 1:
        _layer(block, period[0], f, kv)
        return
    for title, kind in zip(numbered(k[0] for k in period), period, strict=True):
        with block.section(title) as part:
            _layer(part, kind, f, kv)


def _layer(layer: Block, kind: Kind, f: DeepSeekV4, kv: Kv) -> None:
    if kind[2]:
        with layer.section("engram") as b:
            _engram(b, f)
    with layer.section("attention") as a:
        _attention(a, kind, f, kv)
    with layer.section("moe") as m:
        v4.experts(m, False, f)


def stages(draft: Block, f: DeepSeekV4, kv: Kv) -> None:
    """The layers that draft: windows alone, with experts of their own number."""
    for number in range(f.draft_layers):
        with draft.section(f"stage{number + 1}") as part:
            with part.section("attention") as a:
                _attention(a, ("window", 0, False), f, kv)
            # Experts of another number have sections of another name, so that placement can tell them apart.
            other = "draft_" if f.draft_experts else ""
            with part.section(f"{other}moe") as m:
                v4.experts(m, False, f, ("ED", "kd") if other else ("E", "k"), other)


def _attention(a: Block, kind: Kind, f: DeepSeekV4, kv: Kv) -> None:
    name, ratio, _ = kind
    served = kv == "served"
    theta = f.compressed_rope_theta if ratio else f.rope_theta
    h = streams.enter(a, "M", "N", f.norm_epsilon, f.sinkhorn_iterations)
    h, h8 = v4.normed(a, h, f)
    q, q8 = v4.queries(a, h8, f, theta)
    v4.window(a, "mxfp8" if served else "bf16", 32, f, theta)
    seen = [("win", "win", "W")]
    if ratio:
        turn = (f.rope_dims, theta, f.norm_epsilon, False)
        rows = Compressor("c", ratio, "C", "nvfp4" if served else "bf16", 16, *turn)
        keys = Compressor("i", ratio, "IC", "mxfp4" if served else "bf16", 32, *turn)
        if name == "source":
            compress(a, rows, h)
            compress(a, keys, h)
        picked = "T1" if ratio == 1 else "T"
        if name != "reusing":
            _choose(a, name, keys, h, q8, picked, f)
        seen.append(("far", f"{rows.rows}[picks]", picked))
    v4.core(a, q, seen)
    v4.output(a, "o" if len(seen) > 1 else "o_win", f, theta)
    streams.leave(a, "attended", "M", "N")


def _choose(a: Block, name: str, keys: Compressor, h: str, q8: str, picked: str, f: DeepSeekV4) -> None:
    """`picks` among all rows at a source, among its `candidates` after the last one."""
    query = indexer(a, keys, q8)
    if name == "source":
        found = score(a, h, query, keys.rows, keys.over, f.index_heads, f.index_dim)
        a.let("picks", f"topk({found} over {keys.over} -> B Q {picked})")
        if keys.every == 1 and f.candidates:
            a.let("candidates", f"topk({found} over S -> B Q TC)")
        return
    # Values outlive their section there, so these, of another size, have other names.
    found = score(a, h, query, f"{keys.rows}[candidates]", "TC", f.index_heads, f.index_dim, "j")
    a.let("best", f"topk({found} over TC -> B Q {picked})")
    a.let("picks", "gather(candidates[best])")


def _engram(b: Block, f: DeepSeekV4) -> None:
    b.input("fp8", "B Q EM", "recalled")
    b.weight("fp8", "EM M D", "e_keys")
    b.weight("fp8", "EM D", "e_value")
    with b.kernel():
        b.let("e_k", "einsum(recalled, e_keys -> B Q M D)")
        b.let("e_v", "einsum(recalled, e_value -> B Q D)")
    with b.kernel():
        b.let("e_kn", "norm(e_k over D)", eps=f.norm_epsilon)
        b.let("e_xn", "norm(x over D)", eps=f.norm_epsilon)
        b.let("e_dot: f32", "einsum(e_xn, e_kn -> B Q M)")
        b.let("e_s", "scale(e_dot)", by=f.hidden**-0.5)
        b.let("e_open", "sigmoid(e_s)")
        b.let("e_add", "einsum(e_open, e_v -> B Q M D)")
        b.let("x", "add(x, e_add)")
