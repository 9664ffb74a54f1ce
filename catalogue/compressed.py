"""The DeepSeek-V4 family as facts: compressed attention, several residual streams, routing by token.

V4 compresses every layer's cache by its own ratio: 4 (CSA), 128 (HCA) or not at all (0, window only). V4.1
keeps one compressed cache for many layers (`kv_sources` make them, others read the nearest before) and one
choice of rows for several (`index_sources` make them).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Engram:
    """Tables of hashed n-grams: `rows` of `width` elements per token enter `layers`, of `entries` in all."""

    layers: tuple[int, ...]
    rows: int
    width: int
    entries: int


@dataclass(frozen=True, slots=True)
class DeepSeekV4:
    """Facts of one model. Sizes count elements; `compress_ratios` has an entry per layer."""

    layers: int
    hidden: int
    vocabulary: int
    max_position: int
    norm_epsilon: float
    streams: int
    sinkhorn_iterations: int
    heads: int
    head_dim: int
    rope_dims: int
    rope_theta: float
    compressed_rope_theta: float
    q_rank: int
    output_groups: int
    output_rank: int
    window: int
    compress_ratios: tuple[int, ...]
    index_heads: int
    index_dim: int
    index_rows: int
    experts: int
    experts_per_token: int
    expert_width: int
    shared_experts: int
    hash_layers: int
    routed_scale: float
    swiglu_limit: float
    draft_layers: int
    expert_format: str = "mxfp4"
    draft_experts: int = 0
    draft_experts_per_token: int = 0
    """Experts of draft layers, where they differ."""
    kv_sources: tuple[int, ...] = ()
    """Layers that make a compressed cache which the layers after them share; each for itself when empty."""
    index_sources: tuple[int, ...] = ()
    candidates: int = 0
    """Rows that the last of `kv_sources` preselects; later choices are made among them."""
    engram: Engram | None = None

    @property
    def shares_caches(self) -> bool:
        """Whether layers share caches (V4.1)."""
        return bool(self.kv_sources)
