"""What no reader knows: read by structure and said so, told key by key, or refused with what to do."""

from __future__ import annotations

from typing import Any

import pytest

from catalogue.architecture import Architecture
from catalogue.huggingface import ConfigError, Imported, read_config
from catalogue.models import counts
from tests.catalogue.published import PUBLISHED


def parameters(found: Imported) -> int:
    return counts.parameters(found.design())


def renamed(name: str, **more: Any) -> dict[str, Any]:
    return {**PUBLISHED[name].config, "model_type": "novel", **more}


@pytest.mark.parametrize(
    "name", ["llama-2-7b", "mistral-nemo-12b", "yi-34b", "deepseek-v2", "phi-4", "glm-4.5-air"]
)
def test_plain_decoders_are_read_by_structure(name: str) -> None:
    found = read_config(renamed(name), name)
    assert "No reader knows the model_type novel" in found.assumptions[0]
    # What an unknown family does not say, such as a routers' bias for the choice, is worth less than this.
    assert parameters(found) == pytest.approx(PUBLISHED[name].parameters, rel=1e-3)
    assert found.not_understood == ()


def test_missing_model_type() -> None:
    config = {k: v for k, v in PUBLISHED["llama-2-7b"].config.items() if k != "model_type"}
    found = read_config(config, "model")
    assert "(none is stated)" in found.assumptions[0]
    assert parameters(found) == PUBLISHED["llama-2-7b"].parameters


def test_keys_that_change_the_computation_are_told() -> None:
    config = renamed("llama-2-7b", memory_layers=[3, 7], memory={"slots": 64, "width": 32}, use_memory=True)
    found = read_config(config, "model")
    assert {n.key: n.value for n in found.not_understood} == {
        "memory_layers": [3, 7],
        "memory": {"slots": 64, "width": 32},
        "use_memory": True,
    }


def test_keys_that_are_off_or_say_nothing_are_not_told() -> None:
    config = renamed(
        "llama-2-7b", use_memory=False, memory_slots=0, memory=None, memory_kinds=[], bos_token_id=1,
        attention_dropout=0.1, initializer_range=0.02, transformers_version="5.0", _name_or_path="x",
        vision_config={"hidden_size": 8}, architectures=["NovelForCausalLM"], router_aux_loss_coef=0.1,
        image_token_index=5, rope_scaling={"rope_type": "llama3", "factor": 8.0}, auto_map={"a": "b"},
    )  # fmt: skip
    assert read_config(config, "model").not_understood == ()


def test_keys_for_one_thing_that_disagree() -> None:
    config = {**PUBLISHED["qwen3-30b-a3b"].config, "num_local_experts": 64}
    told = [a for a in read_config(config, "model").assumptions if "disagree" in a]
    assert told == [
        "Keys for one thing disagree (num_experts = 128, num_local_experts = 64); the first is taken."
    ]


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        (
            {
                "model_type": "jamba", "hidden_size": 4096, "intermediate_size": 14336,
                "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
                "vocab_size": 65536, "num_experts": 16, "num_experts_per_tok": 2,
                "attn_layer_period": 8, "attn_layer_offset": 4, "expert_layer_period": 2,
                "expert_layer_offset": 1, "mamba_d_state": 16, "mamba_d_conv": 4, "mamba_expand": 2,
                "mamba_dt_rank": 256,
            },
            "Mamba layers of the first version",
        ),
        (
            {
                "model_type": "lfm2", "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 2,
                "num_attention_heads": 32, "vocab_size": 65536, "layer_types": ["conv", "full_attention"],
            },
            "layers of the kind 'conv'",
        ),
        ({"model_type": "bert", "hidden_size": 768, "num_hidden_layers": 12}, "its model_type is bert"),
        ({"_class_name": "Flux", "num_layers": 19}, "a diffusion pipeline"),
        ({"model_type": "t5", "is_encoder_decoder": True}, "encoder and decoder"),
    ],
)  # fmt: skip
def test_what_has_no_part_is_refused(config: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_config(config, "model")
    assert sentence in str(caught.value)


def test_parts_of_gemma_3n_that_have_none_are_told() -> None:
    """Its per-layer inputs, alternating updates and low-rank residuals; attention and its caches are read."""
    config = {
        "model_type": "gemma3n_text", "hidden_size": 2048, "intermediate_size": [16384] * 35,
        "num_hidden_layers": 35, "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 256,
        "vocab_size": 262400, "vocab_size_per_layer_input": 262144, "hidden_size_per_layer_input": 256,
        "altup_num_inputs": 4, "altup_active_idx": 0, "laurel_rank": 64, "num_kv_shared_layers": 15,
        "sliding_window": 512, "hidden_activation": "gelu_pytorch_tanh",
        "layer_types": (["sliding_attention"] * 4 + ["full_attention"]) * 7,
    }  # fmt: skip
    found = read_config(config, "model")
    assert {n.key for n in found.not_understood} == {
        "vocab_size_per_layer_input", "hidden_size_per_layer_input", "altup_num_inputs", "laurel_rank",
    }  # fmt: skip
    assert isinstance(found.architecture, Architecture)
    assert [layer.mixer.reuses_cache for layer in found.architecture.layers].count(False) == 20  # type: ignore[union-attr]
