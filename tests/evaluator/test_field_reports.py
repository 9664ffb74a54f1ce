"""What users of neighbouring evaluators ran into, with the right values.

Each test names the kind of fault: a figure that is wrong by a factor which a user could not see.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from catalogue.devices import load_device
from catalogue.models import load_model, model_names
from catalogue.models.counts import kv_bytes_per_token
from evaluator.evaluate import Evaluation, evaluate
from evaluator.lengths import fixed
from evaluator.prefill import prefill
from evaluator.scenario import Scenario
from evaluator.truth.favour import lifted
from mutations.start import starting_designs
from tests.evaluator.conventional import (
    DATA_PARALLEL,
    DENSE_TENSOR_PARALLEL,
    TENSOR_PARALLEL,
    sizes,
    structure,
)

H100 = load_device("h100-sxm")
H200 = load_device("h200-sxm")
AT_4K = Scenario(4096)


def state_bytes(e: Evaluation) -> float:
    """Bytes of caches that the fullest device reads in a step, draft layers aside."""
    found = 0.0
    for item in e.plan.items:
        work = e.plan.works[item.work]
        moved = work.reads.get("state")
        if moved is not None and not item.draft:
            found += float(e.numerics[work.pool](moved)) * item.layers
    return found


@pytest.mark.parametrize(
    ("title", "dp", "tp"),
    [(TENSOR_PARALLEL, 1, 1), (TENSOR_PARALLEL, 1, 8), (TENSOR_PARALLEL, 4, 4), (DATA_PARALLEL, 8, 1)],
)
def test_every_rank_reads_the_whole_latent(title: str, dp: int, tp: int) -> None:
    """1,152 bytes per token and layer in bf16, whatever the degrees of tensor and data parallelism."""
    design = structure("deepseek-v3", title, "bf16")
    e = evaluate(design, {"main": H200}, AT_4K, float(dp), axes=sizes(dp, tp))
    assert state_bytes(e) / 61 / 4096 == pytest.approx(1152)


@pytest.mark.parametrize(("dp", "tp"), [(1, 1), (1, 4), (4, 4), (8, 1)])
def test_data_parallelism_does_not_divide_the_cache_of_a_request(dp: int, tp: int) -> None:
    design = structure("llama-3.1-70b", DENSE_TENSOR_PARALLEL)
    e = evaluate(design, {"main": H100}, AT_4K, float(dp), axes=sizes(dp, tp))
    assert float(e.memory["main"].kv) == pytest.approx(2 * 80 * 8 * 128 * 4096 / tp)


def test_latent_attention_is_not_grouped_query_attention() -> None:
    """DeepSeek-V3 keeps 35,136 elements per token."""
    assert kv_bytes_per_token(load_model("deepseek-v3", "bf16"), 4096) / 2 == 35_136


def test_a_step_reads_all_three_matrices_of_a_gated_mlp() -> None:
    """Llama-3.1-70B in FP8 on 8 H100, TP8, one sequence: at least 2.63 ms, not 1.90."""
    design = structure("llama-3.1-70b", DENSE_TENSOR_PARALLEL, weights="fp8")
    e = evaluate(design, {"main": lifted(H100, "fp8")}, AT_4K, 1.0, axes=sizes(tp=8))
    assert float(e.seconds("overlapped")) >= 2.63e-3


def test_bandwidth_is_in_decimal_bytes() -> None:
    """One H100 at 3.35e12 bytes per second: at least 20.9 ms."""
    design = structure("llama-3.1-70b", DENSE_TENSOR_PARALLEL, weights="fp8")
    e = evaluate(design, {"main": lifted(H100, "fp8")}, AT_4K, 1.0, axes=sizes())
    assert float(e.seconds("limit")) >= 20.9e-3
    assert H100.memory_bytes_per_second == 3.35e12


def test_caches_are_read_once_per_key_value_head() -> None:
    """Llama-3.1-70B, 32 sequences of 4,096 in FP8: 21.47 GB a step, not 8 times that."""
    design = structure("llama-3.1-70b", DENSE_TENSOR_PARALLEL)
    e = evaluate(design, {"main": H100}, AT_4K, 32.0, axes=sizes())
    assert state_bytes(e) / 1e9 == pytest.approx(21.47, abs=0.01)


@pytest.mark.parametrize("clock", ["limit", "overlapped", "serial"])
@pytest.mark.parametrize("setting", ["physical", "achievable"])
@pytest.mark.parametrize("model", ["llama-3.1-70b", "gpt-oss-120b"])
def test_fused_attention_is_never_slower(model: str, setting: str, clock: str) -> None:
    design = structure(model, DENSE_TENSOR_PARALLEL)
    apart = design.with_(schedule=replace(design.schedule, fusions=()))
    fused, unfused = (
        float(evaluate(d, {"main": H100}, AT_4K, 32.0, axes=sizes(tp=8), setting=setting).seconds(clock))
        for d in (design, apart)
    )
    assert fused <= unfused


def test_prefill_stores_its_attended_values_by_head_and_not_by_token_pairs() -> None:
    """8,192 prompt tokens: values of s x h x d leave attention, never s x s."""
    design = structure("llama-3.1-70b", DENSE_TENSOR_PARALLEL)
    e = evaluate(design, {"main": H100}, Scenario(), 1.0, axes=sizes(), context=8192.0, queries=8192.0)
    written = max(
        float(e.numerics["main"](work.writes["activation"]))
        for work, attends in zip(e.plan.works, e.plan.attention, strict=True)
        if attends and "activation" in work.writes
    )
    assert written == 8192 * 64 * 128 * 2


def test_time_to_first_token_grows_with_the_prompt() -> None:
    design = structure("llama-3.1-70b", DENSE_TENSOR_PARALLEL)
    found = [
        prefill(design, {"main": H100}, Scenario(), 1.0, fixed(n), axes=sizes(tp=8), setting=s).seconds
        for s in ("physical", "achievable")
        for n in (128, 512, 2048, 8192)
    ]
    assert np.all(np.diff(found[:4]) > 0)
    assert np.all(np.diff(found[4:]) > 0)


@pytest.mark.parametrize("device", ["b200-sxm", "h100-sxm", "mi355x"])
@pytest.mark.parametrize("model", model_names())
def test_step_time_is_monotone_in_batch(model: str, device: str) -> None:
    batches = np.array([1.0, 8, 9, 64, 100, 128, 256, 1000])
    designs = [d for d in starting_designs(load_model(model)) if d.placement.pipeline is None]
    for design in (designs[0], designs[-1]):
        for dp, tp in ((8, 1), (1, 4)):
            e = evaluate(
                design, {"main": load_device(device)}, AT_4K, batches,
                axes=sizes(dp, tp), setting="achievable",
            )  # fmt: skip
            for clock in ("limit", "overlapped", "serial"):
                seconds = np.broadcast_to(np.asarray(e.seconds(clock)), batches.shape)
                assert np.all(np.diff(seconds) >= -1e-12), clock


def test_tensor_parallelism_replicates_the_latent_cache() -> None:
    """DeepSeek-R1 on 8 H200 with a bf16 cache: about 172 sequences of 4,096 under TP8 where 49.6 GB a
    device are left; about eight times as many with data-parallel attention."""
    design = structure("deepseek-v3", TENSOR_PARALLEL, "bf16")
    left = 397.1e9 / 8
    at_one = evaluate(design, {"main": H200}, AT_4K, 1.0, axes=sizes(tp=8)).memory["main"]
    room = replace(H200, memory_bytes=int(float(at_one.weights) + left))
    batches = np.arange(1.0, 2000)
    fits = evaluate(design, {"main": room}, AT_4K, batches, axes=sizes(tp=8)).fits
    assert batches[np.broadcast_to(np.asarray(fits), batches.shape)].max() == pytest.approx(172, abs=2)
    spread = structure("deepseek-v3", DATA_PARALLEL, "bf16")
    held = evaluate(spread, {"main": H200}, AT_4K, 8.0, axes=sizes(dp=8)).memory["main"]
    assert float(held.kv) == pytest.approx(float(at_one.kv))  # eight sequences, one on each device
