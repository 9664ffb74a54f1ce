"""DeepSeek-V4: its compressed attention and residual streams have a record and a builder of their own."""

from __future__ import annotations

from catalogue.compressed import DeepSeekV4, Engram
from catalogue.huggingface.errors import ConfigError
from catalogue.huggingface.patterns import HOW_TO
from catalogue.huggingface.quantization import Scheme
from catalogue.huggingface.view import View

_RATIOS = (0, 4, 128)
_SHARED_RATIOS = (0, 1, 2)


def is_v4(view: View) -> bool:
    """Whether the keys are those of DeepSeek-V4, whatever the model_type is called."""
    return view.has("compress_ratios") and view.has("hc_mult")


def read(view: View, scheme: Scheme) -> DeepSeekV4:
    """The facts of a DeepSeek-V4 model."""
    layers, ratios = view.size("layers"), view.items("compress_ratios") or []
    sources = _layers(view, "kv_source_layer_ids")
    known = _SHARED_RATIOS if sources else _RATIOS
    odd = sorted({str(r) for r in ratios if r not in known})
    if odd:
        raise ConfigError(
            f"{view.name} must compress by {', '.join(map(str, known))}, but compress_ratios holds "
            f"{', '.join(odd)}, which no part describes; {HOW_TO}"
        )
    drafts = view.count("drafts")
    if len(ratios) < layers:
        raise ConfigError(
            f"{view.name}: compress_ratios must have an entry for each of {layers} layers, "
            f"but has {len(ratios)}"
        )
    ratios = [*ratios, *[0] * (layers + drafts - len(ratios))]
    view.use("num_key_value_heads", "scoring_func", "topk_method", "norm_topk_prob", "hidden_act", "hc_eps")
    view.use("attention_bias", "expert_dtype", "torch_dtype", "dtype", "tie_word_embeddings")
    return DeepSeekV4(
        layers=layers,
        hidden=view.size("hidden"),
        vocabulary=view.size("vocabulary"),
        max_position=view.size("max_position", 1048576, "as in DeepSeek-V4"),
        norm_epsilon=view.number("epsilon", 1e-6),
        streams=view.size("hc_mult"),
        sinkhorn_iterations=view.size("hc_sinkhorn_iters", 20, "as in DeepSeek-V4"),
        heads=view.size("heads"),
        head_dim=view.size("head_dim"),
        rope_dims=view.size("qk_rope_head_dim"),
        rope_theta=view.number("theta", 10000.0),
        compressed_rope_theta=view.number("compress_rope_theta", 160000.0),
        q_rank=view.size("q_lora_rank"),
        output_groups=view.size("o_groups"),
        output_rank=view.size("o_lora_rank"),
        window=view.size("window"),
        compress_ratios=tuple(int(str(r)) for r in ratios),
        index_heads=view.size("index_n_heads"),
        index_dim=view.size("index_head_dim"),
        index_rows=view.size("index_topk"),
        experts=view.size("experts"),
        experts_per_token=view.size("experts_chosen"),
        expert_width=view.size("expert_width"),
        shared_experts=view.size("shared_count"),
        hash_layers=view.count("num_hash_layers"),
        routed_scale=view.number("scale", 1.0) if view.has("scale") else _scale(view),
        swiglu_limit=view.number("swiglu_limit", 10.0),
        draft_layers=drafts,
        expert_format=_expert_format(view, scheme),
        draft_experts=view.count("dspark_n_routed_experts"),
        draft_experts_per_token=view.count("dspark_num_experts_per_tok"),
        kv_sources=sources,
        index_sources=_layers(view, "index_source_layer_ids"),
        candidates=view.count("candidate_topk_blocks") * view.count("candidate_block_size"),
        engram=_engram(view),
    )


def _layers(view: View, key: str) -> tuple[int, ...]:
    return tuple(sorted(view.indices(key) or ()))


def _engram(view: View) -> Engram | None:
    """N-grams of 2 and more tokens, hashed by several heads, each to a row of the layer's table."""
    layers = _layers(view, "engram_layer_ids")
    if not layers:
        return None
    heads, longest = view.size("engram_n_heads"), view.size("engram_max_ngram_size")
    entries = sum(
        view.whole("engram_num_embeddings", n, 1) for n in view.items("engram_num_embeddings") or ()
    )
    width = view.size("engram_head_dim")
    view.use("engram_vocab_size", "engram_compressed_vocab_size", "candidate_source_layer_id")
    view.use("dspark_block_size", "dspark_target_layer_ids", "dspark_markov_rank", "dspark_noise_token_id")
    view.assume(
        f"Engram tables ({entries * width / 1e9:.1f} B parameters of fp8) are kept outside device memory and "
        "not counted; of each token's rows only the projection is."
    )
    return Engram(layers, heads * (longest - 1), width, entries)


def _expert_format(view: View, scheme: Scheme) -> str:
    """FP4 as published, unless a scheme names the experts or holds for all layers of a copy."""
    named = scheme.of(("layers.0.ffn.experts", "layers.0.ffn.experts.0.w1"))
    if named.weights not in ("bf16", "fp8"):
        return named.weights
    if view.has("expert_dtype") or view.family.startswith("deepseek_v4"):
        return "mxfp4"
    view.assume("expert_dtype is not stated; routed experts are taken as fp8, like all other matrices.")
    return "fp8"


def _scale(view: View) -> float:
    view.assume("routed_scaling_factor is not stated; 1.5 is taken, as in DeepSeek-V4-Flash.")
    return 1.5
