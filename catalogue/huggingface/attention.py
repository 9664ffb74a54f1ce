"""Attention with a cache per token: grouped queries (MHA, GQA, MQA, MFA) and latent attention (MLA, DSA)."""

from __future__ import annotations

from math import sqrt

from catalogue.architecture import GroupedQuery, Indexer, Latent
from catalogue.huggingface.errors import ConfigError
from catalogue.huggingface.families import Family
from catalogue.huggingface.rotary import rope
from catalogue.huggingface.view import View

_FLAGS = ("attention_bias", "qkv_bias", "add_qkv_bias", "use_qkv_bias", "use_attn_bias", "use_bias", "bias")


def grouped(view: View, family: Family, index: int, kind: str, rotates: bool) -> GroupedQuery:
    """The grouped-query attention of a layer; `kind` is full, sliding or chunked."""
    sliding = kind == "sliding"
    heads = _by_kind(view, "heads", index, sliding, "swa_num_attention_heads", "num_attention_heads")
    if heads is None:
        heads = view.size("heads")
    width = _head_dim(view, heads, index, sliding)
    kv_heads = _kv_heads(view, heads, index, sliding)
    value = view.size_or_none("swa_v_head_dim") if sliding else None
    gate = view.flag("attn_output_gate", family.attention_gate) or view.flag("attention_output_gate")
    return GroupedQuery(
        heads=heads,
        kv_heads=kv_heads,
        head_dim=width,
        value_dim=value or view.size_or_none("value_dim") or width,
        rope=rope(view, family, width, kind) if rotates else None,
        window=view.size("window") if sliding else None,
        chunk=view.size("attention_chunk_size") if kind == "chunked" else None,
        biases=biases(view, family),
        qk_norm=qk_norm(view, family) if rotates or family.qk_norm_gain else None,
        qk_norm_gain=family.qk_norm_gain,
        sinks=_sinks(view, family, sliding),
        gate=gate,
        head_gate=view.flag("use_head_wise_attn_gate", family.head_gate),
        query_rank=view.size_or_none("share_q_dim"),
        indexer=_blocks(view, index),
        keys_are_values=view.flag("attention_k_eq_v") and kind == "full",
        scale=_scale(view),
    )


def latent(view: View, family: Family, index: int, layers: int) -> Latent:
    """Latent attention, with the indexer of sparse attention where the config has one."""
    rope_dims = view.size("qk_rope_head_dim", 64, "the width of all published models with latent attention")
    nope_dims = view.size("qk_nope_head_dim", 128, "the width of DeepSeek-V3")
    rank, width = view.size_or_none("q_lora_rank"), view.size("kv_lora_rank")
    hidden = view.size("hidden")
    indexer, reuses = _indexer(view, index, rope_dims)
    view.use("num_key_value_heads", "head_dim", "attention_bias")
    plain = view.flag("mla_use_nope")
    return Latent(
        heads=view.size("heads"),
        query_rank=rank,
        latent=width,
        nope_dims=nope_dims,
        rope_dims=rope_dims,
        value_dims=view.size("value_dim", 128, "the width of DeepSeek-V3"),
        rope=None if plain else rope(view, family, rope_dims, "full", rope_dims),
        indexer=indexer,
        reuses_choice=reuses,
        gate=view.flag("mla_use_output_gate"),
        query_scale=(hidden / rank) ** 0.5 if rank and view.flag("mla_scale_q_lora") else 1.0,
        latent_scale=(hidden / width) ** 0.5 if view.flag("mla_scale_kv_lora") else 1.0,
    )


def biases(view: View, family: Family) -> tuple[str, ...]:
    """Which of q, k, v, o have a bias."""
    wanted = family.biases
    for key in _FLAGS:
        if view.has(key):
            which = "qkv" if "qkv" in key else family.flagged_biases
            wanted = which if view.flag(key) else ""
            break
    if view.has("attention_out_bias"):
        wanted = wanted.replace("o", "") + ("o" if view.flag("attention_out_bias") else "")
    return tuple(wanted)


def qk_norm(view: View, family: Family) -> str | None:
    """The norm of queries and keys."""
    stated = view.word("qk_norm_type")
    kind = {"per_layer": "whole", "per_head": "head"}.get(stated, family.qk_norm or "head")
    for key in ("use_qk_norm", "qk_layernorm", "use_qk_layernorm", "qk_norm"):
        if view.has(key):
            return kind if view.flag(key) else None
    return None if family.qk_norm_key else family.qk_norm


def _by_kind(view: View, role: str, index: int, sliding: bool, key: str, other: str) -> int | None:
    """A size that sliding layers may have of their own."""
    if sliding:
        own = view.size_or_none(key) or view.size_or_none(f"attention_other_setting.{other}")
        if own is not None:
            return own
    return view.size_at(role, index)


def _head_dim(view: View, heads: int, index: int, sliding: bool) -> int:
    own = None
    if sliding:
        own = view.size_or_none("swa_head_dim") or view.size_or_none("attention_other_setting.head_dim")
    elif view.has("global_head_dim"):
        own = view.size_or_none("global_head_dim")
    own = own or view.size_at("head_dim", index)
    if own is not None:
        return own
    hidden = view.size("hidden")
    if heads > hidden:
        raise ConfigError(
            f"{view.name} must state head_dim, since {heads} heads cannot share a hidden size of {hidden}; "
            "add the key"
        )
    if hidden % heads:
        view.assume(f"head_dim is not stated and {hidden} is no multiple of {heads}; rounded down.")
    return hidden // heads


def _kv_heads(view: View, heads: int, index: int, sliding: bool) -> int:
    own = None
    if sliding:
        own = view.size_or_none("swa_num_key_value_heads") or view.size_or_none(
            "attention_other_setting.num_attention_groups"
        )
    elif view.has("num_global_key_value_heads"):
        own = view.size_or_none("num_global_key_value_heads")
    own = own or view.size_at("kv_heads", index)
    if view.flag("multi_query") and not view.flag("new_decoder_architecture"):
        return 1
    if own is not None and not (view.has("multi_query_attention") and not view.flag("multi_query_attention")):
        return min(own, heads)
    view.assume(f"{view.spelt('kv_heads')} is not stated; each of {heads} heads has keys of its own.")
    return heads


def _sinks(view: View, family: Family, sliding: bool) -> bool:
    key = "add_swa_attention_sink_bias" if sliding else "add_full_attention_sink_bias"
    other = "add_full_attention_sink_bias" if sliding else "add_swa_attention_sink_bias"
    view.use(other)
    return view.flag(key) or family.sinks


def _scale(view: View) -> float | None:
    if view.has("attention_multiplier"):
        return view.positive("attention_multiplier", 1.0)
    if view.has("query_pre_attn_scalar"):
        return 1.0 / sqrt(view.positive("query_pre_attn_scalar", 1.0))
    return None


def _indexer(view: View, index: int, rope_dims: int) -> tuple[Indexer | None, bool]:
    """The layer's indexer, or whether it reuses the choice of an earlier one; draft layers have their own."""
    if not view.has("index_topk"):
        return None, False
    made = Indexer(
        view.size("index_n_heads"), view.size("index_head_dim"), view.size("index_topk"), rope_dims
    )
    kinds = view.items("indexer_types")
    every, first = view.count("index_topk_freq"), view.count("index_skip_topk_offset")
    view.use("index_topk_pattern")
    if kinds is not None:
        shared = index < len(kinds) and kinds[index] == "shared"
    else:
        shared = every > 1 and index >= first and (index - first + 1) % every != 0
        shared = shared and index < view.size("layers")
    return (None, True) if shared else (made, False)


def _blocks(view: View, index: int) -> Indexer | None:
    """Block-sparse attention (MiniMax-M3): a scorer that chooses blocks of tokens."""
    part = "sparse_attention_config."
    if not view.flag(part + "use_sparse_attention"):
        return None
    which = view.items(part + "sparse_attention_freq")
    view.use(*(part + k for k in (
        "sparse_disable_index_value", "sparse_init_block", "sparse_local_block", "sparse_score_type",
    )))  # fmt: skip
    if which is not None and index < len(which) and not which[index]:
        return None
    return Indexer(
        view.size(part + "sparse_num_index_heads"),
        view.size(part + "sparse_index_dim"),
        view.size(part + "sparse_topk_blocks"),
        view.size_or_none("rotary_dims") or 0,
        view.size(part + "sparse_block_size"),
    )
