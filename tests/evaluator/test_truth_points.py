"""How rows are read: deployments in words, Little's law, drafting, and what is left unplaced."""

from __future__ import annotations

import math

import pytest

from evaluator.truth.deployment import Deployment, read_deployment
from evaluator.truth.names import device_of, model_of
from evaluator.truth.points import Point, e2e_point, serving_point
from evaluator.truth.rows import COLUMNS, Row, UnplacedError


@pytest.mark.parametrize(
    ("words", "devices", "expected"),
    [
        ("P 10xDEP2 + D 1xDEP8", 28, Deployment(1, 8, "dp", 1, True)),
        ("P 3xDEP4 + D 5xDEP4", 32, Deployment(5, 4, "dp", 1, True)),
        ("P DEP4 + D 5xTEP8", 44, Deployment(5, 8, "tep", 1, True)),
        ("P TP4 + D EP32", 36, Deployment(1, 32, None, 1, True)),
        ("P 8GPU TP8 + D 8GPU EP1 (TP)", 16, Deployment(1, 8, "tp", 1, True)),
        ("P 4GPU TP4 + D 68GPU EP1 (17xTP4)", 72, Deployment(17, 4, "tp", 1, True)),
        ("P 28GPU + D 32GPU EP16", 60, Deployment(1, 32, None, 1, True)),
        ("decode EP144/DP144 (18 nodes), prefill EP32", 144, Deployment(1, 144, "dp", 1, True)),
        ("decode 1xDEP8; prefill 4xDEP2", 8, Deployment(1, 8, "dp", 1, True)),
        ("disagg P/D, split not given", 24, Deployment(1, 24, None, 1, True)),
        ("aggregated; TP size not given", 8, Deployment(1, 8, None, 1, False)),
        ("aggregated; TP size not given", 1, Deployment(1, 1, "tp", 1, False)),
        ("TP8 EP8 attention-DP", 8, Deployment(1, 8, "dp", 1, False)),
        ("TP8 (DP-attn at high conc)", 8, Deployment(1, 8, None, 1, False)),
        ("TP1 PP2", 2, Deployment(1, 2, "tp", 2, False)),
        ("TP2", 8, Deployment(4, 2, "tp", 1, False)),
        ("", 4, Deployment(1, 4, None, 1, False)),
        ("DEP0", 4, Deployment(1, 4, None, 1, False)),
    ],
)
def test_deployments_in_words(words: str, devices: int, expected: Deployment) -> None:
    assert read_deployment(words, devices) == expected


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("GB200 NVL72", "gb200-nvl72"), ("NVIDIA H100-SXM-80GB", "h100-sxm"), ("H100", "h100-sxm"),
        ("h200_sxm", "h200-sxm"), ("AMD Instinct MI300X 192GB HBM3", "mi300x"), ("SM90 (H800) CX7", "h800"),
        ("SM100 NVLink", "b200-sxm"), ("B300", "b300-sxm"), ("GB300 (4-GPU tray)", "gb300-nvl72"),
        ("abacus", None),
    ],
)  # fmt: skip
def test_devices_in_words(text: str, name: str | None) -> None:
    found = device_of(text)
    assert (found.name if found else None) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("deepseek-ai/DeepSeek-V3", "deepseek-v3"), ("meta-llama/Llama-3.1-70B", "llama-3.1-70b"),
        ("Llama-3.3-70B", "llama-3.1-70b"), ("llama2-70b-99.9", "llama-2-70b"),
        ("openai/gpt-oss-120b", "gpt-oss-120b"), ("no such model", None),
        ("Qwen3-235B-A22B-Instruct-2507", "qwen3-235b-a22b"), ("GLM-5/5.1 (744B/40B)", "glm-5"),
        ("DeepSeek-R1-Distill-Llama-70B", None), ("Llama-3.1", None),
    ],
)  # fmt: skip
def test_models_in_words(text: str, name: str | None) -> None:
    assert model_of(text) == name


def test_dates_of_a_checkpoint_do_not_matter() -> None:
    assert model_of("DeepSeek-R1-0528") == model_of("DeepSeek-R1") == model_of("DeepSeek-R1/V3")


def serving(**cells: str) -> Row:
    base = dict.fromkeys(COLUMNS["serving"], "") | {
        "id": "r", "model": "DeepSeek-R1-0528", "weights": "FP4", "device": "GB200 NVL72", "devices": "12",
        "parallelism": "P DEP4 + D DEP8", "input_tokens": "1024", "output_tokens": "1024",
        "concurrency": "4096", "drafting": "none", "output_per_device": "6000",
        "decode_per_device": "9000", "per_user": "20",
        "lengths": "random data, lengths ~U[0.8,1.0]x; no prefix cache",
    }  # fmt: skip
    return Row("r", "serving", 2, base | cells)


def placed(**cells: str) -> Point:
    return serving_point(serving(**cells), lambda model: model.startswith("deepseek"))


def test_batch_in_decode_is_by_littles_law_and_not_concurrency() -> None:
    point = placed()
    assert point.batch == pytest.approx(9000 * 8 / 20)  # 3,600 of 4,096 requests in flight
    assert point.isolated
    assert point.per_device == 9000
    assert placed(concurrency="1000").batch == 1000  # never more than are in flight


def test_lengths_are_means_of_what_was_drawn() -> None:
    assert placed().context == math.floor(0.9 * 1024 + 0.45 * 1024)
    assert placed(lengths="fixed lengths (stdev 0), random tokens").context == 1024 + 512
    assert placed(input_tokens="not stated", output_tokens="").context == 128


def test_of_two_figures_for_one_speed_the_slower_counts() -> None:
    """Time per output token is (end to end - first token) / (n - 1), or request time / n: both are in use."""
    assert placed(per_user="20", tpot_ms="52").seconds_per_token == 0.052
    assert placed(per_user="20", tpot_ms="48").seconds_per_token == 0.05


@pytest.mark.parametrize(
    ("words", "drafted", "accepted"),
    [
        ("none", 0, 1.0), ("MTP", 3, 4.0), ("not stated", 3, 4.0), ("MTP3 accept 2.37", 3, 2.37),
        ("MTP1 ~90% accept", 1, 2.0), ("simulated MTP, 60% accept", 1, 2.5),
    ],
)  # fmt: skip
def test_drafting(words: str, drafted: int, accepted: float) -> None:
    point = placed(drafting=words)
    assert point.drafted == drafted
    assert point.accepted == pytest.approx(accepted)


def test_a_model_without_draft_layers_that_does_not_speak_of_drafting_emits_one_token_a_step() -> None:
    point = placed(model="Llama-3.3-70B", drafting="not stated")
    assert (point.drafted, point.accepted) == (0, 1.0)


NOTHING = {"per_user": "", "output_per_device": "", "decode_per_device": ""}


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ({"model": "An Unheard-of Model"}, "not catalogued"),
        ({"device": "Abacus"}, "limits of Abacus are not catalogued"),
        ({"drafting": "prompt-lookup"}, "tokens per step have no upper bound"),
        ({"metric": "SYSTEM output tok/s"}, "not the number of its devices"),
        (NOTHING, "neither a throughput nor a speed"),
        (NOTHING | {"decode_per_device": "9", "parallelism": "TP4"}, "not which of its devices decode"),
        (NOTHING | {"reported": "9", "metric": "total"}, "counts prompt tokens"),
    ],
)
def test_what_cannot_be_placed_is_told_why(cells: dict[str, str], said: str) -> None:
    with pytest.raises(UnplacedError) as error:
        placed(**cells)
    assert said in str(error.value)


def e2e(**cells: str) -> Point:
    base = dict.fromkeys(COLUMNS["e2e"], "") | {
        "id": "x_c64_y", "model": "deepseek-ai/DeepSeek-V3", "device": "h200_sxm", "precision": "fp8",
        "input_tokens": "8192", "output_tokens": "1024", "tp": "8", "pp": "1", "attention_dp": "1",
        "moe_tp": "8", "moe_ep": "1", "ttft_ms": "2000", "tpot_ms": "50",
    }  # fmt: skip
    return e2e_point(Row("x_c64_y", "e2e", 2, base | cells))


def test_concurrency_is_split_between_waiting_and_decode() -> None:
    decode = 0.9 * 1024 * 0.05
    assert e2e().batch == pytest.approx(64 * decode / (decode + 2))


def test_tp8_with_ep8_is_eight_devices() -> None:
    assert e2e(tp="64", moe_tp="8", moe_ep="8").devices == 8
    assert e2e(tp="1", attention_dp="64", moe_tp="8", moe_ep="8").deployment == Deployment(1, 8, "dp")
    assert e2e(tp="72", moe_tp="72").deployment.form is None
