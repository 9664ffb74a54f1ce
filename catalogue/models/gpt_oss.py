"""gpt-oss: grouped-query attention with sinks, a sliding window in every other layer, MXFP4 experts.

Layers stand in pairs, in sections `sliding` and `full`; sections of a layer: `attention`, and `moe` with
`experts` inside; others: `embed`, `head`. Dimensions: D hidden; K key/value heads with G query heads each,
C head width; S cached rows, W window rows; E experts, k per token, F expert width; V vocabulary.
Projections, router and experts have biases. Activations stay bf16, as the checkpoint's MXFP4 recipe has them.
Sources: facts; `gpt_oss/torch/model.py` of github openai/gpt-oss (swiglu: alpha 1.702, limit 7, up + 1).
"""

from __future__ import annotations

from dataclasses import dataclass

from catalogue.models import moe
from catalogue.models.attention import GroupedQuery, grouped_query
from catalogue.models.blocks import Block, Model
from catalogue.models.caches import Kv
from catalogue.models.ends import head, normed, tokens
from catalogue.models.layers import runs
from rooflang.design import Design
from rooflang.size import minimum, symbol


@dataclass(frozen=True, slots=True)
class GptOss:
    """Facts of one model, by the names of `catalogue/facts`."""

    layer_types: tuple[str, ...]
    hidden: int
    vocabulary: int
    max_position: int
    norm_epsilon: float
    heads: int
    kv_heads: int
    head_dim: int
    rope_theta: float
    window: int
    experts: int
    experts_per_token: int
    expert_width: int
    swiglu_limit: float
    swiglu_alpha: float
    swiglu_offset: float


def build(name: str, f: GptOss, kv: Kv) -> Design:
    """The design of one decode step; served, the cache is fp8."""
    model = Model(name)
    s = symbol("S")
    model.dim(D=f.hidden, K=f.kv_heads, G=f.heads // f.kv_heads, C=f.head_dim, S=s, W=minimum(s, f.window))
    model.dim(E=f.experts, k=f.experts_per_token, F=f.expert_width, V=f.vocabulary)
    cache = "fp8" if kv == "served" else "bf16"
    attention = GroupedQuery("bf16", cache, f.head_dim, f.head_dim, f.rope_theta, biases=True, sinks=True)
    tokens(model)
    for period, count in runs(f.layer_types):
        with model.repeat("pair" if len(period) > 1 else period[0], count) as layer:
            for kind in period:
                with layer.section(kind) as part:
                    _layer(part, f, attention, f.window if kind == "sliding" else None)
    head(model, f.norm_epsilon, "bf16")
    return model.design("next")


def _layer(layer: Block, f: GptOss, attention: GroupedQuery, window: int | None) -> None:
    with layer.section("attention") as a:
        h = normed(a, "x", "h", f.norm_epsilon, "bf16")
        grouped_query(a, attention, h, window)
    with layer.section("moe") as m:
        u = normed(m, "x", "u", f.norm_epsilon, "bf16")
        m.weight("bf16", "D E", "router")
        m.weight("bf16", "E", "router_bias")
        with m.kernel():
            m.let("affinity: f32", f"einsum({u}, router -> B Q E)")
            m.let("score", "add(affinity, router_bias)")
            m.let("chosen", "topk(score over E -> B Q k)")
            m.let("picked", "gather(score[chosen])")
            m.let("picked_t", "logsumexp(picked over k)")
            m.let("share: f32", "softmax(picked, picked_t)")
        with m.section("experts") as b:
            swiglu = {"limit": f.swiglu_limit, "alpha": f.swiglu_alpha, "offset": f.swiglu_offset}
            routed = moe.experts(b, u, ("mxfp4", "bf16"), dict(swiglu), bias="bf16")
        m.let("x", f"add(x, {routed})")
