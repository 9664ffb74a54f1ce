"""Files of strangers: what is not a usable config is refused at once, in one clear sentence."""

from __future__ import annotations

import json
import math
import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from catalogue.errors import CatalogueError
from catalogue.huggingface import ConfigError, import_config, is_config, load_config, read_config
from catalogue.huggingface.json_file import MAXIMUM_BYTES
from rooflang.errors import RoofLangError
from seis import load_model
from tests.catalogue.published import PUBLISHED

SMALL = PUBLISHED["qwen3-0.6b"].config
WRAPPER = {"model_type": "qwen3_vl", "text_config": SMALL, "vision_config": {"hidden_size": 64}}


def write(path: Path, content: object) -> Path:
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "it is empty"),
        ("   \n", "it is empty"),
        ("{", "line 1, column 2 is not"),
        (json.dumps(SMALL)[:80], "is the file complete?"),
        ("[1, 2]", "must hold a JSON object, but got a list"),
        ('"config"', "but got a text"),
        ("null", "but got null"),
        ('{"a": 1, "a": 2}', "must give each key once, but got 'a' twice"),
        ('{"a": {"b": 1, "b": 1}}', "'b' twice"),
        ("[" * 100_000, "must nest at most 24 levels"),
        ('{"a":' * 30 + "1" + "}" * 30, "must nest at most 24 levels"),
        ('{"a": ' + "9" * 5000 + "}", "must hold numbers of at most 4,300 digits"),
        ('{"hidden_size": NaN, "num_hidden_layers": 2}', "hidden_size must be a whole number, but is nan"),
        ('{"num_hidden_layers": Infinity}', "num_hidden_layers must be a whole number, but is inf"),
        ("{}", "must state num_hidden_layers"),
    ],
)
def test_text_that_is_no_config(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        import_config(write(tmp_path / "config.json", text))
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("hidden_size", 0, "must be from 1 to 1000000000, but is 0"),
        ("hidden_size", -4096, "but is -4096"),
        ("hidden_size", "4096", "must be a whole number, but is '4096'"),
        ("hidden_size", 4096.5, "must be a whole number, but is 4096.5"),
        ("hidden_size", True, "must be a whole number, but is True"),
        ("hidden_size", 10**30, "must be from 1 to 1000000000"),
        ("num_hidden_layers", 10**9, "at most 1000 layers"),
        ("num_attention_heads", None, "must state num_attention_heads"),
        ("num_key_value_heads", 5, "must divide 16 heads, but is 5"),
        ("vocab_size", [1], "must be a whole number"),
        ("rms_norm_eps", math.nan, "must be a finite number"),
        ("rms_norm_eps", -1e-6, "must be above 0"),
        ("rope_theta", 0, "must be above 0"),
        ("rope_theta", "large", "must be a finite number"),
        ("tie_word_embeddings", "yes", "must be true or false"),
        ("hidden_act", 3, "must be a text"),
        ("layer_types", ["full_attention"], "an entry for each of 28 layers, but has 1"),
        ("layer_types", ["convolution"] * 28, "layers of the kind 'convolution', which no part describes"),
        ("num_experts", 8, "must state num_experts_per_tok"),
        ("num_kv_shared_layers", 28, "must leave a layer of each kind"),
        ("num_nextn_predict_layers", 1000, "must be at most 16"),
        ("is_encoder_decoder", True, "encoder and decoder"),
    ],
)
def test_values_that_cannot_be(key: str, value: object, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_config({**SMALL, key: value}, "model")
    assert sentence in str(caught.value)


def test_more_experts_chosen_than_there_are() -> None:
    moe = PUBLISHED["qwen3-30b-a3b"].config
    with pytest.raises(ConfigError, match="must be at most 128, the number of experts, but is 129"):
        read_config({**moe, "num_experts_per_tok": 129}, "model")


def test_numbers_without_meaning_here_may_be_infinite() -> None:
    """Published files of Mamba models hold `Infinity` in keys that no step depends on."""
    config = {**PUBLISHED["nemotron-h-56b"].config, "time_step_limit": [0.0, math.inf]}
    assert read_config(config, "model").not_understood == ()


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    with path.open("wb") as file:
        file.truncate(50 * MAXIMUM_BYTES)
    tracemalloc.start()
    with pytest.raises(ConfigError, match="must hold at most"):
        import_config(path)
    assert tracemalloc.get_traced_memory()[1] < 4 * MAXIMUM_BYTES
    tracemalloc.stop()


def test_what_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file or directory"):
        import_config(tmp_path / "missing.json")
    with pytest.raises(ConfigError, match=r"must hold a config\.json"):
        import_config(tmp_path)
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(ConfigError, match="must be a file"):
        import_config(tmp_path / "pipe.json")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe{}")
    with pytest.raises(ConfigError, match="must be UTF-8"):
        import_config(tmp_path / "bytes.json")


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_spoilt_configs_never_end_in_a_fault(name: str) -> None:
    """Each key in turn takes values of the wrong kind or size: an import or a sentence, nothing else."""
    config, told = PUBLISHED[name].config, []
    for key in config:
        for value in (
            None,
            -1,
            0,
            1.5,
            math.nan,
            math.inf,
            "x",
            "",
            [],
            {},
            [None],
            ["x"],
            10**30,
            True,
            {"a": 1},
            1e300,
        ):
            try:
                read_config({**config, key: value}, "model")
            except (CatalogueError, RoofLangError) as error:
                told.append(str(error))
    assert told
    assert not any("\n" in sentence for sentence in told)


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("Qwen3-0.6B/config.json", "qwen3-0.6b"),
        ("Qwen--Qwen3-0.6B_config.json", "qwen3-0.6b"),
        ("models--Qwen--Qwen3-0.6B/snapshots/0123abcd/config.json", "qwen3-0.6b"),
        ("my model (v2).json", "my-model-v2"),
    ],
)
def test_name_and_directory(tmp_path: Path, place: str, name: str) -> None:
    path = tmp_path / place
    path.parent.mkdir(parents=True, exist_ok=True)
    write(path, SMALL)
    assert import_config(path).name == name
    assert import_config(path).design().name == name
    if path.name == "config.json":
        assert import_config(path.parent).name == name
        assert is_config(str(path.parent))


def test_quantization_beside_the_config(tmp_path: Path) -> None:
    beside = {"quantization": {"quant_algo": "FP8", "exclude_modules": ["lm_head"]}}
    for config, other in (
        ("config.json", "hf_quant_config.json"),
        ("a_config.json", "a_hf_quant_config.json"),
    ):
        path = write(tmp_path / config, SMALL)
        plain = import_config(path)
        write(tmp_path / other, beside)
        assert import_config(path) != plain
        (tmp_path / other).unlink()


def test_a_path_is_a_model_everywhere(tmp_path: Path) -> None:
    path = write(tmp_path / "config.json", SMALL)
    assert load_model(str(path)) == load_model(str(tmp_path)) == import_config(path).design()
    assert load_model(str(path), "bf16") == import_config(path).design("bf16")
    with pytest.raises(ConfigError, match="no such file"):
        load_model(str(tmp_path / "other.json"))


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = write(tmp_path / "config.json", SMALL)
    before = load_config(str(path))
    write(path, {**SMALL, "num_hidden_layers": 2})
    assert load_config(str(path)) != before


def test_language_model_inside_a_wrapper() -> None:
    plain = read_config(SMALL, "model").architecture
    for wrapper in (
        WRAPPER,
        {"model_type": "x", "llm_config": SMALL, "audio_config": {"layers": 3}, "image_token_id": 7},
        {"model_type": "omni", "thinker_config": {"text_config": SMALL, "audio_config": {"d_model": 8}}},
        {"model_type": "y", "language_config": SMALL, "projector_hidden_act": "gelu"},
    ):
        found = read_config(wrapper, "model")
        assert found.architecture == plain
        assert found.not_understood == ()


def test_outer_keys_hold_where_the_inner_config_is_silent() -> None:
    inner: dict[str, Any] = {k: v for k, v in SMALL.items() if k != "tie_word_embeddings"}
    for tied in (True, False):
        found = read_config(
            {"model_type": "qwen3_vl", "text_config": inner, "tie_word_embeddings": tied}, "model"
        )
        assert found.architecture.tied == tied  # type: ignore[union-attr]
