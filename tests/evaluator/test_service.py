"""Services: formulas of aggregated and disaggregated serving, limits, splits, and order."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalogue.devices import load_device
from catalogue.models import load_model
from evaluator.aggregated import aggregated_steps
from evaluator.contexts import decoding
from evaluator.disaggregated import cache_bytes, cache_rate, split
from evaluator.errors import ConfigurationError, ScenarioError, UnavailableError
from evaluator.evaluate import evaluate
from evaluator.lengths import fixed, listed, uniform
from evaluator.mixed import mixed
from evaluator.prefill import chunks, prefill
from evaluator.scenario import Scenario
from evaluator.service import Answer, Service, best_of
from evaluator.serving import serve
from evaluator.sweep import Grid
from mutations.expanded import expanded, prompt_designs, prompt_forms
from mutations.start import starting_designs
from tests.evaluator.placements import expert_parallel, single

DEVICE = load_device("b300")
B300 = {"main": DEVICE}
GRID = Grid((1, 8, 64, 256, 1024), most_configurations=60)


def _serve(model: str, count: int, service: Service, mode: str = "best", **more: object) -> Answer:
    loaded = load_model(model)
    decoders = [(d.name, d) for d in starting_designs(loaded) if "MLP replicated" not in d.name]
    prefilling = [(d.name, d) for d in prompt_designs(loaded) if "MLP replicated" not in d.name]
    more.setdefault("widened", prompt_forms(loaded))
    return serve(decoders, prefilling, DEVICE, count, service, mode=mode, grid=GRID, **more)


def test_contexts_of_a_steady_state():
    """A request is seen in proportion to its answer's length, half-way on average."""
    found = decoding(fixed(1000), listed({100: 1, 900: 1}))
    assert found.weights.sum() == pytest.approx(1)
    mean = float(found.contexts @ found.weights)
    assert mean == pytest.approx(1000 + (100 * 50 + 900 * 450) / 1000)
    wide = decoding(uniform(1, 60000), uniform(1, 3000))
    assert len(wide.contexts) <= 128
    exact = 30000.5 + np.mean(np.arange(1, 3001.0) ** 2) / 2 / 1500.5
    assert float(wide.contexts @ wide.weights) == pytest.approx(exact, rel=1e-3)


def test_a_step_over_contexts_is_averaged_not_taken_at_the_mean():
    """A window is full for long contexts and half empty for short ones; rows of a cache are linear."""
    design = single("gpt-oss-120b")
    contexts = np.array([20.0, 5000.0])
    e = evaluate(design, B300, Scenario(), 256.0, context=contexts, weights=np.array([0.5, 0.5]))
    each = [evaluate(design, B300, Scenario(int(c)), 256.0) for c in contexts]
    assert e.memory["main"].kv.item() == pytest.approx(sum(x.memory["main"].kv for x in each) / 2)
    middle = evaluate(design, B300, Scenario(2510), 256.0).memory["main"].kv
    assert e.memory["main"].kv.item() < middle


def test_riding_tokens_cost_what_they_add():
    """A mixed step lies between decode alone and decode and prefill one after the other."""
    design, cut = expert_parallel("deepseek-v4-flash", 8), chunks(fixed(8192), 0.0, 2048)
    contexts = decoding(fixed(8192), fixed(1024))
    for setting, clock in itertools.product(("physical", "achievable"), ("limit", "overlapped", "serial")):
        riding = [0.0, 2.0, 8.0, 64.0]
        seconds = [
            np.asarray(e.seconds(clock)).item()
            for q in riding
            for e in (mixed(design, B300, Scenario(), 256.0, contexts, cut, q, setting=setting),)
        ]
        assert seconds == sorted(seconds)
        assert len(set(seconds)) == len(seconds)
        alone = prefill(
            design, B300, Scenario(), 256.0, fixed(8192), chunk=2048, setting=setting, clock=clock
        )
        for q, time in zip(riding[1:], seconds[1:], strict=True):
            # A prompt's share of its own prefill at full batch, in which it reads its weights per chunk.
            apart = seconds[0] + q * 256 / 2048 * float(alone.seconds) * 2048 / 8192 / 256
            assert time <= apart * 1.35 + seconds[0]


def test_mixed_flops_are_those_of_decode_and_prompt():
    """At long prompts the matrix work of the riding tokens is that of the prompt, token by token."""
    design, cut = single("llama-3.1-70b"), chunks(fixed(4096), 0.0, 1024)
    contexts = decoding(fixed(4096), fixed(1024))

    def matrix(e: object) -> float:
        return float(
            sum(i.layers * np.max(e.prices[i.work].resources.get("matrix", 0.0)) for i in e.plan.items)
        )

    decode = matrix(mixed(design, B300, Scenario(), 64.0, contexts, cut, 0.0))
    both = matrix(mixed(design, B300, Scenario(), 64.0, contexts, cut, 32.0))
    prompt = matrix(evaluate(design, B300, Scenario(4096), 64.0, queries=4096.0))
    assert both - decode == pytest.approx(prompt * 32 / 4096, rel=2e-3)


def test_prompts_of_latent_attention_ride_in_their_own_form():
    """The matrix work that riding tokens add is that of the form that is written out."""
    design = single("deepseek-v3")
    wide, cut = expanded(design), chunks(fixed(8192), 0.0, 8192)
    contexts = decoding(fixed(8192), fixed(1024))

    def matrix(e: object) -> float:
        return float(
            sum(i.layers * np.max(e.prices[i.work].resources.get("matrix", 0.0)) for i in e.plan.items)
        )

    forms = {}
    for name, form in (("absorbed", None), ("written out", wide)):
        both = mixed(design, B300, Scenario(), 64.0, contexts, cut, 32.0, prompt_form=form)
        prompt = evaluate(form or design, B300, Scenario(8192), 64.0, queries=8192.0)
        decode = mixed(design, B300, Scenario(), 64.0, contexts, cut, 0.0)
        forms[name] = matrix(both) - matrix(decode)
        assert forms[name] == pytest.approx(matrix(prompt) * 32 / 8192, rel=2e-3)
    assert forms["written out"] < 0.7 * forms["absorbed"]
    alone = _serve("deepseek-v3", 16, Service(), "aggregated", widened=None).best
    found = _serve("deepseek-v3", 16, Service(), "aggregated").best
    assert found.output_per_gpu > alone.output_per_gpu


def test_aggregated_serving_balances_prompts_and_answers():
    design = expert_parallel("gpt-oss-120b", 4)
    service = Service(fixed(2000), fixed(500), hit=0.25, chunk=512)
    found = aggregated_steps(
        design, B300, service, 64.0, axes={"dp": 4.0, "tp": 1.0}, microbatches=1.0, overlap=0.0, drafted=0.0,
        clock="overlapped", setting="achievable",
    )  # fmt: skip
    cut = chunks(service.prompts, 0.25, 512)
    contexts = decoding(service.prompts, service.answers)
    # Four groups compute a chunk of 512 tokens each while 64 sequences decode: 32 tokens for each of them,
    # of which 1500 / 500 are due per step.
    plain, slow = (
        mixed(design, B300, service.scenario, 64.0, contexts, cut, q, setting="achievable").seconds(
            "overlapped"
        ).item()
        for q in (0.0, 512 * 4 / 64)
    )  # fmt: skip
    assert found.ttft == pytest.approx(3 * slow)
    assert found.tpot == pytest.approx((1 - 3 / 32) * plain + 3 / 32 * slow)
    assert found.requests == pytest.approx(64 / found.tpot / 500)


@pytest.mark.parametrize("batch", [4.0, 16.0, 64.0])
def test_prompts_hardly_slow_a_few_sequences_of_a_mixture_of_experts(batch):
    """A step with a chunk reads all experts; the other steps read those of the few tokens that decode."""
    design = expert_parallel("deepseek-v3", 8)
    service = Service(fixed(1024), fixed(1024))
    found = aggregated_steps(
        design, B300, service, batch, axes={"dp": 4.0, "tp": 1.0}, microbatches=1.0, overlap=0.0, drafted=0.0,
        clock="overlapped", setting="achievable",
    )  # fmt: skip
    share = batch / (2048 * 4)
    assert float(found.share) == pytest.approx(share)
    plain = found.plain.seconds("overlapped").item()
    assert plain < float(found.tpot) < plain * (1 + 60 * share)


@given(st.floats(0.01, 100), st.integers(1, 9), st.floats(0.01, 100), st.integers(1, 9), st.integers(2, 40))
def test_the_best_split_by_enumeration(prompts, each, answers, other, count):
    one = [np.array([float(v)]) for v in (prompts, each, answers, other)]
    x, y, requests = (float(v[0]) for v in split(*one, count))
    splits = [
        min(i * prompts, (count - i * each) // other * answers) for i in range(1, (count - other) // each + 1)
    ]
    assert requests == pytest.approx(max(splits, default=0.0))
    if splits:
        assert min(x * prompts, y * answers) == pytest.approx(requests)
        assert x * each + y * other <= count


def test_disaggregated_serving_by_its_formula():
    service = Service(fixed(4096), fixed(512), hit=0.5)
    found = _serve("gpt-oss-120b", 8, service, "disaggregated")
    for way in found.frontier:
        assert way.prefill is not None
        p, d = way.prefill, way.decode
        n_p, n_d = p.replicas * p.devices, d.replicas * d.devices
        assert n_p + n_d <= 8
        r_p = p.batch * 4096 * 0.5 / p.seconds / p.devices
        r_d = d.batch / d.seconds / d.devices
        rate = 512 * min(n_p * r_p / (4096 * 0.5), n_d * r_d / 512) / 8
        assert way.output_per_gpu == pytest.approx(rate)
        assert way.ttft == pytest.approx(p.seconds + way.transfer)
        assert way.latency == pytest.approx(way.ttft + 511 * way.tpot)
        assert way.total_per_gpu == pytest.approx(way.output_per_gpu * (4096 + 512) / 512)
        assert way.requests_per_second == pytest.approx(way.output_per_gpu * 8 / 512)


def test_caches_cap_the_requests_of_a_slow_link():
    service = Service(fixed(8192), fixed(16))
    design = load_model("llama-3.1-70b")
    size = cache_bytes(next(iter(starting_designs(design))), service)
    assert size == pytest.approx(80 * 2 * 8 * 128 * 8192)
    slow = replace(DEVICE, scale_up_bytes_per_second=1e9)
    structures = [(d.name, d) for d in starting_designs(design)[:1]]
    found = serve(structures, structures, slow, 8, service, mode="disaggregated", grid=GRID)
    best = found.best
    assert best is not None
    assert best.limiting == "transfer"
    assert best.prefill is not None
    fewer = min(best.prefill.replicas * best.prefill.devices, best.decode.replicas * best.decode.devices)
    rate = cache_rate(slow, 8, "achievable")
    assert best.requests_per_second == pytest.approx(fewer * rate / size)
    assert best.transfer >= size / (8 * rate)


def test_limits_are_kept_or_said_to_be_out_of_reach():
    free = _serve("gpt-oss-120b", 8, Service())
    assert free.best is not None
    held = _serve("gpt-oss-120b", 8, Service(max_ttft=0.5, max_tpot=0.01))
    assert held.best is not None
    assert held.best.ttft <= 0.5
    assert held.best.tpot <= 0.01
    assert held.best.output_per_gpu <= free.best.output_per_gpu
    assert all(w.ttft <= 0.5 and w.tpot <= 0.01 for w in held.frontier)
    missed = _serve("gpt-oss-120b", 8, Service(max_ttft=1e-4, max_tpot=0.01))
    assert not missed.feasible
    assert missed.best is None
    assert missed.frontier == ()
    assert missed.nearest is not None
    assert missed.nearest.ttft > 1e-4
    fastest = min(w.ttft for w in (missed.nearest, *free.frontier))
    assert missed.nearest.ttft == fastest


def test_the_better_mode_is_taken():
    service = Service(fixed(4096), fixed(512), max_tpot=0.02)
    best = {m: _serve("gpt-oss-120b", 8, service, m).best for m in ("aggregated", "disaggregated", "best")}
    rates = {m: way.output_per_gpu for m, way in best.items() if way is not None}
    assert rates["best"] == pytest.approx(max(rates["aggregated"], rates["disaggregated"]))


def test_longer_prompts_and_fewer_hits_never_serve_more():
    for mode in ("aggregated", "disaggregated"):
        rates = [
            _serve("gpt-oss-120b", 8, Service(fixed(n), fixed(512), hit=h), mode).best.requests_per_second
            for n, h in ((2048, 0.9), (2048, 0.0), (8192, 0.0))
        ]
        assert rates == sorted(rates, reverse=True)
        assert len(set(rates)) == 3


def test_latent_attention_is_written_out_for_prompts():
    found = _serve("deepseek-v3", 16, Service(), "disaggregated").best
    assert found is not None
    assert found.prefill is not None
    assert "latent written out" in found.prefill.structure
    assert "latent written out" not in found.decode.structure


@settings(max_examples=10, deadline=None)
@given(st.sampled_from([512, 4096]), st.integers(64, 2048), st.sampled_from([0.0, 0.5, 1.0]))
def test_no_service_exceeds_its_parts(prompt, answer, hit):
    """Requests need the device's fastest matrix rate at least for the parameters that a token touches."""
    service = Service(fixed(prompt), fixed(answer), hit=hit)
    found = _serve("llama-3.1-70b", 8, service, clock="limit", setting="physical")
    assert found.best is not None
    computed = max(prompt - int(hit * prompt), 1)
    tokens = found.best.requests_per_second * (computed + answer)
    assert tokens < 8 * DEVICE.flops_per_second["bf16"] / (2 * 68.4e9)


def test_wrong_services_are_refused_in_words():
    with pytest.raises(ScenarioError, match="hit rate must be between 0 and 1"):
        Service(hit=2.0)
    with pytest.raises(ScenarioError, match="limit of TTFT must be more than 0"):
        Service(max_ttft=0.0)
    with pytest.raises(
        ScenarioError, match="at most 1,024 chunks, but 3,000 tokens in chunks of 1 take 3,000"
    ):
        Service(fixed(3000), chunk=1)
    with pytest.raises(ScenarioError, match="mode must be one of"):
        _serve("gpt-oss-120b", 8, Service(), "both")
    with pytest.raises(ScenarioError, match="without draft layers"):
        _serve("gpt-oss-120b", 8, Service(drafted=1))
    with pytest.raises(ConfigurationError, match="at least 2 devices"):
        _serve("gpt-oss-120b", 1, Service(), "disaggregated")
    lost = replace(DEVICE, scale_out_bytes_per_second=None)
    with pytest.raises(UnavailableError, match="no known scale-out rate"):
        cache_rate(lost, 64, "physical")


def test_nothing_fits_is_no_answer():
    assert best_of(Service(), [], 10, 0) == Answer(None, None, (), 10, 0)
