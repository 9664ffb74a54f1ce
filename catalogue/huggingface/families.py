"""Families by `model_type`: what their configs leave unsaid because it is fixed in the family's code.

Sources: the modelling code that each family ships with its weights, and the configuration classes of the
transformers library (5.24) for `defaults`, which are taken only where a config lacks the key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Family:
    """Traits of a family's code; those of a plain decoder unless stated."""

    defaults: Mapping[str, object] = field(default_factory=dict)
    """Values of keys that the family's configuration class fills in, by key."""
    biases: str = ""
    """Attention projections (of q, k, v, o) with a bias where no key says otherwise."""
    flagged_biases: str = "qkvo"
    """Those with a bias where a key such as `attention_bias` is true."""
    qk_norm: str | None = None
    """RMS norm of queries and keys: per `head` or over the `whole` projection."""
    qk_norm_key: str = ""
    """The key that must be true for it, if one exists."""
    qk_norm_gain: bool = True
    gated: bool = True
    """Feed-forward parts have gate and up projections."""
    activation: str = ""
    """Kind that replaces the stated one (`swiglu_oai` for gpt-oss, whose config says silu)."""
    feed_bias: bool = False
    norm_bias: bool = False
    post_norms: bool = False
    norms_behind: bool = False
    """The two norms stand behind the parts instead of before them (OLMo-2)."""
    parallel: bool = False
    """Attention and feed-forward read one normed input side by side."""
    parallel_norms: bool = False
    """Side by side, but each with a norm of its own."""
    parallel_key: str = ""
    rotary: bool = True
    """Positions enter by rotation."""
    rotary_share: float | None = None
    """Share of a head that rotates where no key says so."""
    linear: str = ""
    """What a `linear_attention` layer is: gdn, kda or lightning."""
    attention_gate: bool = False
    head_gate: bool = False
    sinks: bool = False
    window_from_key: bool = True
    """A `sliding_window` without a pattern holds for all layers."""
    window_period: int | None = None
    """Every that many layers one is global, where no list says so."""
    nope_period: int | None = None
    """Every that many layers one has no rotation."""
    score: str = "softmax"
    correction: bool = False
    router_bias: bool = False
    normalise: bool = True
    scales_input: bool = False
    shared_gate: bool = False
    shared_like_expert: bool = False
    """One shared expert as wide as a routed one, stated nowhere (Llama 4)."""
    expert_bias: bool = False
    experts_beside: bool = False
    """The dense part and the experts stand side by side (Gemma 4)."""
    experts_under: tuple[str, ...] = ("mlp", "block_sparse_moe", "feed_forward", "ffn", "mixer", "moe")
    """Module names that hold the experts, for patterns of quantization."""
    drafts_dense: bool = False
    """Draft layers have a dense feed-forward part."""
    note: str = ""
    """An assumption about every model of the family."""


_UNTIED = {"tie_word_embeddings": False}
_TIED = {"tie_word_embeddings": True}

_PLAIN = Family(_UNTIED)
_PLAIN_TIED = Family(_TIED)
_QWEN2 = Family(_UNTIED, biases="qkv", flagged_biases="qkv")
_QWEN3 = Family(_UNTIED, qk_norm="head")
_GPT = Family(
    _TIED, biases="qkvo", gated=False, feed_bias=True, norm_bias=True, rotary=False, window_from_key=False
)
_GEMMA = Family({**_TIED, "rope_theta": 10000.0, "hidden_activation": "gelu_pytorch_tanh"})
_GEMMA2 = replace(_GEMMA, post_norms=True, window_period=2)
_GEMMA3 = Family(
    {
        **_GEMMA.defaults, "vocab_size": 262208, "head_dim": 256, "num_attention_heads": 8,
        "num_key_value_heads": 4, "max_position_embeddings": 131072, "rms_norm_eps": 1e-6,
        "sliding_window": 4096,
    },
    post_norms=True, window_period=6, qk_norm="head",
)  # fmt: skip
_DEEPSEEK_V3 = Family(
    {**_UNTIED, "scoring_func": "sigmoid", "norm_topk_prob": True, "rope_theta": 10000.0,
     "routed_scaling_factor": 2.5, "n_group": 1, "topk_group": 1},
    score="sigmoid", correction=True,
)  # fmt: skip
_QWEN_HYBRID = Family(
    {**_UNTIED, "full_attention_interval": 4, "partial_rotary_factor": 0.25},
    qk_norm="head", linear="gdn", attention_gate=True, shared_gate=True,
)  # fmt: skip
_STEP3P5 = Family(
    {**_UNTIED, "rms_norm_eps": 1e-5, "num_attention_groups": 8, "use_head_wise_attn_gate": True,
     "moe_router_activation": "sigmoid", "norm_expert_weight": True,
     "attention_other_setting.num_attention_heads": 96},
    qk_norm="head", score="sigmoid", correction=True, drafts_dense=True,
)  # fmt: skip

FAMILIES: dict[str, Family] = {
    "llama": _PLAIN,
    "mistral": _PLAIN,
    "ministral": _PLAIN,
    "ministral3": _PLAIN,
    "mixtral": _PLAIN,
    "aria": _PLAIN,
    "arcee": replace(_PLAIN, gated=False),
    "apertus": replace(_QWEN3, gated=False),
    "phi3": _PLAIN,
    "phi4mm": _PLAIN,
    "phimoe": Family(_UNTIED, biases="qkvo", norm_bias=True),
    "phi": Family(
        _UNTIED, biases="qkvo", gated=False, feed_bias=True, norm_bias=True, parallel=True, rotary_share=0.5
    ),
    "qwen2": _QWEN2,
    "qwen2_vl": _QWEN2,
    "qwen2_5_vl": _QWEN2,
    "qwen2_5_omni": _QWEN2,
    "qwen2_moe": replace(_QWEN2, shared_gate=True, normalise=False),
    "qwen3": _QWEN3,
    "qwen3_vl": _QWEN3,
    "qwen3_moe": replace(_QWEN3, normalise=False),
    "qwen3_omni_moe": _QWEN3,
    "qwen3_vl_moe": _QWEN3,
    "qwen3_next": _QWEN_HYBRID,
    "qwen3_5": _QWEN_HYBRID,
    "qwen3_5_moe": _QWEN_HYBRID,
    "gemma": _GEMMA,
    "gemma2": _GEMMA2,
    "gemma3": _GEMMA3,
    "gemma3n": replace(_GEMMA3, window_period=5),
    "gemma4": Family(
        {**_GEMMA.defaults, "rms_norm_eps": 1e-6},
        qk_norm="head", post_norms=True, experts_beside=True, window_period=6,
        experts_under=("", "moe"),
    ),
    "olmo": Family(_UNTIED, note="Norms have no gains in this family; they are written with gains."),
    "olmo2": Family(_UNTIED, qk_norm="whole", norms_behind=True),
    "olmo3": Family(_UNTIED, qk_norm="whole", norms_behind=True, window_period=4),
    "olmoe": Family(_UNTIED, qk_norm="whole", normalise=False),
    "granite": _PLAIN,
    "granitemoe": Family(_TIED, score="chosen", experts_under=("block_sparse_moe",)),
    "granitemoeshared": Family(_TIED, score="chosen"),
    "granitemoehybrid": Family(_TIED, score="chosen"),
    "bamba": _PLAIN,
    "cohere": Family(_TIED, parallel=True, qk_norm="head", qk_norm_key="use_qk_norm"),
    "cohere2": Family(_TIED, parallel=True, window_period=4, nope_period=4),
    "internlm": Family(_UNTIED, biases="qkvo"),
    "internlm2": _PLAIN,
    "internlm3": Family(_UNTIED, flagged_biases="qkv"),
    "baichuan": _PLAIN,
    "yi": _PLAIN,
    "aquila": _PLAIN,
    "exaone": _PLAIN,
    "exaone4": Family(_UNTIED, qk_norm="head", norms_behind=True),
    "seed_oss": Family(_UNTIED, biases="qkv", flagged_biases="qkv"),
    "smollm3": Family({**_TIED, "no_rope_layer_interval": 4}, nope_period=4),
    "minicpm": Family(_TIED),
    "minicpm3": Family({**_TIED, "v_head_dim": 64}),
    "stablelm": Family(
        _UNTIED, norm_bias=True, flagged_biases="qkv", parallel_key="use_parallel_residual",
        rotary_share=0.25,
    ),
    "starcoder2": Family(_TIED, biases="qkvo", gated=False, feed_bias=True, norm_bias=True),
    "nemotron": Family(_UNTIED, gated=False, norm_bias=True, rotary_share=0.5),
    "glm": Family(_UNTIED, biases="qkv", flagged_biases="qkv", rotary_share=0.5),
    "glm4": Family(_UNTIED, flagged_biases="qkv", post_norms=True, rotary_share=0.5),
    "glm4v": Family(_UNTIED, biases="qkv", flagged_biases="qkv", post_norms=True, rotary_share=0.5),
    "chatglm": Family(_UNTIED, biases="qkv", flagged_biases="qkv", rotary_share=0.5),
    "glm4_moe": Family(
        {**_UNTIED, "partial_rotary_factor": 0.5, "norm_topk_prob": True, "routed_scaling_factor": 1.0},
        flagged_biases="qkv", qk_norm="head", qk_norm_key="use_qk_norm", score="sigmoid", correction=True,
    ),
    "glm4v_moe": Family(
        _UNTIED, flagged_biases="qkv", rotary_share=0.5, score="sigmoid", correction=True
    ),
    "glm4_moe_lite": _DEEPSEEK_V3,
    "glm_moe_dsa": _DEEPSEEK_V3,
    "deepseek_v3": _DEEPSEEK_V3,
    "deepseek_v32": _DEEPSEEK_V3,
    "kimi_k2": _DEEPSEEK_V3,
    "kimi_k25": _DEEPSEEK_V3,
    "mistral_large_3": Family({**_UNTIED, "rope_theta": 10000.0, "rms_norm_eps": 1e-6}),
    "deepseek_v2": Family({**_UNTIED, "norm_topk_prob": False, "routed_scaling_factor": 1.0}),
    "deepseek_vl_v2": Family({**_UNTIED, "norm_topk_prob": False}),
    "deepseek": Family({**_UNTIED, "norm_topk_prob": False}),
    "kimi_linear": Family(
        {**_UNTIED, "rope_theta": 10000.0, "moe_router_activation_func": "sigmoid", "moe_renormalize": True},
        score="sigmoid", correction=True, linear="kda",
    ),
    "dots1": Family(_UNTIED, qk_norm="head", score="sigmoid", correction=True),
    "ernie4_5": _PLAIN_TIED,
    "ernie4_5_moe": Family(_TIED, correction=True),
    "ernie4_5_vl_moe": Family(_TIED, correction=True),
    "hunyuan_v1_dense": Family(_TIED, qk_norm="head", qk_norm_key="use_qk_norm"),
    "hunyuan_v1_moe": Family(_TIED, qk_norm="head", qk_norm_key="use_qk_norm"),
    "hunyuan": Family(_TIED, qk_norm="head", qk_norm_key="use_qk_norm"),
    "bailing_moe": Family(_UNTIED, flagged_biases="qkv"),
    "bailing_moe_v2": Family(
        _UNTIED, flagged_biases="qkv", qk_norm="head", qk_norm_key="use_qk_norm", score="sigmoid",
        correction=True,
    ),
    "llama4": Family(
        {**_UNTIED, "interleave_moe_layer_step": 1, "attention_chunk_size": 8192,
         "no_rope_layer_interval": 4},
        qk_norm="head", qk_norm_key="use_qk_norm", qk_norm_gain=False, nope_period=4, score="sigmoid",
        normalise=False, scales_input=True, shared_like_expert=True,
    ),
    "gpt_oss": Family(
        {**_UNTIED, "swiglu_alpha": 1.702, "swiglu_limit": 7.0}, biases="qkvo", activation="swiglu_oai",
        window_period=2, sinks=True, score="chosen", router_bias=True, normalise=False, expert_bias=True,
    ),
    "dbrx": Family(_UNTIED),
    "jamba": Family(_UNTIED, normalise=False, rotary=False),
    "falcon_h1": Family(_UNTIED),
    "minimax_m1": Family(_UNTIED, linear="lightning", experts_under=("block_sparse_moe",)),
    "minimax_text_01": Family(_UNTIED, linear="lightning", experts_under=("block_sparse_moe",)),
    "minimax": Family(_UNTIED, linear="lightning", experts_under=("block_sparse_moe", "mlp")),
    "minimax_m2": Family(
        _UNTIED, qk_norm="whole", qk_norm_key="use_qk_norm", score="sigmoid",
        experts_under=("block_sparse_moe", "mlp"),
    ),
    "minimax_m3": Family(
        {**_UNTIED, "swiglu_alpha": 1.702, "swiglu_limit": 7.0},
        qk_norm="head", qk_norm_key="use_qk_norm", score="sigmoid",
        experts_under=("block_sparse_moe", "mlp"),
    ),
    "mimo": _QWEN2,
    "mimo_v2_flash": Family(
        {**_UNTIED, "scoring_func": "sigmoid", "add_swa_attention_sink_bias": True},
        score="sigmoid", correction=True,
    ),
    "longcat_flash": Family(
        {**_UNTIED, "rope_theta": 10000000.0, "rms_norm_eps": 1e-5, "moe_topk": 12, "zero_expert_num": 256,
         "mla_scale_q_lora": True, "mla_scale_kv_lora": True},
        correction=True, normalise=False,
    ),
    "step3": Family({**_UNTIED, "rms_norm_eps": 1e-5, "num_attention_groups": 1, "rope_theta": 500000}),
    "step3_vl": Family({**_UNTIED, "rms_norm_eps": 1e-5, "num_attention_groups": 1, "rope_theta": 500000}),
    "step3p5": _STEP3P5,
    "step3p7": _STEP3P5,
    "nemotron_h": Family(
        {**_UNTIED, "mlp_hidden_act": "relu2"}, gated=False, rotary=False, score="sigmoid", correction=True,
        experts_under=("mixer",),
    ),
    "mamba2": Family({**_UNTIED, "state_size": 128, "expand": 2, "n_groups": 8}, rotary=False),
    "gpt2": _GPT,
    "gpt_bigcode": _GPT,
    "opt": _GPT,
    "bloom": replace(_GPT, note="The norm of the embedding is left out."),
    "mpt": Family(_TIED, gated=False, rotary=False),
    "gpt_neo": _GPT,
    "gpt_neox": Family(
        _UNTIED, biases="qkvo", gated=False, feed_bias=True, norm_bias=True,
        parallel_norms=True, parallel_key="use_parallel_residual", rotary_share=0.25,
    ),
    "gptj": Family(_UNTIED, gated=False, feed_bias=True, norm_bias=True, parallel=True),
    "codegen": Family(_UNTIED, gated=False, feed_bias=True, norm_bias=True, parallel=True),
    "falcon": Family(_TIED, gated=False, norm_bias=True, parallel=True, parallel_key="parallel_attn"),
    "persimmon": Family(
        _UNTIED, biases="qkvo", gated=False, feed_bias=True, norm_bias=True, qk_norm="head", rotary_share=0.5
    ),
}  # fmt: skip

# Other names of the same code.
ALIASES = {
    "deepseek_v3_2": "deepseek_v32",
    "qwen3_8": "qwen3_5",
    "kimi_k3": "kimi_linear",
    "internvl": "qwen2",
    "minimax_m3_vl": "minimax_m3",
    "glm4v_text": "glm4v",
    "bailing_moe_v2_5": "bailing_moe_v2",
    "gemma3n_text": "gemma3n",
    "mistral3": "mistral",
    "refinedweb": "falcon",
    "refinedwebmodel": "falcon",
    "exaone_4": "exaone4",
    "falcon3": "llama",
}

UNKNOWN = Family(normalise=True)


def family_of(model_type: str) -> tuple[str, Family | None]:
    """The family's name and traits; None for one that is not known."""
    name = model_type.lower().replace("-", "_").replace(".", "_")
    for tried in (name, name.removesuffix("_text"), name.removesuffix("_llm")):
        tried = ALIASES.get(tried, tried)
        if tried in FAMILIES:
            return tried, FAMILIES[tried]
    return name, None
