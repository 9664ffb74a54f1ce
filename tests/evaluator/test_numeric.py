"""Routing statistics against enumeration, and grids against single points."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from catalogue.devices import load_device
from evaluator.contexts import over_contexts
from evaluator.evaluate import evaluate
from evaluator.numeric import Numeric, chance_of_rank
from evaluator.scenario import Scenario
from rooflang.size import ceildiv, mul, routing, symbol
from tests.evaluator.placements import expert_parallel


def test_copies_of_v4_pro_on_eight_ranks():
    """A token of V4-Pro (6 of 384 experts) reaches 3.88 other ranks of 8, not 5.25."""
    others = 7 * chance_of_rank(8.0, 384.0, 6.0)
    assert float(others) == pytest.approx(3.88, abs=0.005)


def test_chance_of_a_rank_by_enumeration():
    picks = list(itertools.combinations(range(6), 2))
    hit = sum(1 for c in picks if any(e < 2 for e in c))
    assert float(chance_of_rank(3.0, 6.0, 2.0)) == pytest.approx(hit / len(picks))


def test_distinct_experts_by_enumeration():
    """Two tokens each choosing 1 of 4 experts on one rank: 1.75 distinct on average."""
    node = routing("distinct", 4, 1, 2, 1, tag="t")
    pairs = list(itertools.product(range(4), repeat=2))
    expected = sum(len(set(p)) for p in pairs) / len(pairs)
    assert float(Numeric({}, "balanced")(node)) == pytest.approx(expected)


def test_fullest_rank_exceeds_the_mean_only_when_unbalanced():
    node = routing("fullest", 8, 800, tag="t")
    assert float(Numeric({}, "balanced")(node)) == 100
    assert 100 < float(Numeric({}, "uniform")(node)) < 200


def test_ceil_takes_the_fullest_rank():
    node = ceildiv(symbol("B"), symbol("dp"))
    found = Numeric({"B": np.array([1.0, 8, 9]), "dp": 8.0}, "balanced")(node)
    assert found.tolist() == [1, 1, 2]


@pytest.mark.parametrize("clock", ["limit", "overlapped", "serial"])
def test_a_grid_equals_its_points(clock):
    design, device = expert_parallel("deepseek-v4-flash", 8, 2), {"main": load_device("b300")}
    batch = np.array([1.0, 63, 512])[:, None]
    dp = np.array([1.0, 4, 8])[None, :]
    grid = evaluate(design, device, Scenario(), batch, axes={"dp": dp}, drafted=1.0).seconds(clock)
    for i, b in enumerate(batch[:, 0]):
        for j, ranks in enumerate(dp[0]):
            one = evaluate(design, device, Scenario(), float(b), axes={"dp": float(ranks)}, drafted=1.0)
            assert float(one.seconds(clock)) == pytest.approx(float(grid[i, j]), rel=1e-12)


@pytest.mark.parametrize("clock", ["limit", "overlapped"])
def test_contexts_in_pieces_equal_contexts_one_by_one(clock):
    design, device = expert_parallel("deepseek-v4-flash", 8, 2), {"main": load_device("b300")}
    batch = np.array([1.0, 63, 512])[:, None]
    contexts = np.array([1.0, 100, 1000, 8192, 1048576])
    found = over_contexts(evaluate(design, device, Scenario(), batch, drafted=1.0), contexts, clock)
    for i, b in enumerate(batch[:, 0]):
        for j, context in enumerate(contexts):
            one = evaluate(design, device, Scenario(int(context)), float(b), drafted=1.0)
            assert float(one.seconds(clock)) == pytest.approx(float(found[i, j]), rel=1e-12)


def test_certain_routing_is_below_every_other():
    symbols = {"T": 5000.0}
    cases = (
        ("distinct", (256, 8, symbol("T"), 8)),
        ("copies", (8, 256, 8, symbol("T"))),
        ("fullest", (8, mul(symbol("T"), 8))),
        ("rows", (8192, 2048, 3, 1)),
    )
    for function, arguments in cases:
        node = routing(function, *arguments, tag="t")
        certain, balanced, uniform = (
            float(Numeric(symbols, kind)(node)) for kind in ("certain", "balanced", "uniform")
        )
        assert certain <= balanced <= uniform
    # 8 picks of 4 experts per rank need two ranks, of which a token may sit on one
    assert (
        float(Numeric(symbols, "certain")(routing("copies", 64, 256, 8, symbol("T"), tag="t"))) == 5000 / 64
    )


def test_picking_more_than_there_are_needs_every_rank():
    assert float(chance_of_rank(4.0, 16.0, 20.0)) == 1
    assert float(chance_of_rank(1.0, 16.0, 20.0)) == 1
