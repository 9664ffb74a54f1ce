"""The event simulation: between the clocks on every design, alike on every run, and true to its own rules."""

from __future__ import annotations

import itertools
import json
import random
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalogue.devices import load_device
from catalogue.models import load_model, model_names
from evaluator.baseline import conventional_schedule
from evaluator.errors import ScenarioError
from evaluator.evaluate import Evaluation, evaluate
from evaluator.order import ordered
from evaluator.scenario import Scenario
from evaluator.simulate import simulate, trace
from evaluator.simulate.partition import partition
from mutations.registry import rules
from mutations.start import starting_designs
from rooflang.design import Design
from rooflang.errors import RoofLangError
from rooflang.lower import lower
from tests.evaluator.placements import expert_parallel, separate_experts

B300 = load_device("b300")
DEVICES = ("b300", "h100", "gb300")


def holds(e: Evaluation) -> None:
    limit, overlapped, serial = (float(e.seconds(c)) for c in ("limit", "overlapped", "serial"))
    simulated = simulate(e).seconds
    assert 0 < limit <= overlapped <= simulated * (1 + 1e-6)
    assert simulated <= serial * (1 + 1e-6)


def at(design: Design, microbatches: int, overlap: bool, batch: float, **more: object) -> Evaluation:
    return evaluate(
        design, {p.name: B300 for p in design.pools}, Scenario(), batch, setting="achievable",
        microbatches=float(microbatches), overlap=float(overlap), **more,
    )  # fmt: skip


@pytest.mark.parametrize("model", model_names())
def test_the_conventional_designs_of_every_model_are_between_the_clocks(model):
    structures = starting_designs(load_model(model))
    for number, structure in enumerate(structures[:: max(1, len(structures) // 2)]):
        design = conventional_schedule(structure)
        pipeline = design.placement.pipeline
        for m, overlap in ((1, False), (2, True)):
            axes = {"dp": 4.0, "tp": 2.0} | ({pipeline: 4.0} if pipeline else {})
            e = at(design, m * (4 if pipeline else 1), overlap, 512.0, axes=axes, drafted=float(number % 2))
            if np.all(e.allowed):
                holds(e)


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(["deepseek-v4-flash", "deepseek-v3", "gpt-oss-120b"]), st.randoms(use_true_random=False)
)
def test_random_designs_are_between_the_clocks(model, rng: random.Random):
    design = rng.choice(starting_designs(load_model(model)))
    for _ in range(rng.randint(0, 3)):
        rule = rng.choice(rules())
        sites = rule.sites(design)
        if sites:
            new = rule.apply(design, rng.choice(sites))
            with suppress(RoofLangError):  # some changes cannot be placed
                lower(new)
                design = new
    axes = {a: float(rng.choice([1, 2, 4, 8])) for mesh in design.placement.meshes for a, _ in mesh.axes}
    stages = int(axes.get(design.placement.pipeline or "", 1))
    m = stages * rng.randint(1, 2) + rng.randint(0, 1)
    device = load_device(rng.choice(DEVICES))
    e = evaluate(
        design, {p.name: device for p in design.pools}, Scenario(rng.choice([100, 8192, 131072])),
        float(rng.choice([m, 64 * m, 4096])), axes=axes, microbatches=float(m),
        overlap=float(rng.random() < 0.6), drafted=float(rng.choice([0, 0, 1, 3])),
        setting=rng.choice(["physical", "achievable"]),
    )  # fmt: skip
    if np.all(e.allowed):
        holds(e)


@pytest.mark.parametrize("kept", [(), (("experts", "host"),), (("attention", "host"),)])
def test_what_is_fetched_before_or_kept_in_the_hosts_memory_is_played_too(kept):
    for design in (expert_parallel("deepseek-v3", 16, 4), separate_experts("gpt-oss-120b", 16, 32)):
        for streams in ((), ("shared",)):
            schedule = replace(design.schedule, prefetch=("attention", "experts"), streams=streams)
            placed = design.with_(schedule=schedule, placement=replace(design.placement, tiers=kept))
            for m, overlap in ((1, False), (2, False), (2, True)):
                e = at(placed, m, overlap, 512.0)
                holds(e)
                hosts = [name for name in simulate(e).busy() if name.endswith("host")]
                assert bool(hosts) == any(np.any(p.early) for p in e.prices)


def test_one_micro_batch_takes_its_chain_exactly():
    e = at(expert_parallel("gpt-oss-120b", 8), 1, False, 64.0)
    assert simulate(e).seconds == pytest.approx(float(e.seconds("serial")), rel=1e-9)


def test_two_micro_batches_hide_transfers():
    design = expert_parallel("deepseek-v3", 16, 4)
    apart, together = (simulate(at(design, 2, o, 64.0)).seconds for o in (False, True))
    assert together < 0.8 * apart


def test_a_second_stream_hides_the_shared_expert_beside_transfers():
    design = expert_parallel("deepseek-v3", 16, 4)
    streamed = design.with_(schedule=replace(design.schedule, streams=("shared",)))
    assert simulate(at(streamed, 1, False, 64.0)).seconds < simulate(at(design, 1, False, 64.0)).seconds


def test_no_engine_runs_two_things_at_once_and_every_task_waits_for_what_it_reads():
    for design in (expert_parallel("deepseek-v3", 4), separate_experts("deepseek-v3", 4, 8)):
        found = simulate(at(design, 3, True, 96.0))
        engines: dict[int, list[tuple[float, float]]] = {}
        for event in found.events():
            engines.setdefault(event.part.engine, []).append((event.start, event.end))
        for spans in engines.values():
            spans.sort()
            assert all(a[1] <= b[0] + 1e-12 for a, b in itertools.pairwise(spans))
        for steps in found.played.steps:
            for task, followers in enumerate(found.tasks.followers):
                assert all(steps[0].end[task] <= steps[0].start[f] for f in followers)


def test_transfers_exclude_arithmetic_of_other_micro_batches_unless_they_overlap():
    found = simulate(at(expert_parallel("gpt-oss-120b", 8), 2, False, 64.0))
    spans = sorted((e.start, e.end) for e in found.events())
    assert all(a[1] <= b[0] + 1e-12 for a, b in itertools.pairwise(spans))


def test_the_critical_path_covers_the_step_and_busy_shares_are_shares():
    found = simulate(at(expert_parallel("deepseek-v3", 8), 2, True, 512.0))
    assert sum(found.critical_path().values()) == pytest.approx(found.seconds, rel=1e-6)
    assert all(0 < share <= 1 + 1e-6 for share in found.busy().values())


def test_a_stream_that_only_reads_early_results_waits_for_those_alone():
    design = expert_parallel("deepseek-v3", 8)
    design = design.with_(schedule=replace(design.schedule, streams=("shared",)))
    e = at(design, 1, False, 64.0)
    unit = next(u for u in ordered(e.plan) if u.branches)
    shared = [n for n, node in enumerate(unit.nodes) if node.side]
    dispatch = next(
        n for n, node in enumerate(unit.nodes) if e.plan.items[node.items[0]].kernel.engine == "link"
    )
    assert shared
    assert all(dispatch not in unit.nodes[n].before for n in shared)
    assert not set(unit.nodes[dispatch].before) & set(shared)


@given(st.lists(st.tuples(st.floats(0.1, 10), st.booleans()), min_size=1, max_size=9), st.integers(1, 4))
def test_stages_are_as_even_as_they_can_be(blocks, stages):
    seconds, layers = [b[0] for b in blocks], [int(b[1]) for b in blocks]
    most = -(-sum(layers) // stages)
    found = partition(seconds, layers, stages, most)

    def longest(cuts):
        edges = [0, *cuts, len(blocks)]
        parts = list(itertools.pairwise(edges))
        if any(sum(layers[a:b]) > most for a, b in parts):
            return float("inf")
        return max(sum(seconds[a:b]) for a, b in parts)

    best = min(
        longest(cuts) for cuts in itertools.combinations_with_replacement(range(len(blocks) + 1), stages - 1)
    )
    loads = [sum(s for s, at in zip(seconds, found, strict=True) if at == n) for n in range(stages)]
    assert found == sorted(found)
    assert max(found) < stages
    assert max(loads) == pytest.approx(best, rel=1e-6)


def test_a_grid_is_refused_in_words():
    design = expert_parallel("gpt-oss-120b", 8)
    with pytest.raises(ScenarioError, match="must have one operating point"):
        simulate(evaluate(design, {"main": B300}, Scenario(), np.array([8.0, 16.0])))


def test_the_trace_is_in_the_trace_event_format(tmp_path):
    design = separate_experts("deepseek-v3", 4, 8)
    found = simulate(at(design, 2, True, 96.0))
    trace.write(tmp_path / "t.json", {"old": found, "new": found})
    document = json.loads((tmp_path / "t.json").read_text())
    complete = [e for e in document["traceEvents"] if e["ph"] == "X"]
    named = {(e["pid"], e.get("tid")): e["args"]["name"] for e in document["traceEvents"] if e["ph"] == "M"}
    assert complete
    for event in complete:
        assert event["dur"] >= 0
        assert 0 <= event["ts"] <= found.seconds * 1e6
        assert (event["pid"], None) in named or (event["pid"], event["tid"]) in named
        assert event["args"]["bound"]
    span = max(e["ts"] + e["dur"] for e in complete)
    assert span == pytest.approx(found.seconds * 1e6, rel=1e-6)
    assert any(e["name"].startswith("experts.") and e["args"]["flops"] > 0 for e in complete)
