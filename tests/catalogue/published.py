"""Reduced configs of published models, with the totals that their publishers state.

Only the keys that a total depends on are kept. Totals without a tolerance are those of the weight files, to
the last parameter; others are what the model's card rounds to. Sources: model cards on huggingface.co.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Published:
    """A config and its total; `missing` parameters have no part here (learned positions, a head's bias)."""

    config: dict[str, Any]
    parameters: float
    tolerance: float = 0.0
    missing: int = 0


def _of(
    model_type: str,
    hidden: int,
    width: int,
    layers: int,
    heads: int,
    kv: int | None,
    vocabulary: int,
    **more: Any,
) -> dict[str, Any]:
    found = {
        "model_type": model_type, "hidden_size": hidden, "intermediate_size": width,
        "num_hidden_layers": layers, "num_attention_heads": heads, "vocab_size": vocabulary,
        "hidden_act": "silu", "torch_dtype": "bfloat16", **more,
    }  # fmt: skip
    return found if kv is None else {**found, "num_key_value_heads": kv}


_MLA = {"kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128}
_TIED, _UNTIED = {"tie_word_embeddings": True}, {"tie_word_embeddings": False}

PUBLISHED: dict[str, Published] = {
    "llama-2-7b": Published(_of("llama", 4096, 11008, 32, 32, None, 32000), 6_738_415_616),
    "llama-3.2-1b": Published(
        _of("llama", 2048, 8192, 16, 32, 8, 128256, head_dim=64, **_TIED), 1_235_814_400
    ),
    "llama-3.2-3b": Published(
        _of("llama", 3072, 8192, 28, 24, 8, 128256, head_dim=128, **_TIED), 3_212_749_824
    ),
    "mistral-7b-v0.1": Published(
        _of("mistral", 4096, 14336, 32, 32, 8, 32000, sliding_window=4096, max_position_embeddings=32768),
        7_241_732_096,
    ),
    "mistral-nemo-12b": Published(
        _of("mistral", 5120, 14336, 40, 32, 8, 131072, head_dim=128, sliding_window=None), 12_247_782_400
    ),
    "qwen2-0.5b": Published(
        _of("qwen2", 896, 4864, 24, 14, 2, 151936, use_sliding_window=False, sliding_window=131072, **_TIED),
        494_032_768,
    ),
    "qwen2.5-7b": Published(
        _of(
            "qwen2", 3584, 18944, 28, 28, 4, 152064, use_sliding_window=False, sliding_window=131072,
            max_window_layers=28,
        ),
        7_615_616_512,
    ),
    "qwen2.5-72b": Published(_of("qwen2", 8192, 29568, 80, 64, 8, 152064), 72_706_203_648),
    "qwen3-0.6b": Published(
        _of("qwen3", 1024, 3072, 28, 16, 8, 151936, head_dim=128, attention_bias=False, **_TIED), 596_049_920
    ),
    "qwen3-4b": Published(
        _of("qwen3", 2560, 9728, 36, 32, 8, 151936, head_dim=128, attention_bias=False, **_TIED),
        4_022_468_096,
    ),
    "qwen1.5-moe-a2.7b": Published(
        _of(
            "qwen2_moe", 2048, 5632, 24, 16, 16, 151936, moe_intermediate_size=1408, num_experts=60,
            shared_expert_intermediate_size=5632, num_experts_per_tok=4, decoder_sparse_step=1,
            norm_topk_prob=False,
        ),
        14_315_784_192,
    ),
    "qwen3-30b-a3b": Published(
        _of(
            "qwen3_moe", 2048, 6144, 48, 32, 4, 151936, head_dim=128, moe_intermediate_size=768,
            num_experts=128, num_experts_per_tok=8, decoder_sparse_step=1, mlp_only_layers=[],
        ),
        30_532_122_624,
    ),
    "phi-3-mini-4k": Published(_of("phi3", 3072, 8192, 32, 32, 32, 32064), 3_821_079_552),
    "phi-4": Published(
        _of("phi3", 5120, 17920, 40, 40, 10, 100352, partial_rotary_factor=1.0), 14_659_507_200
    ),
    "phi-2": Published(
        _of("phi", 2560, 10240, 32, 32, 32, 51200, hidden_act="gelu_new", partial_rotary_factor=0.4),
        2_779_683_840, missing=51_200,
    ),
    "phi-3.5-moe": Published(
        _of(
            "phimoe", 4096, 6400, 32, 32, 8, 32064, num_local_experts=16, num_experts_per_tok=2,
            attention_bias=True, lm_head_bias=True,
        ),
        41_873_153_344, missing=32_064,
    ),
    "gemma-7b": Published(
        _of("gemma", 3072, 24576, 28, 16, 16, 256000, head_dim=256, hidden_act="gelu"), 8_537_680_896
    ),
    "gemma-2-9b": Published(
        _of(
            "gemma2", 3584, 14336, 42, 16, 8, 256000, head_dim=256, sliding_window=4096,
            hidden_activation="gelu_pytorch_tanh", query_pre_attn_scalar=256, attn_logit_softcapping=50.0,
        ),
        9_241_705_984,
    ),
    "gemma-3-27b": Published(
        {
            "model_type": "gemma3",
            "text_config": {
                "model_type": "gemma3_text", "hidden_size": 5376, "intermediate_size": 21504, "head_dim": 128,
                "num_attention_heads": 32, "num_key_value_heads": 16, "num_hidden_layers": 62,
                "sliding_window": 1024, "query_pre_attn_scalar": 168,
                "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
            },
            "vision_config": {"hidden_size": 1152, "num_hidden_layers": 27},
        },
        27_009_346_304,
    ),
    "olmo-2-7b": Published(_of("olmo2", 4096, 11008, 32, 32, 32, 100352, **_UNTIED), 7_298_617_344),
    "olmoe-1b-7b": Published(
        _of("olmoe", 2048, 1024, 16, 16, 16, 50304, num_experts=64, num_experts_per_tok=8, clip_qkv=None),
        6_919_161_856,
    ),
    "deepseek-v2-lite": Published(
        _of(
            "deepseek_v2", 2048, 10944, 27, 16, 16, 102400, q_lora_rank=None, **_MLA, n_routed_experts=64,
            moe_intermediate_size=1408, n_shared_experts=2, num_experts_per_tok=6, first_k_dense_replace=1,
            moe_layer_freq=1, topk_method="greedy", scoring_func="softmax",
        ),
        15_706_484_224,
    ),
    "deepseek-v2": Published(
        _of(
            "deepseek_v2", 5120, 12288, 60, 128, 128, 102400, q_lora_rank=1536, **_MLA, n_routed_experts=160,
            moe_intermediate_size=1536, n_shared_experts=2, num_experts_per_tok=6, first_k_dense_replace=1,
            moe_layer_freq=1, topk_method="group_limited_greedy", n_group=8, topk_group=3,
        ),
        235_741_434_880,
    ),
    "dbrx": Published(
        {
            "model_type": "dbrx", "d_model": 6144, "n_layers": 40, "n_heads": 48, "vocab_size": 100352,
            "max_seq_len": 32768, "attn_config": {"kv_n_heads": 8, "clip_qkv": 8, "rope_theta": 500000},
            "ffn_config": {
                "ffn_hidden_size": 10752, "moe_num_experts": 16, "moe_top_k": 4,
                "ffn_act_fn": {"name": "silu"}, "moe_normalize_expert_weights": 1,
            },
        },
        131_596_523_520,
    ),
    "granite-4.0-h-small": Published(
        _of(
            "granitemoehybrid", 4096, 768, 40, 32, 8, 100352, num_local_experts=72, num_experts_per_tok=10,
            shared_intermediate_size=1536, mamba_n_heads=128, mamba_d_head=64, mamba_d_state=128,
            mamba_n_groups=1, mamba_d_conv=4, mamba_expand=2, mamba_conv_bias=True, mamba_proj_bias=False,
            position_embedding_type="nope", **_TIED,
            layer_types=["attention" if i in (5, 15, 25, 35) else "mamba" for i in range(40)],
        ),
        32.2e9, 0.01,
    ),
    "falcon-h1-34b": Published(
        _of(
            "falcon_h1", 5120, 21504, 72, 20, 4, 261120, head_dim=128, mamba_d_ssm=4096, mamba_n_heads=32,
            mamba_d_head=128, mamba_d_state=256, mamba_n_groups=2, mamba_d_conv=4, mamba_conv_bias=True,
            **_UNTIED,
        ),
        33.6e9, 0.005,
    ),
    "command-r": Published(
        _of("cohere", 8192, 22528, 40, 64, 64, 256000, use_qk_norm=False, logit_scale=0.0625), 34_980_831_232
    ),
    "command-r7b": Published(
        _of(
            "cohere2", 4096, 14336, 32, 32, 8, 256000, sliding_window=4096, sliding_window_pattern=4,
            max_position_embeddings=132096,
        ),
        8_028_033_024,
    ),
    "glm-4-9b": Published(
        _of("glm4", 4096, 13696, 40, 32, 2, 151552, head_dim=128, attention_bias=True, **_UNTIED),
        9_400_279_040,
    ),
    "chatglm-4-9b": Published(
        {
            "model_type": "chatglm", "num_layers": 40, "hidden_size": 4096, "ffn_hidden_size": 13696,
            "num_attention_heads": 32, "multi_query_attention": True, "multi_query_group_num": 2,
            "kv_channels": 128, "padded_vocab_size": 151552, "add_qkv_bias": True, "add_bias_linear": False,
            "seq_length": 131072, "layernorm_epsilon": 1.5625e-07, "rmsnorm": True, "torch_dtype": "bfloat16",
        },
        9_399_951_360,
    ),
    "hunyuan-a13b": Published(
        _of(
            "hunyuan_v1_moe", 4096, 3072, 32, 32, 8, 128167, attention_head_dim=128, num_experts=64,
            moe_topk=[8] * 32, moe_intermediate_size=[3072] * 32, num_shared_expert=[1] * 32,
            use_mixed_mlp_moe=True, use_qk_norm=True, **_TIED,
        ),
        80_393_183_232,
    ),
    "ernie-4.5-21b-a3b": Published(
        _of(
            "ernie4_5_moe", 2560, 12288, 28, 20, 4, 103424, moe_num_experts=64, moe_k=6,
            moe_intermediate_size=1536, moe_num_shared_experts=2, moe_layer_start_index=1,
            moe_layer_end_index=27, moe_layer_interval=1, use_bias=False, moe_use_aux_free=True, **_TIED,
        ),
        21.8e9, 0.01,
    ),
    "ernie-4.5-0.3b": Published(
        _of("ernie4_5", 1024, 3072, 18, 16, 2, 103424, head_dim=128, use_bias=False, **_TIED), 360_748_032
    ),
    "smollm3-3b": Published(
        _of(
            "smollm3", 2048, 11008, 36, 16, 4, 128256, no_rope_layers=[1, 1, 1, 0] * 9,
            no_rope_layer_interval=4, **_TIED,
        ),
        3_075_098_624,
    ),
    "yi-34b": Published(_of("llama", 7168, 20480, 60, 56, 8, 64000), 34_388_917_248),
    "internlm2-7b": Published(_of("internlm2", 4096, 14336, 32, 32, 8, 92544, bias=False), 7_737_708_544),
    "internlm-7b": Published(_of("internlm", 4096, 11008, 32, 32, None, 103168, bias=True), 7_321_948_160),
    "starcoder2-3b": Published(
        _of(
            "starcoder2", 3072, 12288, 30, 24, 2, 49152, use_bias=True, hidden_act="gelu_pytorch_tanh",
            sliding_window=4096, max_position_embeddings=16384, **_TIED,
        ),
        3_030_371_328,
    ),
    "stablelm-2-1.6b": Published(
        _of("stablelm", 2048, 5632, 24, 32, 32, 100352, use_qkv_bias=True, partial_rotary_factor=0.25),
        1_644_515_328,
    ),
    "gpt2": Published(
        {
            "model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024,
            "n_ctx": 1024, "vocab_size": 50257, "activation_function": "gelu_new",
        },
        124_439_808, missing=786_432,
    ),
    "gpt-neox-20b": Published(
        _of(
            "gpt_neox", 6144, 24576, 44, 64, None, 50432, hidden_act="gelu_fast", rotary_pct=0.25,
            use_parallel_residual=True, **_UNTIED,
        ),
        20_554_567_680,
    ),
    "falcon-7b": Published(
        {
            "model_type": "falcon", "hidden_size": 4544, "num_hidden_layers": 32, "num_attention_heads": 71,
            "vocab_size": 65024, "multi_query": True, "parallel_attn": True,
            "new_decoder_architecture": False, "bias": False, "alibi": False, "torch_dtype": "bfloat16",
        },
        6_921_720_704,
    ),
    "minicpm3-4b": Published(
        _of(
            "minicpm3", 2560, 6400, 62, 40, 40, 73448, q_lora_rank=768, kv_lora_rank=256, qk_nope_head_dim=64,
            qk_rope_head_dim=32, scale_emb=12, scale_depth=1.4, dim_model_base=256,
        ),
        4.07e9, 0.01,
    ),
    "dots.llm1": Published(
        _of(
            "dots1", 4096, 10944, 62, 32, 32, 152064, head_dim=128, moe_intermediate_size=1408,
            n_routed_experts=128, num_experts_per_tok=6, n_shared_experts=2, first_k_dense_replace=1,
            scoring_func="noaux_tc", topk_method="noaux_tc", norm_topk_prob=True, **_UNTIED,
        ),
        142.8e9, 0.005,
    ),
    "glm-4.5-air": Published(
        _of(
            "glm4_moe", 4096, 10944, 46, 96, 8, 151552, head_dim=128, moe_intermediate_size=1408,
            n_routed_experts=128, num_experts_per_tok=8, n_shared_experts=1, first_k_dense_replace=1,
            attention_bias=True, use_qk_norm=False, num_nextn_predict_layers=1, **_UNTIED,
        ),
        106.85e9, 0.001,
    ),
    "seed-oss-36b": Published(
        _of(
            "seed_oss", 5120, 27648, 64, 80, 8, 155136, head_dim=128, attention_bias=True,
            attention_out_bias=False, mlp_bias=False, **_UNTIED,
        ),
        36_151_104_512,
    ),
    "exaone-4.0-32b": Published(
        _of(
            "exaone4", 5120, 27392, 64, 40, 8, 102400, head_dim=128, sliding_window=4096,
            sliding_window_pattern="LLLG", max_position_embeddings=131072, **_UNTIED,
        ),
        32_003_216_384,
    ),
    "kimi-linear-48b-a3b": Published(
        _of(
            "kimi_linear", 2304, 9216, 27, 32, 32, 163840, q_lora_rank=None, **_MLA, num_experts=256,
            moe_intermediate_size=1024, num_experts_per_token=8, num_shared_experts=1,
            first_k_dense_replace=1, moe_layer_freq=1, mla_use_nope=True,
            moe_router_activation_func="sigmoid",
            linear_attn_config={
                "full_attn_layers": [4, 8, 12, 16, 20, 24, 27], "head_dim": 128, "num_heads": 32,
                "short_conv_kernel_size": 4,
                "kda_layers": [i for i in range(1, 27) if i not in (4, 8, 12, 16, 20, 24)],
            },
        ),
        49.12e9, 0.001,
    ),
    "ling-lite": Published(
        _of(
            "bailing_moe", 2048, 5632, 28, 16, 4, 126464, head_dim=128, moe_intermediate_size=1408,
            num_experts=64, num_experts_per_tok=6, num_shared_experts=2, first_k_dense_replace=0,
            norm_topk_prob=True, use_qkv_bias=False, use_bias=False, **_UNTIED,
        ),
        16.8e9, 0.01,
    ),
    "llama-4-scout": Published(
        _of(
            "llama4_text", 5120, 8192, 48, 40, 8, 202048, head_dim=128, intermediate_size_mlp=16384,
            num_local_experts=16, num_experts_per_tok=1, interleave_moe_layer_step=1,
            attention_chunk_size=8192, use_qk_norm=True,
        ),
        107.8e9, 0.001,
    ),
    "llama-4-maverick": Published(
        _of(
            "llama4_text", 5120, 8192, 48, 40, 8, 202048, head_dim=128, intermediate_size_mlp=16384,
            num_local_experts=128, num_experts_per_tok=1, interleave_moe_layer_step=2,
            attention_chunk_size=8192, use_qk_norm=False,
        ),
        400.7e9, 0.001,
    ),
    "mamba2-2.7b": Published(
        {
            "model_type": "mamba2", "hidden_size": 2560, "num_hidden_layers": 64, "vocab_size": 50288,
            "num_heads": 80, "head_dim": 64, "state_size": 128, "n_groups": 1, "conv_kernel": 4, "expand": 2,
            "use_bias": False, "use_conv_bias": True, "rms_norm": True, "torch_dtype": "bfloat16", **_TIED,
        },
        2.7e9, 0.01,
    ),
    "nemotron-h-56b": Published(
        {
            "model_type": "nemotron_h", "hidden_size": 8192, "intermediate_size": 32768, "vocab_size": 131072,
            "num_attention_heads": 64, "num_key_value_heads": 8, "attention_head_dim": 128,
            "num_hidden_layers": 118, "mamba_num_heads": 256, "mamba_head_dim": 64, "ssm_state_size": 256,
            "n_groups": 8, "conv_kernel": 4, "expand": 2, "use_conv_bias": True, "use_bias": False,
            "mlp_hidden_act": "relu2", "torch_dtype": "bfloat16",
            "hybrid_override_pattern": "M-M-M-M*-" + "M-M-M-M-M*-" * 9 + "M-M-M-M-M-", **_UNTIED,
        },
        56e9, 0.02,
    ),
}  # fmt: skip
