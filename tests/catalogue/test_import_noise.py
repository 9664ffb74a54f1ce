"""Keys of published configs that no decode step depends on: they change nothing and are not reported."""

from __future__ import annotations

from typing import Any

import pytest

from catalogue.architecture import Architecture
from catalogue.huggingface import read_config
from tests.catalogue.published import PUBLISHED

COMMON: dict[str, Any] = {
    "architectures": ["SomeForCausalLM"], "attention_dropout": 0.0,
    "auto_map": {"AutoConfig": "configuration_x.X"}, "bos_token_id": 1, "eos_token_id": [2, 3],
    "pad_token_id": 0, "initializer_range": 0.02, "use_cache": True, "transformers_version": "4.51.0",
    "pretraining_tp": 1, "_name_or_path": "x", "output_router_logits": False, "router_aux_loss_coef": 0.001,
    "sep_token_id": None, "return_dict": True, "id2label": {"0": "A"}, "label2id": {"A": 0},
    "torchscript": False, "top_k": 50, "temperature": 1.0, "task_specific_params": None,
}  # fmt: skip
KEYS: dict[str, dict[str, Any]] = {
    "llama-3.2-1b": {
        "rope_scaling": {
            "factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
            "original_max_position_embeddings": 8192, "rope_type": "llama3",
        },
        "attention_bias": False, "mlp_bias": False,
    },
    "phi-3-mini-4k": {
        "embd_pdrop": 0.0, "resid_pdrop": 0.0, "original_max_position_embeddings": 4096, "rope_scaling": None,
        "full_attn_mod": 1, "lm_head_bias": False, "interpolate_factor": 1, "attention_bias": False,
    },
    "phi-3.5-moe": {
        "input_jitter_noise": 0.01, "router_jitter_noise": 0.01, "hidden_dropout": 0.0,
        "rope_scaling": {"long_factor": [1.0, 1.1], "short_factor": [1.0, 1.0], "type": "longrope"},
        "original_max_position_embeddings": 4096, "sliding_window": 131072, "max_position_embeddings": 131072,
    },
    "qwen2.5-7b": {"rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]},
    "vision_start_token_id": 5}, "qwen1.5-moe-a2.7b": {"use_sliding_window": False, "sliding_window": 32768,
    "max_window_layers": 21}, "qwen3-30b-a3b": {"max_window_layers": 48, "use_sliding_window": False,
    "sliding_window": None}, "gemma-2-9b": {"cache_implementation": "hybrid",
    "final_logit_softcapping": 30.0, "hidden_act": "silu"}, "gemma-3-27b": {
        "boi_token_index": 255999, "mm_tokens_per_image": 256, "image_token_index": 262144,
        "audio_config": None,
    },
    "deepseek-v2": {
        "aux_loss_alpha": 0.001, "ep_size": 1, "seq_aux": True, "attention_bias": False,
        "norm_topk_prob": False, "rope_scaling": {"beta_fast": 32, "factor": 1, "mscale": 0.707,
        "type": "yarn"},
    },
    "dbrx": {
        "emb_pdrop": 0.0, "resid_pdrop": 0.0,
        "attn_config": {"kv_n_heads": 8, "clip_qkv": 8, "rope_theta": 500000, "model_type": "",
        "attn_pdrop": 0},
    },
    "granite-4.0-h-small": {
        "attention_multiplier": 0.08838834764831845, "embedding_multiplier": 12, "logits_scaling": 16,
        "residual_multiplier": 0.22, "normalization_function": "rmsnorm", "init_method": "mup",
        "mamba_chunk_size": 256, "rope_theta": 10000,
    },
    "falcon-h1-34b": {
        "attn_layer_indices": None, "embedding_multiplier": 5.0, "key_multiplier": 0.01,
        "lm_head_multiplier": 0.02, "mlp_multipliers": [0.4, 0.03], "ssm_multipliers": [0.3, 0.1, 0.1, 0.5,
        0.3], "mamba_use_mlp": True, "mamba_norm_before_gate": False, "mamba_rms_norm": False,
        "projectors_bias": False, "mlp_expansion_factor": 8, "num_logits_to_keep": 1,
        "time_step_floor": 0.0001, "mamba_chunk_size": 128,
    },
    "command-r7b": {
        "layer_switch": 4, "order_of_interleaved_layers": "local_attn_first",
        "position_embedding_type": "rope_gptj", "rotary_pct": 1.0, "use_embedding_sharing": True,
        "use_gated_activation": True, "use_parallel_block": True, "use_parallel_embedding": False,
        "cache_implementation": "hybrid", "logit_scale": 0.25, "use_qk_norm": False,
    },
    "chatglm-4-9b": {
        "apply_query_key_layer_scaling": True, "apply_residual_connection_post_layernorm": False,
        "attention_softmax_in_fp32": True, "bias_dropout_fusion": True, "classifier_dropout": None,
        "fp32_residual_connection": False, "hidden_dropout": 0.0, "original_rope": True,
        "post_layer_norm": True, "rope_ratio": 1,
    },
    "hunyuan-a13b": {
        "capacity_factor": 1.0, "moe_drop_tokens": False, "moe_random_routing_dropped_token": False,
        "mask_init_id": 12, "norm_type": "rms", "num_media_embeds": 257, "pool_type": "last",
        "use_cla": False, "cla_share_factor": 1, "class_num": 0, "dense_list": [4096, 0],
        "use_rotary_pos_emb": True, "org_vocab_size": 128167, "routed_scaling_factor": 1.0,
        "group_limited_greedy": False, "use_mla": False, "kv_lora_rank": None, "q_lora_rank": None,
        "qk_rope_head_dim": None, "v_head_dim": None, "max_image_size": 2048, "vit_type": None,
        "im_start_id": 5, "anyres_pooling_size": 2, "moe_layer_num_skipped": 0,
    },
    "ernie-4.5-21b-a3b": {
        "moe_gate": "topk", "moe_capacity": [64, 64, 64], "moe_gate_act": "softmax", "moe_norm_min": 1e-12,
        "fuse_rms_norm": True, "use_rmsnorm": True, "compression_ratio": 1.0, "freq_allocation": 0,
        "multi_token_pred_lambda": 0.3, "use_recompute_moe": False, "moe_aux_loss_lambda": 1e-5,
    },
    "smollm3-3b": {
        "layer_types": ["full_attention"] * 36, "max_window_layers": 28, "sliding_window": None,
        "use_sliding_window": False, "attention_bias": False,
    },
    "starcoder2-3b": {
        "embedding_dropout": 0.1, "residual_dropout": 0.1, "mlp_type": "default", "norm_type": "layer_norm",
        "norm_epsilon": 1e-5,
    },
    "gpt2": {
        "attn_pdrop": 0.1, "embd_pdrop": 0.1, "resid_pdrop": 0.1, "layer_norm_epsilon": 1e-5, "n_inner": None,
        "reorder_and_upcast_attn": False, "scale_attn_weights": True, "summary_activation": None,
        "summary_type": "cls_index", "summary_use_proj": True, "summary_proj_to_labels": True,
        "task_specific_params": {"text-generation": {"do_sample": True, "max_length": 50}},
    },
    "gpt-neox-20b": {
        "attention_probs_dropout_prob": 0, "hidden_dropout_prob": 0, "rotary_emb_base": 10000,
        "layer_norm_eps": 1e-5,
    },
    "minicpm3-4b": {"rope_scaling": {"type": "longrope", "long_factor": [1.0], "short_factor": [1.0]}},
    "glm-4.5-air": {"use_qk_norm": False, "partial_rotary_factor": 0.5, "n_group": 1, "topk_group": 1},
    "kimi-linear-48b-a3b": {
        "head_dim": 72, "moe_renormalize": True, "num_expert_group": 1, "topk_group": 1,
        "use_grouped_topk": True, "routed_scaling_factor": 2.446, "model_max_length": 1048576,
        "num_nextn_predict_layers": 0,
    },
    "ling-lite": {
        "embedding_dropout": 0.0, "output_dropout": 0.0, "max_window_layers": 28, "norm_head": False,
        "norm_softmax": False, "use_sliding_window": False, "using_split_qkv_in_self_attention": False,
        "moe_shared_expert_intermediate_size": 2816,
    },
    "llama-4-scout": {
        "attn_scale": 0.1, "attn_temperature_tuning": 4, "floor_scale": 8192, "for_llm_compressor": False,
        "no_rope_layers": [], "boi_token_index": 200080, "rope_theta": 500000.0, "router_jitter_noise": 0.0,
        "attention_bias": False,
    },
    "nemotron-h-56b": {
        "chunk_size": 128, "hidden_dropout": 0.0, "layer_norm_epsilon": 1e-5, "mamba_hidden_act": "silu",
        "mamba_proj_bias": False, "num_logits_to_keep": 1, "rescale_prenorm_residual": True,
        "residual_in_fp32": False, "time_step_limit": [0.0, float("inf")], "time_step_rank": 512,
        "use_mamba_kernels": True, "sliding_window": None, "attention_bias": False, "mlp_bias": False,
    },
    "exaone-4.0-32b": {"layer_types": (["sliding_attention"] * 3 + ["full_attention"]) * 16},
}  # fmt: skip


@pytest.mark.parametrize("name", KEYS)
def test_keys_that_say_nothing_change_nothing(name: str) -> None:
    plain = PUBLISHED[name].config
    full = read_config({**COMMON, **plain, **KEYS[name]}, name)
    assert full.not_understood == ()
    before, after = read_config(plain, name).architecture, full.architecture
    assert isinstance(before, Architecture)
    assert isinstance(after, Architecture)
    for mine, other in zip(before.layers, after.layers, strict=True):
        assert type(mine.mixer) is type(other.mixer)
        assert mine.feed == other.feed or name in ("deepseek-v2", "kimi-linear-48b-a3b")  # scales of shares
    assert (before.tied, before.vocabulary, len(before.draft)) == (
        after.tied,
        after.vocabulary,
        len(after.draft),
    )


@pytest.mark.parametrize(
    "wrapper",
    [
        {
            "model_type": "internvl_chat", "downsample_ratio": 0.5, "dynamic_image_size": True,
            "force_image_size": 448, "max_dynamic_patch": 12, "min_dynamic_patch": 1, "pad2square": False,
            "ps_version": "v2", "select_layer": -1, "template": "x", "use_backbone_lora": 0,
            "use_llm_lora": 0, "use_thumbnail": True, "hidden_size": 4096,
            "vision_config": {"hidden_size": 1024},
        },
        {
            "model_type": "llava", "image_seq_length": 576, "vision_feature_layer": -2,
            "projector_hidden_act": "gelu", "vision_feature_select_strategy": "default",
            "multimodal_projector_bias": True, "image_token_index": 32000,
        },
        {
            "model_type": "deepseek_vl_v2", "candidate_resolutions": [[384, 384]], "global_view_pos": "head",
            "tile_tag": "2D", "projector_config": {"n_embed": 1280, "projector_type": "mlp"},
        },
        {"model_type": "mistral3", "spatial_merge_size": 2, "image_token_index": 10},
    ],
)  # fmt: skip
def test_keys_of_wrappers_say_nothing(wrapper: dict[str, Any]) -> None:
    plain = PUBLISHED["qwen2.5-7b"].config
    for part in ("text_config", "llm_config", "language_config"):
        found = read_config({**wrapper, part: plain}, "model")
        assert found.not_understood == ()
        assert found.architecture == read_config(plain, "model").architecture
