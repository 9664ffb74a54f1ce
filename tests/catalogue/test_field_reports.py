"""What users of other evaluators reported as wrong, each with the right value and the public report.

Bytes are per sequence. Each test stands for its kind of fault: head widths, latent caches, windows, recurrent
layers, shared caches, tied heads, experts and gated feed-forwards.
"""

from __future__ import annotations

from typing import Any

import pytest

from catalogue.architecture import Architecture, Dense, Experts, GatedDelta, GroupedQuery, Latent, Mixer
from catalogue.huggingface import Imported, read_config
from catalogue.models import counts
from rooflang.dtype import format_of
from tests.catalogue.published import PUBLISHED

DEEPSEEK_V3 = {
    "model_type": "deepseek_v3", "hidden_size": 7168, "intermediate_size": 18432, "num_hidden_layers": 61,
    "num_attention_heads": 128, "num_key_value_heads": 128, "q_lora_rank": 1536, "kv_lora_rank": 512,
    "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 129280,
    "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8, "moe_intermediate_size": 2048,
    "first_k_dense_replace": 3, "moe_layer_freq": 1, "n_group": 8, "topk_group": 4, "topk_method": "noaux_tc",
    "num_nextn_predict_layers": 1, "scoring_func": "sigmoid", "routed_scaling_factor": 2.5,
}  # fmt: skip
GLM_5 = {
    **DEEPSEEK_V3, "model_type": "glm_moe_dsa", "hidden_size": 6144, "intermediate_size": 12288,
    "num_hidden_layers": 78, "num_attention_heads": 64, "num_key_value_heads": 64, "q_lora_rank": 2048,
    "qk_nope_head_dim": 192, "v_head_dim": 256, "vocab_size": 154880, "n_group": 1, "topk_group": 1,
    "head_dim": 64, "index_head_dim": 128, "index_n_heads": 32, "index_topk": 2048,
}  # fmt: skip
GPT_OSS_120B = {
    "model_type": "gpt_oss", "hidden_size": 2880, "intermediate_size": 2880, "num_hidden_layers": 36,
    "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64, "vocab_size": 201088,
    "num_local_experts": 128, "num_experts_per_tok": 4, "sliding_window": 128,
    "layer_types": ["sliding_attention", "full_attention"] * 18,
}  # fmt: skip
V4_FLASH = {
    "model_type": "deepseek_v4", "hidden_size": 4096, "num_hidden_layers": 43, "num_attention_heads": 64,
    "num_key_value_heads": 1, "head_dim": 512, "vocab_size": 129280, "moe_intermediate_size": 2048,
    "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 6, "q_lora_rank": 1024,
    "o_lora_rank": 1024, "o_groups": 8, "qk_rope_head_dim": 64, "index_head_dim": 128, "index_n_heads": 64,
    "index_topk": 512, "sliding_window": 128, "num_hash_layers": 3, "hc_mult": 4, "hc_sinkhorn_iters": 20,
    "compress_rope_theta": 160000, "compress_ratios": [0, 0, *[4, 128] * 20, 4, 0], "expert_dtype": "fp4",
    "num_nextn_predict_layers": 1, "routed_scaling_factor": 1.5, "swiglu_limit": 10.0,
    "max_position_embeddings": 1048576,
}  # fmt: skip
QWEN_HYBRID_27B = {
    "model_type": "qwen3_5", "hidden_size": 5120, "intermediate_size": 17408, "num_hidden_layers": 64,
    "num_attention_heads": 24, "num_key_value_heads": 4, "head_dim": 256, "vocab_size": 248320,
    "full_attention_interval": 4, "linear_conv_kernel_dim": 4, "linear_num_key_heads": 16,
    "linear_num_value_heads": 48, "linear_key_head_dim": 128, "linear_value_head_dim": 128,
    "mtp_num_hidden_layers": 1,
}  # fmt: skip
GEMMA_3N = {
    "model_type": "gemma3n_text", "hidden_size": 2048, "intermediate_size": [16384] * 35,
    "num_hidden_layers": 35, "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 256,
    "vocab_size": 262400, "num_kv_shared_layers": 15, "sliding_window": 512,
    "layer_types": (["sliding_attention"] * 4 + ["full_attention"]) * 7,
}  # fmt: skip
LLAMA_70B = {
    "model_type": "llama", "hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80,
    "num_attention_heads": 64, "num_key_value_heads": 8, "vocab_size": 128256,
}  # fmt: skip
MIXTRAL = {
    "model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 32000, "num_local_experts": 8,
    "num_experts_per_tok": 2, "sliding_window": None, "tie_word_embeddings": False,
}  # fmt: skip


def read(config: dict[str, Any]) -> Imported:
    return read_config(config, "model")


def published(name: str) -> Imported:
    return read(PUBLISHED[name].config)


def facts(found: Imported) -> Architecture:
    assert isinstance(found.architecture, Architecture)
    return found.architecture


def cache_bytes(found: Imported, context: int, kv: str = "bf16") -> int:
    design = found.design("bf16" if kv == "bf16" else "served")
    return round(counts.kv_bytes_per_token(design, context) * context)


def elements(mixer: Mixer | None) -> int:
    """Cached elements of one token in one layer."""
    if isinstance(mixer, Latent):
        return mixer.latent + mixer.rope_dims
    if isinstance(mixer, GroupedQuery) and not mixer.reuses_cache:
        return mixer.kv_heads * (mixer.head_dim + mixer.value_dim)
    return 0


@pytest.mark.parametrize(("name", "expected"), [("qwen3-4b", 147_456), ("qwen3-0.6b", 114_688)])
def test_heads_may_be_wider_than_their_share(name: str, expected: int) -> None:
    """https://github.com/LMCache/LMCache/issues/688: the stated head_dim holds, not hidden / heads."""
    assert cache_bytes(published(name), 1) == expected


def test_latent_rows_are_stored_once_with_their_rotary_part() -> None:
    """https://github.com/LMCache/LMCache/pull/694, https://github.com/LMCache/LMCache/issues/2132."""
    found = read(DEEPSEEK_V3)
    assert cache_bytes(found, 1) == 70_272
    assert cache_bytes(found, 1, "served") == 35_136
    assert sum(elements(layer.mixer) for layer in facts(found).layers) == 35_136


def test_index_keys_have_a_width_of_their_own() -> None:
    """https://github.com/NVIDIA/TensorRT-LLM/pull/15088: bf16 latent rows beside index keys of 128 + 4 B."""
    layers = facts(read(GLM_5)).layers
    keys = [layer.mixer.indexer for layer in layers if isinstance(layer.mixer, Latent)]
    row = sum(2 * elements(layer.mixer) for layer in layers)
    assert row + sum(k.dim * format_of("fp8_key").bytes for k in keys if k) == 100_152
    assert cache_bytes(read(GLM_5), 1) == 78 * (1152 + 256)
    assert cache_bytes(read(GLM_5), 1, "served") == 78 * (656 + 132)


def test_compressed_caches() -> None:
    """https://github.com/jundot/omlx/pull/2626, https://github.com/spark-arena/sparkrun/pull/247."""
    context = 1_048_576
    rows = 43 * 128 + 21 * (context // 4) + 20 * (context // 128)
    keys = 21 * (context // 4)
    found = read(V4_FLASH)
    assert cache_bytes(found, context) == 2 * (512 * rows + 128 * keys)
    assert cache_bytes(found, context, "served") == 584 * rows + 68 * keys  # not 88,064 B a token
    assert cache_bytes(found, context, "served") / context < 3_600


def test_windows_keep_their_last_tokens_alone() -> None:
    """https://github.com/ai-dynamo/aiconfigurator/pull/1537."""
    found = read(GPT_OSS_120B)
    assert cache_bytes(found, 65_936, "served") == 18 * 1024 * 65_936 + 18 * 1024 * 128
    assert cache_bytes(found, 131_072) == 4_836_556_800


def test_recurrent_layers_have_a_state_and_no_cache() -> None:
    """https://github.com/ai-dynamo/aisimulate/pull/176, https://github.com/NVIDIA/TensorRT-LLM/pull/5371."""
    found = published("nemotron-h-56b")
    assert cache_bytes(found, 1) == 2 * 20_480
    assert sum(elements(layer.mixer) for layer in facts(found).layers) == 20_480
    state, window = 54 * 256 * 64 * 256, 54 * (16384 + 4096) * 3
    assert (state, window) == (226_492_416, 3_317_760)
    assert counts.state_bytes(found.design()) == 4 * state + 2 * window


def test_linear_layers_of_hybrids_are_not_billed_as_attention() -> None:
    """https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1862: 16 of 64 layers have a cache."""
    found = read(QWEN_HYBRID_27B)
    assert cache_bytes(found, 262_144) == 16_384 * 2**20
    delta = [layer.mixer for layer in facts(found).layers if isinstance(layer.mixer, GatedDelta)]
    state = sum(m.value_heads * m.key_dim * m.value_dim for m in delta)
    window = sum((2 * m.key_heads * m.key_dim + m.value_heads * m.value_dim) * (m.conv - 1) for m in delta)
    assert 4 * (4 * state + 4 * window) == 598.5 * 2**20  # four slots, all in f32, as in the report


def test_draft_layers_have_caches() -> None:
    """https://github.com/noonghunna/club-3090/pull/1328: 17/16 of the cache with one draft layer."""
    architecture = facts(read(QWEN_HYBRID_27B))
    main = sum(elements(layer.mixer) for layer in architecture.layers)
    draft = sum(elements(layer.mixer) for layer in architecture.draft)
    assert (main + draft) * 16 == main * 17


def test_windows_among_global_layers() -> None:
    """https://github.com/unslothai/unsloth/pull/4757."""
    found = published("gemma-3-27b")
    windows = [layer.mixer.window for layer in facts(found).layers if isinstance(layer.mixer, GroupedQuery)]
    assert (windows.count(None), windows.count(1024)) == (10, 52)
    assert cache_bytes(found, 131_072) == 11_173_625_856


def test_layers_that_share_a_cache() -> None:
    """https://github.com/unslothai/unsloth/pull/5225: 20 of 35 layers keep keys and values."""
    found = read(GEMMA_3N)
    kept = [layer.mixer for layer in facts(found).layers if elements(layer.mixer)]
    assert len(kept) == 20
    context = 131_072  # 4 of the 20 are global, the others keep 512 tokens
    assert cache_bytes(found, context) == (4 * context + 16 * 512) * 2 * (2 * 2 * 256)


def test_multi_head_attention() -> None:
    """https://github.com/jranaraki/vllm-fit/issues/2."""
    assert cache_bytes(published("llama-2-7b"), 1) == 524_288


def test_latent_attention_is_no_grouped_query() -> None:
    """GenZ at 091bdd0 entered DeepSeek-V3 with 2 heads of 56: 13,664 elements of 35,136."""
    layers = facts(read(DEEPSEEK_V3)).layers
    assert all(isinstance(layer.mixer, Latent) for layer in layers)


def test_every_expert_and_the_head_count() -> None:
    """https://github.com/jranaraki/vllm-fit/issues/27."""
    assert counts.parameters(read(MIXTRAL).design()) == 46_702_792_704


@pytest.mark.parametrize(("name", "total"), [("qwen3-0.6b", 596_049_920), ("qwen3-4b", 4_022_468_096)])
def test_tied_heads_count_once_and_still_multiply(name: str, total: int) -> None:
    """https://github.com/pytorch/torchtitan/pull/3225."""
    config = PUBLISHED[name].config
    tied, untied = read(config).design(), read({**config, "tie_word_embeddings": False}).design()
    table = config["hidden_size"] * config["vocab_size"]
    assert counts.parameters(tied) == total
    assert counts.parameters(untied) == total + table
    assert counts.flops_per_token(tied, 4096) == counts.flops_per_token(untied, 4096) > 2 * table


def test_interleaved_experts() -> None:
    """https://github.com/inference-sim/inference-sim/issues/877: with a step of 1 every layer has experts."""
    scout, maverick = published("llama-4-scout"), published("llama-4-maverick")
    assert counts.parameters(scout.design()) == pytest.approx(107.8e9, rel=1e-3)  # not 62 B
    assert counts.parameters(maverick.design()) == pytest.approx(400.7e9, rel=1e-3)
    assert sum(isinstance(layer.feed, Experts) for layer in facts(maverick).layers) == 24


def test_gated_feed_forwards_have_three_matrices() -> None:
    """https://github.com/inference-sim/inference-sim/pull/561: a step reads at least the weights."""
    feeds = [layer.feed for layer in facts(read(LLAMA_70B)).layers]
    assert all(isinstance(f, Dense) and f.activation.gated for f in feeds)
    least = counts.parameters(read(LLAMA_70B).design()) - 128_256 * 8192  # bytes in fp8, less the embedding
    assert 2.55e-3 < least / (8 * 3.35e12) < 2.64e-3


def test_widths_that_are_no_multiple_of_the_hidden_size() -> None:
    """llm-analysis 0.2.2 refuses 28672 / 8192 = 3.5."""
    assert counts.parameters(read(LLAMA_70B).design()) == 70_553_706_496
