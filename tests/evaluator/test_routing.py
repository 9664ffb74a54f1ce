"""Statistics of skewed routing against simulated tokens, and the order that skew and replicas keep."""

from __future__ import annotations

import numpy as np
import pytest

from catalogue.devices import load_device
from evaluator.errors import ScenarioError
from evaluator.evaluate import evaluate
from evaluator.numeric import Numeric
from evaluator.routing import Skew, packing
from evaluator.scenario import Scenario
from evaluator.sweep import Grid, sweep
from rooflang.size import routing
from tests.evaluator.placements import expert_parallel

EXPERTS, PICKS, TOKENS = 64, 4, 128
B300 = {"main": load_device("b300")}


def _choices(chances: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Tokens' picks with exactly these chances: systematic sampling over a random order of experts."""
    picks = np.zeros((TOKENS, len(chances)), bool)
    for token in picks:
        order = generator.permutation(len(chances))
        marks = generator.random() + np.arange(PICKS)
        token[order[np.searchsorted(np.cumsum(chances[order]), marks).clip(max=len(chances) - 1)]] = True
    return picks


@pytest.mark.parametrize(("exponent", "ranks", "redundant"), [(0.6, 8, 0), (1.0, 8, 1), (1.0, 32, 2)])
def test_against_simulated_tokens(exponent, ranks, redundant):
    generator = np.random.default_rng(20)
    held = packing(Skew(exponent), EXPERTS, PICKS, ranks, redundant).chances
    # Slots of equal chance are replicas of one expert, or of experts that cannot be told apart.
    rank_of, chance_of = np.nonzero(held)[0], held[held > 0]
    slots = np.argsort(-chance_of, kind="stable")
    chances = _inclusion(exponent)
    copies = _counts(chances, chance_of)
    owners = np.split(rank_of[slots], np.cumsum(copies[np.argsort(-chances / copies, kind="stable")])[:-1])
    owner = dict(zip(np.argsort(-chances / copies, kind="stable"), owners, strict=True))
    fullest, distinct, needed = [], [], []
    for _ in range(60):
        load, seen, ranks_needed = np.zeros(ranks), set(), 0
        for token in _choices(chances, generator):
            hit = [int(generator.choice(owner[e])) for e in np.flatnonzero(token)]
            np.add.at(load, hit, 1)
            seen.update(zip(np.flatnonzero(token), hit, strict=True))
            ranks_needed += len(set(hit))
        fullest.append(load.max())
        distinct.append(max(sum(r == rank for _, r in seen) for rank in range(ranks)))
        needed.append(ranks_needed / ranks)
    skew = Skew(exponent)
    args = {
        "fullest": [float(ranks), float(TOKENS * PICKS), float(EXPERTS), float(PICKS)],
        "distinct": [float(EXPERTS), float(PICKS), float(TOKENS), float(ranks)],
        "copies": [float(ranks), float(EXPERTS), float(PICKS), float(TOKENS)],
    }
    for name, drawn, tolerance in (
        ("fullest", fullest, 0.08),
        ("distinct", distinct, 0.1),
        ("copies", needed, 0.03),
    ):
        found = skew.statistic(name, args[name], float(redundant))
        assert found == pytest.approx(np.mean(drawn), rel=tolerance), name


@pytest.mark.parametrize(("experts", "picks", "ranks"), [(256, 8, 8), (256, 8, 64), (384, 6, 32)])
@pytest.mark.parametrize("tokens", [1, 4, 16, 256])
def test_the_rank_that_waits_longest_against_simulated_tokens(experts, picks, ranks, tokens):
    """At small batches it reads several times the mean over ranks: never less than one whole expert."""
    generator = np.random.default_rng(7)
    seen, load = [], []
    for _ in range(60):
        chosen = np.argsort(generator.random((tokens, experts)), axis=1)[:, :picks].ravel()
        each = experts // ranks
        load.append(np.bincount(chosen // each, minlength=ranks).max())
        seen.append(np.bincount(np.unique(chosen) // each, minlength=ranks).max())
    uniform, balanced, certain = (Numeric({}, r) for r in ("uniform", "balanced", "certain"))
    distinct = routing("distinct", experts, picks, tokens, ranks, tag="t")
    fullest = routing("fullest", ranks, tokens * picks, experts, picks, tag="t")
    assert float(uniform(distinct)) == pytest.approx(np.mean(seen), rel=0.25)
    assert float(uniform(fullest)) == pytest.approx(np.mean(load), rel=0.25)
    for node in (distinct, fullest):
        assert 1 <= float(certain(node)) <= float(balanced(node)) <= float(uniform(node))


def _inclusion(exponent: float) -> np.ndarray:
    """Chances proportional to Zipf shares and at most 1, by bisection (the code fills step by step)."""
    shares = np.arange(1, EXPERTS + 1.0) ** -exponent
    low, high = 0.0, 1e6
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.minimum(shares * middle, 1).sum() < PICKS else (low, middle)
    return np.minimum(shares * low, 1.0)


def _counts(chances: np.ndarray, slots: np.ndarray) -> np.ndarray:
    """Replicas of each expert: those that leave exactly the slots that were packed."""
    counts = np.ones(len(chances), int)
    while counts.sum() < len(slots):
        counts[np.argmax(chances / counts)] += 1
    assert np.sort(np.repeat(chances / counts, counts)) == pytest.approx(np.sort(slots), rel=1e-6)
    return counts


@pytest.mark.parametrize("function", ["distinct", "copies", "fullest"])
@pytest.mark.parametrize("ranks", [1.0, 8.0, 64.0])
def test_equal_popularity_is_uniform_routing(function, ranks):
    arguments = {
        "distinct": (256, 8, 500, int(ranks)), "copies": (int(ranks), 256, 8, 500),
        "fullest": (int(ranks), 4000, 256, 8),
    }[function]  # fmt: skip
    node = routing(function, *arguments, tag="t")
    uniform, flat = (float(Numeric({}, r)(node)) for r in ("uniform", Skew(0.0)))
    assert flat == pytest.approx(uniform, rel=1e-4)


def test_more_skew_fills_the_fullest_rank_and_replicas_empty_it():
    def fullest(exponent: float, redundant: int) -> float:
        return Skew(exponent).statistic("fullest", [16.0, 8000.0, 256.0, 8.0], float(redundant))

    loads = [fullest(s, 0) for s in (0.0, 0.3, 0.6, 0.8)]
    assert loads == sorted(loads)
    assert loads[-1] > 1.5 * loads[0]
    assert fullest(2.0, 4) <= fullest(2.0, 1) < fullest(2.0, 0)
    assert fullest(2.0, 4) >= loads[0]


def test_given_frequencies_are_those_of_zipf_if_they_are_alike():
    given = tuple(float(e + 1) ** -1.0 for e in reversed(range(128)))
    scenario = Scenario(routing="given", frequencies=given)
    design = expert_parallel("gpt-oss-120b", 8)
    seconds = [
        float(evaluate(design, B300, s, 256.0).seconds("overlapped"))
        for s in (scenario, Scenario(routing="zipf:1"))
    ]
    assert seconds[0] == pytest.approx(seconds[1])


def test_wrong_routings_are_refused_in_words():
    for routing_ in ("zipf", "zipf:-1", "zipf:x", "hot"):
        with pytest.raises(ScenarioError, match="routing must be one of"):
            Scenario(routing=routing_)
    with pytest.raises(ScenarioError, match="exactly where frequencies"):
        Scenario(routing="given")
    with pytest.raises(ScenarioError, match="each of the model's 128 experts, but got 2"):
        evaluate(
            expert_parallel("gpt-oss-120b", 8), B300, Scenario(routing="given", frequencies=(1.0, 2.0)), 8.0
        )


def test_replicas_cost_memory_and_never_help_equal_experts():
    design = expert_parallel("deepseek-v3", 8)
    flat = Scenario(routing="zipf:0")
    batch = np.array([8.0, 512.0, 4096.0])
    plain, replicated = (evaluate(design, B300, flat, batch, redundant=r) for r in (0.0, 2.0))
    assert np.all(replicated.seconds("overlapped") >= plain.seconds("overlapped"))
    added = float(np.max(replicated.memory["main"].weights - plain.memory["main"].weights))
    assert added == pytest.approx(58 * 2 * 3 * 7168 * 2048)  # layers, replicas, matrices, fp8


def test_a_sweep_takes_replicas_where_skew_makes_them_worth_their_memory():
    design, grid = expert_parallel("deepseek-v3", 1), Grid((512, 2048, 8192), drafts=(0,))
    best = {}
    for name in ("zipf:0", "zipf:1.2"):
        points = sweep(design, B300, 32, Scenario(routing=name), grid).points
        best[name] = max(points, key=lambda p: p.tokens_per_second_per_gpu).configuration
    assert best["zipf:0"]["redundant"] == 0
    assert best["zipf:1.2"]["redundant"] > 0


def test_batches_never_take_less_time_under_skew():
    batch = np.array([1.0, 2, 7, 8, 9, 64, 1000, 4096])
    for redundant in (0.0, 2.0):
        seconds = evaluate(
            expert_parallel("deepseek-v4-flash", 8), B300, Scenario(routing="zipf:1"), batch,
            setting="achievable", redundant=redundant,
        ).seconds("overlapped")  # fmt: skip
        assert np.all(np.diff(seconds) >= -1e-15)
