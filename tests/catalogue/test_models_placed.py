"""Every model under the conventional structures: it is priced, and what they compute is verified."""

from __future__ import annotations

import pytest

from catalogue.devices import load_device
from catalogue.models import load_model, model_names
from evaluator.baseline import baseline
from evaluator.scenario import Scenario
from evaluator.sweep import Grid
from mutations.start import starting_designs
from mutations.verify import verify
from rooflang.design import Design

# One model of each family of parts, and what a reader may want to see verified of it.
VERIFIED = {
    "deepseek-v3": "latent attention",
    "deepseek-v3.2": "a choice of tokens in each layer",
    "glm-5.2": "a choice that later layers share",
    "deepseek-v4-flash": "compressed caches",
    "deepseek-v4.1-flash": "caches and choices of other layers",
    "gpt-oss-20b": "windows, sinks and biases",
    "gemma-4-26b-a4b": "an embedding that the head reads, heads of two widths, parallel feed-forward parts",
    "llama-4-maverick": "experts whose input is scaled",
    "longcat-flash-chat": "experts beside the next layer, and some that do nothing",
    "minimax-m2": "norms over all heads",
    "minimax-m3": "a choice for each head",
    "mimo-v2-flash": "keys and values of other widths",
    "step-3": "one key/value head",
    "qwen3-next-80b-a3b": "gated delta rules, gated attention",
    "kimi-k3": "Kimi delta attention, experts of a narrower width",
    "minimax-m1": "lightning attention",
    "nemotron-3-nano-30b-a3b": "state-space layers and experts alone",
}
FORMS = ("DP attention + EP", "TP attention + EP", "TP attention + TP experts", "TP attention + EP + CP")
BEYOND = "TP attention + EP beyond KV heads"


def structures(name: str) -> dict[str, Design]:
    return {d.name.partition(": ")[2]: d for d in starting_designs(load_model(name))}


@pytest.mark.parametrize("name", VERIFIED)
def test_conventional_structures_compute_the_model(name: str) -> None:
    found = structures(name)
    for form in (*FORMS, BEYOND):
        if form in found:
            verdict = verify(load_model(name), found[form])
            assert verdict.accepted, (form, VERIFIED[name], [str(r) for r in verdict.reasons])


@pytest.mark.parametrize("name", model_names())
def test_conventional_structures_fit_a_cluster(name: str) -> None:
    grid = Grid((64, 512), drafts=(0,), sizes=(1, 8, 16, 64))
    found = baseline(
        starting_designs(load_model(name)), load_device("b300-sxm"), 64, Scenario(8192), grid=grid
    )
    assert found.fitting
    assert all(0 < p.tokens_per_second_per_user < 2000 for p in found.points)


def test_tensor_parallelism_beyond_key_value_heads_repeats_caches_alone() -> None:
    """Of 4 key/value heads with 16 query heads each, tp cuts the first and qp the second."""
    found = structures("qwen3-235b-a22b")[BEYOND].placement
    lines = {(s.target, s.dim): s.axes for s in found.shards}
    assert lines["attention", "K"] == ("tp",)
    assert lines["attention", "G"] == ("qp",)
    assert lines["experts", "E"] == ("dp", "tp", "qp")
    assert BEYOND not in structures("deepseek-v3")
    assert BEYOND not in structures("step-3")


def test_an_embedding_that_the_head_reads_is_cut_by_vocabulary() -> None:
    for design in structures("gemma-4-26b-a4b").values():
        lines = {(s.target, s.dim): s.axes for s in design.placement.shards}
        assert lines["embed", "V"][0] == lines["head", "V"][0] == "tp"
