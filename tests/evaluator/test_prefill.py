"""Prefill: FLOPs of causal prompts against closed forms, chunks against whole prompts, and order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalogue.devices import load_device
from catalogue.models import load_model
from evaluator.errors import ScenarioError
from evaluator.evaluate import evaluate
from evaluator.lengths import fixed, listed, read_lengths, uniform
from evaluator.prefill import chunks, prefill
from evaluator.report import rows
from evaluator.scenario import Scenario
from mutations.expanded import expanded
from mutations.verify import verify
from rooflang.design import Design
from tests.evaluator.placements import expert_parallel, single

B300 = {"main": load_device("b300")}


def _flops(design: Design, queries: int, context: int) -> float:
    e = evaluate(design, B300, Scenario(context), 1.0, queries=float(queries))
    return sum(row.flops for row in rows(e))


def _llama(tokens: range) -> int:
    linear = 8192 * 10240 + 8192 * 8192 + 3 * 8192 * 28672
    return sum(80 * 2 * (linear + 2 * 64 * 128 * s) for s in tokens) + 2 * 8192 * 128256


def _gpt_oss(tokens: range) -> int:
    linear = 2880 * 5120 + 4096 * 2880 + 2880 * 128 + 4 * 3 * 2880 * 2880
    bias = 4 * 2880  # the experts' output biases, weighted by their shares
    pairs = sum(18 * 2 * 2 * 64 * 64 * (s + min(s, 128)) for s in tokens)
    return pairs + len(tokens) * 36 * 2 * (linear + bias) + 2 * 2880 * 201088


def _deepseek_v3(tokens: range, absorbed: bool) -> int:
    projections = 7168 * 1536 + 7168 * 576 + 1536 * 128 * 192 + 128 * 128 * 7168
    dense, sparse = 3 * 7168 * 18432, 7168 * 256 + (8 + 1) * 3 * 7168 * 2048
    total = len(tokens) * 2 * (61 * projections + 3 * dense + 58 * sparse) + 2 * 7168 * 129280
    if absorbed:
        total += 61 * 2 * len(tokens) * 128 * 512 * (128 + 128)
        return total + sum(61 * 2 * 128 * (576 + 512) * s for s in tokens)
    # Keys and values of all cached rows are made once per step.
    total += 61 * 2 * tokens[-1] * 512 * 128 * (128 + 128)
    return total + sum(61 * 2 * 128 * (128 + 64 + 128) * s for s in tokens)


def _deepseek_v4_attention(s: int) -> int:
    """Of DeepSeek-V4-Flash: 3 layers with a window alone (2 at the front), 21 CSA and 20 HCA, less one."""
    seen = 2 * 2 * 64 * 512
    window = seen * min(s, 128)
    csa = window + seen * min(s // 4, 512) + 2 * 64 * (128 + 1) * (s // 4)
    hca = window + seen * (s // 128)
    return 2 * window + 21 * csa + 20 * hca


PROMPTS = [(1, 1), (1, 8192), (512, 512), (300, 4000), (2048, 131072)]


@pytest.mark.parametrize(("queries", "context"), PROMPTS)
def test_causal_flops_in_closed_form(queries, context):
    tokens = range(context - queries + 1, context + 1)
    assert _flops(single("llama-3.1-70b"), queries, context) == pytest.approx(_llama(tokens), rel=1e-12)
    assert _flops(single("gpt-oss-120b"), queries, context) == pytest.approx(_gpt_oss(tokens), rel=1e-12)
    v3 = single("deepseek-v3")
    assert _flops(v3, queries, context) == pytest.approx(_deepseek_v3(tokens, absorbed=True), rel=1e-12)
    wide = expanded(v3)
    assert wide is not None
    assert _flops(wide, queries, context) == pytest.approx(_deepseek_v3(tokens, absorbed=False), rel=1e-12)


@pytest.mark.parametrize(("queries", "context"), PROMPTS)
def test_causal_flops_of_compressed_attention(queries, context):
    design = single("deepseek-v4-flash")
    at = {q: _flops(design, q, q) for q in (1, 2)}
    linear = at[2] - at[1] - _deepseek_v4_attention(2)  # of one token, without the head
    head = at[1] - linear - _deepseek_v4_attention(1)
    assert head == pytest.approx(2 * 4096 * 129280, rel=1e-3)  # and the mixing of streams before it
    pairs = sum(_deepseek_v4_attention(s) for s in range(context - queries + 1, context + 1))
    assert _flops(design, queries, context) == pytest.approx(queries * linear + head + pairs, rel=1e-12)


def test_a_prompt_is_its_tokens_one_by_one_but_reads_once():
    """Work of a prompt is that of its tokens as decode steps; its weights and caches are read once."""
    for name in ("gpt-oss-120b", "deepseek-v4-flash"):
        whole = evaluate(single(name), B300, Scenario(64), 1.0, queries=64.0)
        steps = [evaluate(single(name), B300, Scenario(s), 1.0, queries=1.0) for s in range(1, 65)]
        last = 63 * sum(r.flops for r in rows(steps[-1]) if r.section == "head")
        each = sum(r.flops for e in steps for r in rows(e))
        assert sum(r.flops for r in rows(whole)) == pytest.approx(each - last)
        read = [sum(r.memory_bytes.get("weight", 0) for r in rows(e)) for e in (whole, steps[-1])]
        assert read[0] == pytest.approx(read[1], rel=1e-2)


def test_caches_are_read_once_and_windows_by_their_union():
    e = evaluate(single("gpt-oss-120b"), B300, Scenario(4096), 1.0, queries=1000.0)
    moved = sum(r.memory_bytes.get("state", 0) for r in rows(e))
    row = 2 * 8 * 64  # K and V, fp8
    read, written = 18 * row * (4096 + 1127), 18 * row * (1000 + 128)
    assert moved == pytest.approx(read + written)


def test_expanded_attention_is_the_same_model_and_only_latent_caches_have_it():
    reference = load_model("deepseek-v3")
    wide = expanded(reference)
    assert wide is not None
    assert verify(reference, wide).accepted
    assert expanded(load_model("llama-3.1-70b")) is None
    prompts = fixed(8192)
    seconds = [
        prefill(d, B300, Scenario(), 1.0, prompts).seconds
        for d in (single("deepseek-v3"), expanded(single("deepseek-v3")))
    ]
    assert seconds[1] < 0.7 * seconds[0]


def test_chunks_cover_prompts():
    for prompts in (fixed(8192), uniform(100, 9000), listed({1: 1, 4097: 2, 100: 5})):
        for hit in (0.0, 0.3, 1.0):
            for size in (None, 1, 7, 512):
                cut = chunks(prompts, hit, size)
                lengths, weights = prompts.arrays
                computed = lengths - np.minimum(np.floor(hit * lengths), lengths - 1)
                assert cut.computed == pytest.approx(float(computed @ weights))
                assert np.all(cut.last_queries >= 1)
                assert np.all(cut.last_queries <= cut.size)


def test_chunked_flops_are_those_of_the_whole_prompt():
    """5,000 tokens in chunks of 512: the same products, with the head in the last chunk alone."""
    cut = chunks(fixed(5000), 0.0, 512)
    design = single("deepseek-v4-flash")
    total = _flops(design, int(cut.last_queries[0]), 5000)
    for end in cut.ends:
        e = evaluate(design, B300, Scenario(int(end)), 1.0, queries=512.0, ends=False)
        total += sum(r.flops for r in rows(e))
    assert total == pytest.approx(_flops(design, 5000, 5000), rel=1e-12)


def test_a_chunked_prompt_is_the_sum_of_its_steps():
    design = expert_parallel("gpt-oss-120b", 4)
    found = prefill(design, B300, Scenario(), 4.0, fixed(1000), hit=0.1, chunk=400, setting="achievable")
    each = [
        evaluate(design, B300, Scenario(s), 4.0, queries=q, ends=ends, setting="achievable")
        for q, s, ends in ((400.0, 500, False), (400.0, 900, False), (100.0, 1000, True))
    ]
    seconds = sum(float(e.seconds("overlapped")) for e in each)
    assert found.seconds == pytest.approx(seconds)
    assert found.per_gpu == pytest.approx(4 * 900 / seconds / 4)


def test_a_distribution_is_averaged_not_taken_at_its_mean():
    design = single("llama-3.1-70b")
    seconds = {
        n: prefill(design, B300, Scenario(), 1.0, fixed(n)).seconds for n in (1000, 33000, 65000)
    }  # fmt: skip
    mixed = prefill(design, B300, Scenario(), 1.0, listed({1000: 1, 65000: 1})).seconds
    assert mixed == pytest.approx((seconds[1000] + seconds[65000]) / 2)
    assert mixed > 1.1 * seconds[33000]


def test_a_fully_cached_prompt_costs_one_token():
    design = expert_parallel("deepseek-v4-flash", 4)
    cached = prefill(design, B300, Scenario(), 4.0, fixed(8192), hit=1.0).seconds
    one = evaluate(design, B300, Scenario(8192), 4.0, queries=1.0).seconds("overlapped")
    assert cached == pytest.approx(float(one))


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(["llama-3.1-70b", "gpt-oss-120b", "deepseek-v4-flash", "deepseek-v3"]),
    st.integers(1, 20000),
    st.integers(1, 4000),
    st.sampled_from([None, 256, 2048]),
    st.sampled_from(["physical", "achievable"]),
    st.sampled_from(["limit", "overlapped", "serial"]),
)
def test_longer_prompts_take_longer(model, tokens, more, chunk, setting, clock):
    few, many = (
        prefill(single(model), B300, Scenario(), 1.0, fixed(n), chunk=chunk, setting=setting, clock=clock)
        for n in (tokens, tokens + more)
    )
    assert few.seconds < many.seconds


def test_hits_save_time_and_batches_never_do():
    design = expert_parallel("deepseek-v4-pro", 8)
    hits = [prefill(design, B300, Scenario(), 8.0, fixed(8192), hit=h).seconds for h in (0, 0.2, 0.9, 1)]
    assert hits == sorted(hits, reverse=True)
    batch = np.array([1.0, 7, 8, 9, 64])
    for clock in ("limit", "overlapped", "serial"):
        seconds = prefill(design, B300, Scenario(), batch, fixed(4096), chunk=1024, clock=clock).seconds
        assert np.all(np.diff(seconds) >= -1e-15)


def test_throughput_never_exceeds_the_best_matrix_rate():
    """At least 2 FLOPs per active parameter and token, at the fastest format of the device."""
    device = B300["main"]
    for model, active in (("llama-3.1-70b", 69.5e9), ("deepseek-v4-pro", 45e9), ("gpt-oss-120b", 4.5e9)):
        design = single(model)
        found = prefill(design, B300, Scenario(), 64.0, fixed(4096), clock="limit")
        most = max(device.flops_per_second.values()) / (2 * active)
        assert float(found.per_gpu) < most


def test_memory_holds_all_prompts_and_a_chunk_of_activations():
    design = single("llama-3.1-70b")
    few = prefill(design, B300, Scenario(), 4.0, fixed(8192), chunk=512).step.memory["main"]
    many = prefill(design, B300, Scenario(), 8.0, fixed(8192), chunk=512).step.memory["main"]
    cache = 80 * 2 * 8 * 128 * 8192
    assert float(few.kv) == pytest.approx(4 * cache)
    assert float(many.kv) == pytest.approx(8 * cache)
    whole = prefill(design, B300, Scenario(), 4.0, fixed(8192)).step.memory["main"]
    assert float(whole.activations) > float(few.activations)
    assert not prefill(design, B300, Scenario(), 4000.0, fixed(8192), chunk=512).fits


def test_lengths_are_read_or_refused_in_words():
    assert read_lengths("8192") == fixed(8192)
    assert read_lengths("1000-3000").mean == pytest.approx(2000)
    assert read_lengths("10-12").values == (10, 11, 12)
    assert read_lengths("1000:3,2000:1").mean == pytest.approx(1250)
    for wrong in ("", "a", "0", "5-2", "1:x", "1-9999999999", "9" * 400):
        with pytest.raises(ScenarioError):
            read_lengths(wrong)
    for wrong in ("10:0", "10:-1,20:2", "10:nan", "10:1e400,20:1"):
        with pytest.raises(ScenarioError, match="finite numbers of at least 0, and one of them more"):
            read_lengths(wrong)
    with pytest.raises(ScenarioError, match="between 0 and 1, but got"):
        chunks(fixed(10), 1.5)
