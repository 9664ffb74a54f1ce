"""Llama 3: grouped-query attention and a dense MLP.

Sections of a layer: `attention`, `mlp`; others: `embed`, `head`. Dimensions: D hidden; K key/value heads with
G query heads each, C head width; S cached rows; FD width of the MLP; V vocabulary.
Source: facts; the attention and MLP of the model's report (arXiv 2407.21783).
"""

from __future__ import annotations

from dataclasses import dataclass

from catalogue.models import moe
from catalogue.models.attention import GroupedQuery, grouped_query
from catalogue.models.blocks import Model
from catalogue.models.caches import Kv
from catalogue.models.ends import head, normed, tokens
from rooflang.design import Design
from rooflang.size import symbol


@dataclass(frozen=True, slots=True)
class Llama:
    """Facts of one model, by the names of `catalogue/facts`."""

    layers: int
    hidden: int
    vocabulary: int
    max_position: int
    norm_epsilon: float
    heads: int
    kv_heads: int
    head_dim: int
    rope_theta: float
    width: int


def build(name: str, f: Llama, kv: Kv) -> Design:
    """The design of one decode step; served, the cache is fp8."""
    model = Model(name)
    model.dim(D=f.hidden, K=f.kv_heads, G=f.heads // f.kv_heads, C=f.head_dim, FD=f.width, V=f.vocabulary)
    model.dim(S=symbol("S"))
    cache = "fp8" if kv == "served" else "bf16"
    attention = GroupedQuery("bf16", cache, f.head_dim, f.head_dim, f.rope_theta)
    tokens(model)
    with model.repeat("layer", f.layers) as layer:
        with layer.section("attention") as a:
            h = normed(a, "x", "h", f.norm_epsilon, "bf16")
            grouped_query(a, attention, h)
        with layer.section("mlp") as m:
            u = normed(m, "x", "u", f.norm_epsilon, "bf16")
            fed = moe.gated(m, u, "FD", ("bf16", "bf16"))
            with m.kernel():
                m.let("x", f"add(x, {fed})")
    head(model, f.norm_epsilon, "bf16")
    return model.design("next")
