"""The relaxation bound: below every design, tight where nothing is left to gain, and its own parts right."""

from __future__ import annotations

import random
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalogue.devices import load_device
from catalogue.models import load_model, model_names
from evaluator.baseline import baseline
from evaluator.errors import ConfigurationError
from evaluator.evaluate import evaluate
from evaluator.relaxation import relax
from evaluator.scenario import Scenario
from evaluator.sweep import Grid
from mutations.registry import rule, rules
from mutations.start import starting_designs
from rooflang.errors import RoofLangError
from rooflang.lower import lower
from rooflang.parser import parse

GRID = Grid(tuple(4**i for i in range(9)))


def changed(design, rng: random.Random, names, changes: int):
    """The design after some changes; those that cannot be placed are left out."""
    for _ in range(changes):
        chosen = rule(rng.choice(names))
        sites = chosen.sites(design)
        if sites:
            new = chosen.apply(design, rng.choice(sites))
            with suppress(RoofLangError):
                lower(new)
                design = new
    return design


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(["deepseek-v4-flash", "deepseek-v3", "gpt-oss-120b", "llama-3.1-70b"]),
    st.sampled_from(["limit", "overlapped", "serial"]),
    st.sampled_from(["physical", "achievable"]),
    st.randoms(use_true_random=False),
)
def test_no_design_is_faster(model, clock, setting, rng: random.Random):
    every = [r.name for r in rules()]
    names = every if rng.random() < 0.5 else ["reassociate", "merge products", "fuse", "move scale"]
    design = changed(rng.choice(starting_designs(load_model(model))), rng, names, rng.randint(0, 6))
    axes = {a: float(rng.choice([1, 2, 4, 8])) for mesh in design.placement.meshes for a, _ in mesh.axes}
    device, scenario = load_device(rng.choice(["b300", "h100"])), Scenario(rng.choice([100, 8192, 131072]))
    batch, drafted = rng.choice([1, 3, 64, 4096]), rng.choice([0, 1, 3])
    m = rng.choice([1, 2, 5])
    e = evaluate(
        design, {p.name: device for p in design.pools}, scenario, float(max(m, batch)), axes=axes,
        microbatches=float(m), overlap=float(rng.random() < 0.5), drafted=float(drafted), setting=setting,
    )  # fmt: skip
    if not np.all(e.allowed):
        return
    bound = relax(
        load_model(model), [(device, int(np.max(e.devices)))], scenario, [max(m, batch)],
        drafts=(int(np.max(e.drafted)),), setting=setting, clock=clock,
    )  # fmt: skip
    assert bound.seconds.item() <= float(e.seconds(clock)) * (1 + 1e-9)
    assert bound.fits.item() or not e.fits


@pytest.mark.parametrize("model", model_names())
def test_no_conventional_frontier_passes_the_bound(model):
    """Under alternating settings, as a model's place in the catalogue has it."""
    odd = model_names().index(model) % 2
    setting, clock = ("physical", "limit") if odd else ("achievable", "overlapped")
    device, count = load_device("b300"), 16
    structures = starting_designs(load_model(model))
    found = baseline(structures, device, count, Scenario(), grid=GRID, setting=setting, clock=clock)
    bound = relax(load_model(model), [(device, count)], Scenario(), setting=setting, clock=clock)
    front = bound.frontier()
    for point in found.points:
        assert any(
            p.tokens_per_second_per_user >= point.tokens_per_second_per_user * (1 - 1e-9)
            and p.tokens_per_second_per_gpu >= point.tokens_per_second_per_gpu * (1 - 1e-9)
            for p in front
        )


def test_it_is_reached_where_a_design_reads_everything_once_and_sends_nothing():
    device = load_device("b300")
    design = starting_designs(load_model("gpt-oss-120b"))[0]
    e = evaluate(design, {"main": device}, Scenario(), 512.0, setting="physical")
    bound = relax(load_model("gpt-oss-120b"), [(device, 1)], Scenario(), [512], drafts=(0,),
                  setting="physical", clock="limit")  # fmt: skip
    # The bound also reads over the host's link, which this design leaves idle.
    assert float(e.seconds("limit")) == pytest.approx(bound.seconds.item(), rel=0.02)


def test_a_low_rank_pair_is_taken_in_the_cheaper_order():
    seconds = {}
    for rank in (64, 4096):
        model = parse(
            f"""design "low rank {rank}"

program {{
  dims   D=1024 F=1024 R={rank} V=128
  input  ids: index<V>[B, Q]
  weight emb: bf16[V, D]
  x = gather(emb[ids])
  section low {{
    weight down: bf16[D, R]
    weight up: bf16[R, F]
    a = einsum(x, down -> B Q R)
    y = einsum(a, up -> B Q F)
  }}
  output y
}}
"""
        )
        bound = relax(model, [(load_device("h100"), 1)], Scenario(), [1 << 20], drafts=(0,),
                      setting="physical")  # fmt: skip
        seconds[rank] = float(bound.resources["matrix"].item()) * load_device("h100").flops_per_second["bf16"]
    tokens = float(1 << 20)
    assert seconds[64] == pytest.approx(2 * tokens * (1024 * 64 + 64 * 1024))
    assert seconds[4096] == pytest.approx(2 * tokens * 1024 * 1024)


def test_slower_with_more_sequences_and_faster_with_more_devices():
    model, device = load_model("deepseek-v3"), load_device("b300")
    few, many = (relax(model, [(device, n)], Scenario(), GRID.batches).seconds for n in (8, 64))
    assert np.all(np.diff(few, axis=0) >= 0)
    assert np.all(many <= few)


def test_two_kinds_of_devices_add_up():
    model, scenario = load_model("llama-3.1-70b"), Scenario()
    fast, slow = load_device("b300"), load_device("h100")
    both, one = (
        relax(model, cluster, scenario, [4096], setting="physical", clock="limit").seconds.item()
        for cluster in ([(fast, 4), (slow, 4)], [(fast, 4)])
    )
    assert both < one


def test_no_devices_are_refused_in_words():
    with pytest.raises(ConfigurationError, match="at least 1, but got 0 devices"):
        relax(load_model("llama-3.1-70b"), [], Scenario(), [1])
