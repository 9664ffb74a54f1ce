"""Every published style of quantization gives the formats of its checkpoints."""

from __future__ import annotations

from typing import Any

import pytest

from catalogue.architecture import Architecture, Format, Formats
from catalogue.huggingface import Imported, read_config
from catalogue.huggingface.modules import Patterns
from rooflang.design import Section, Statement, Weight

PLAIN = Format()
NVFP4 = Format("nvfp4", "nvfp4")
MLA = {
    "model_type": "deepseek_v3", "hidden_size": 1024, "intermediate_size": 2048, "num_hidden_layers": 4,
    "num_attention_heads": 8, "q_lora_rank": 256, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 32000, "n_routed_experts": 16,
    "num_experts_per_tok": 2, "n_shared_experts": 1, "moe_intermediate_size": 512, "first_k_dense_replace": 1,
    "num_nextn_predict_layers": 1, "hidden_act": "silu", "torch_dtype": "bfloat16", "rms_norm_eps": 1e-6,
    "tie_word_embeddings": False,
}  # fmt: skip
QWEN = {
    "model_type": "qwen3_5_moe", "hidden_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 8,
    "num_key_value_heads": 2, "head_dim": 128, "vocab_size": 32000, "num_experts": 16,
    "num_experts_per_tok": 2, "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512,
    "full_attention_interval": 4, "linear_conv_kernel_dim": 4, "linear_num_key_heads": 4,
    "linear_num_value_heads": 8, "linear_key_head_dim": 128, "linear_value_head_dim": 128,
    "hidden_act": "silu", "torch_dtype": "bfloat16", "mtp_num_hidden_layers": 1, "tie_word_embeddings": False,
}  # fmt: skip


def read(config: dict[str, Any], quantization: dict[str, Any] | None, beside: Any = None) -> Imported:
    found = {**config, "quantization_config": quantization} if quantization else config
    return read_config(found, "model", beside)


def formats(
    config: dict[str, Any], quantization: dict[str, Any] | None, layer: int = -1, beside: Any = None
) -> Formats:
    found = read(config, quantization, beside).architecture
    assert isinstance(found, Architecture)
    return found.layers[layer].formats


def group(weights: dict[str, Any], activations: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
    made = {"weights": weights, "input_activations": activations, "targets": ["Linear"], **more}
    return {"quant_method": "compressed-tensors", "config_groups": {"group_0": made}, "ignore": ["lm_head"]}


@pytest.mark.parametrize(
    ("quantization", "expected"),
    [
        (None, PLAIN),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, Format("fp8", "fp8")),
        ({"quant_method": "fbgemm_fp8", "modules_to_not_convert": ["lm_head"]}, Format("fp8", "fp8")),
        ({"quant_method": "modelopt", "quant_algo": "FP8", "ignore": ["lm_head"]}, Format("fp8", "fp8")),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, NVFP4),
        ({"quant_method": "modelopt", "quant_algo": "W4A16_NVFP4"}, Format("nvfp4", "bf16")),
        ({"quant_method": "modelopt", "quant_algo": "W4A8_AWQ"}, Format("int4", "fp8")),
        ({"quant_method": "mxfp8"}, Format("mxfp8", "fp8")),
        (group({"num_bits": 8, "type": "float"}, {"num_bits": 8, "type": "float"}), Format("fp8", "fp8")),
        (group({"num_bits": 8, "type": "float"}, None), Format("fp8", "bf16")),
        (group({"num_bits": 4, "type": "float", "group_size": 16}, {"num_bits": 4, "type": "float"}), NVFP4),
        (
            group({"num_bits": 4, "type": "float", "group_size": 32}, None, format="mxfp4-pack-quantized"),
            Format("mxfp4", "bf16"),
        ),
        (group({"num_bits": 4, "type": "int", "group_size": 32}, None), Format("int4_32", "bf16")),
        (group({"num_bits": 4, "type": "int", "group_size": 128}, None), Format("int4", "bf16")),
        (group({"num_bits": 8, "type": "int"}, {"num_bits": 8, "type": "int"}), Format("int8_row", "fp8")),
        ({"quant_method": "awq", "bits": 4, "group_size": 128}, Format("int4", "bf16")),
        ({"quant_method": "gptq", "bits": 4, "group_size": 64}, Format("int4_64", "bf16")),
        ({"quant_method": "gptq", "bits": 8, "group_size": -1}, Format("int8_row", "bf16")),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, Format("int4_32", "bf16")),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, Format("int8_row", "bf16")),
        (
            {
                "quant_method": "quark",
                "global_quant_config": {"weight": {"dtype": "fp4"}, "input_tensors": {"dtype": "fp4"}},
            },
            Format("mxfp4", "mxfp4"),
        ),
    ],
)  # fmt: skip
def test_style(quantization: dict[str, Any] | None, expected: Format) -> None:
    found = formats(MLA, quantization)
    assert (found.mixer, found.experts, found.shared) == (expected, expected, expected)
    assert formats(MLA, quantization, 0).dense == expected
    imported = read(MLA, quantization).architecture
    assert isinstance(imported, Architecture)
    assert imported.head == PLAIN  # nobody quantises it unless it is named


def test_experts_alone_in_mxfp4() -> None:
    found = formats(MLA, {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn"]})
    assert found.experts == Format("mxfp4", "bf16")
    assert (found.mixer, found.shared) == (PLAIN, PLAIN)


def test_expressions_leave_modules_out() -> None:
    ignored = [
        "lm_head",
        "re:.*self_attn.*",
        "re:.*shared_experts.*",
        r"re:.*mlp\.(gate|up|gate_up|down)_proj.*",
    ]
    stored = group({"num_bits": 4, "type": "int", "group_size": 32}, None) | {"ignore": ignored}
    found = formats(MLA, stored)
    assert found.experts == Format("int4_32", "bf16")
    assert (found.mixer, found.shared, formats(MLA, stored, 0).dense) == (PLAIN, PLAIN, PLAIN)


def test_lists_of_layers_leave_them_out() -> None:
    """As NVIDIA's GLM: the first layer whole, attention and shared experts of the others, the draft."""
    ignored = ["lm_head", "model.layers.0*", "model.layers.4*"]
    for i in (1, 2, 3):
        ignored += [f"model.layers.{i}.self_attn*", f"model.layers.{i}.mlp.shared_experts*"]
    beside = {
        "quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8", "exclude_modules": ignored}
    }
    imported = read(MLA, None, beside).architecture
    assert isinstance(imported, Architecture)
    assert imported.layers[0].formats == Formats()
    assert [layer.formats.experts for layer in imported.layers[1:]] == [NVFP4] * 3
    assert [layer.formats.mixer for layer in imported.layers[1:]] == [PLAIN] * 3
    assert [layer.formats.shared for layer in imported.layers[1:]] == [PLAIN] * 3
    assert imported.draft[0].formats.experts == PLAIN


def test_output_projection_apart_from_the_others() -> None:
    """As NVIDIA's DeepSeek: of attention, only the output projection is quantised."""
    names = ("q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "kv_b_proj")
    ignored = [f"model.layers.{i}.self_attn.{n}" for i in range(4) for n in names]
    found = formats(MLA, {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ignored})
    assert (found.mixer, found.output) == (PLAIN, NVFP4)


def test_a_part_in_two_formats_is_said() -> None:
    ignored = [f"model.layers.{i}.self_attn.q_a_proj" for i in range(4)]
    imported = read(MLA, {"quant_method": "fp8", "modules_to_not_convert": ignored})
    assert any("input projections" in a and "fp8" in a for a in imported.assumptions)


def test_mixed_precision_by_layer() -> None:
    """As NVIDIA's Qwen3.6: FP8 attention, 4-bit experts and head, the draft as it is."""
    layers: dict[str, Any] = {}
    for i in range(4):
        base = f"model.language_model.layers.{i}"
        mixer = ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj"]
        if i != 3:
            mixer = ["linear_attn.in_proj_qkv", "linear_attn.in_proj_z", "linear_attn.out_proj"]
        layers |= {f"{base}.{m}": {"quant_algo": "FP8"} for m in mixer}
        layers[f"{base}.mlp.experts"] = {"quant_algo": "W4A16_NVFP4", "group_size": 16}
        layers[f"{base}.mlp.shared_expert.down_proj"] = {"quant_algo": "W4A16_NVFP4", "group_size": 16}
    layers["lm_head"] = {"quant_algo": "W4A16_NVFP4"}
    stored = {
        "quant_method": "modelopt",
        "quant_algo": "MIXED_PRECISION",
        "quantized_layers": layers,
        "ignore": ["mtp*"],
    }
    imported = read(QWEN, stored).architecture
    assert isinstance(imported, Architecture)
    for layer in imported.layers:
        assert layer.formats.mixer == Format("fp8", "fp8")
        assert layer.formats.experts == layer.formats.shared == Format("nvfp4", "bf16")
    assert imported.head == Format("nvfp4", "bf16")
    assert imported.draft[0].formats == Formats()


def test_config_outweighs_the_file_beside_it() -> None:
    beside = {"quantization": {"quant_algo": "FP8"}}
    assert formats(MLA, {"quant_method": "modelopt", "quant_algo": "NVFP4"}, beside=beside).mixer == NVFP4
    assert formats(MLA, None, beside=beside).mixer == Format("fp8", "fp8")


def test_unknown_style_is_told_and_weights_stay() -> None:
    imported = read(MLA, {"quant_method": "novel", "levels": 7})
    assert [(n.key, n.value) for n in imported.not_understood] == [
        ("quantization_config.quant_method", "novel")
    ]
    assert formats(MLA, {"quant_method": "novel"}).experts == PLAIN


def test_exclusions_that_are_missing_are_said() -> None:
    imported = read(MLA, None, {"quantization": {"quant_algo": "NVFP4"}})
    assert any("names no layers that are left out" in a for a in imported.assumptions)


def test_weights_of_the_design_are_stored_so() -> None:
    design = read(MLA, {"quant_method": "awq", "bits": 4, "group_size": 128}).design()

    def weights(body: tuple[Statement, ...]) -> list[Weight]:
        found = [s for s in body if isinstance(s, Weight)]
        for s in body:
            if isinstance(s, Section) or hasattr(s, "body"):
                found += weights(s.body)
        return found

    assert {"int4", "bf16"} <= {w.dtype for w in weights(design.program.body)}


@pytest.mark.parametrize(
    ("pattern", "module", "meant"),
    [
        ("model.layers.1*", "layers.12.mlp.up_proj", True),
        ("model.layers.1.*", "layers.12.mlp.up_proj", False),
        ("model.layers.1.*", "layers.1.mlp.up_proj", True),
        ("model.language_model.layers.3.self_attn", "layers.3.self_attn.q_proj", True),
        ("backbone.layers.3.mixer.q_proj", "layers.3.mixer.q_proj", True),
        ("*.attn.*", "layers.0.attn.q_proj", True),
        ("gate", "layers.0.mlp.gate", True),
        ("gate", "layers.0.mlp.gate_proj", False),
        ("mtp*", "mtp.layers.0.mlp.up_proj", True),
        ("mtp*", "layers.0.mlp.up_proj", False),
        ("re:.*layers\\.(0|1)\\..*", "layers.1.mlp.up_proj", True),
        ("re:.*layers\\.(0|1)\\..*", "layers.2.mlp.up_proj", False),
        ("re:model\\.layers\\.2\\.", "layers.2.mlp.up_proj", True),
    ],
)
def test_pattern(pattern: str, module: str, meant: bool) -> None:
    assert (module in Patterns([pattern])) == meant


@pytest.mark.parametrize(
    "pattern", ["re:(a+)+$", "re:((.*)*)*x", "re:.*a.*b.*c.*d.*e.*f", "re:(", "re:" + "a" * 999]
)
def test_expressions_that_could_run_away_are_not_run(pattern: str) -> None:
    found = Patterns([pattern])
    assert "layers.0." + "a" * 60 not in found
    assert len(found.refused) == 1
    imported = read(MLA, {"quant_method": "fp8", "ignore": [pattern]})
    assert [n.key for n in imported.not_understood] == ["quantization_config.ignore"]


def test_patterns_without_end_cost_little() -> None:
    """A hostile list is cut off, and what is cut off is told."""
    long = [f"*a{i}*b" for i in range(2_000)] + [f"x{i}*" for i in range(2_000)]
    numbered = [f"model.layers.{i % 90}.self_attn.q{i}*" for i in range(2_000)]
    found = Patterns([*long, *numbered])
    assert len(found.refused) == 4_000 - 600
    assert "layers.3.mlp.up_proj" not in found
    assert "layers.89.self_attn.q89_proj" in found
