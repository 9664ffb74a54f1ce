"""What the rules' mechanisms cost and save: every gain has its price, and none comes for nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from agent.problem import Problem, identity, structure_of
from catalogue.devices import load_device
from catalogue.models import load_model
from evaluator.errors import UnavailableError
from evaluator.evaluate import Evaluation, evaluate
from evaluator.scenario import Scenario
from mutations.registry import rule
from mutations.rule import Site, site
from mutations.start import starting_designs
from rooflang.design import Design

H100 = load_device("h100")
AXES = {"tp": 8.0}
LONG = Scenario(context=32768)


def start(model: str, name: str) -> Design:
    return next(d for d in starting_designs(load_model(model)) if d.name.endswith(f": {name}"))


LLAMA = start("llama-3.1-70b", "TP attention + EP")


def at(design: Design, batch: float, scenario: Scenario = LONG, **more: object) -> Evaluation:
    axes = {a: AXES.get(a, 1.0) for m in design.placement.meshes for a, _ in m.axes}
    devices = {p.name: H100 for p in design.pools}
    return evaluate(design, devices, scenario, batch, axes=axes, setting="achievable", **more)  # type: ignore[arg-type]


def seconds(design: Design, batch: float, scenario: Scenario = LONG) -> float:
    return float(at(design, batch, scenario).seconds("overlapped"))


def applied(name: str, design: Design, where: Site) -> Design:
    return rule(name).apply(design, where)


def in_order(e: Evaluation) -> bool:
    limit, overlapped, serial = (float(e.seconds(c)) for c in ("limit", "overlapped", "serial"))
    return limit <= overlapped * (1 + 1e-9) and overlapped <= serial * (1 + 1e-9)


def test_caches_in_the_host_free_memory_and_take_the_links_time() -> None:
    host = applied("keep in host", LLAMA, site("attention", keep="caches"))
    before, after = at(LLAMA, 16), at(host, 16)
    kv = float(before.memory["main"].kv)
    assert float(after.memory["main"].kv) == 0
    assert float(after.memory["main"].host_kv) == pytest.approx(kv)
    rate = (H100.host_bytes_per_second or 0) * after.rates["main"].efficiency.host_fraction
    assert float(after.seconds("overlapped")) >= kv / rate
    assert in_order(after)


def test_what_is_fetched_ahead_passes_beside_the_rest_and_needs_room() -> None:
    host = applied("keep in host", LLAMA, site("mlp", keep="weights"))
    ahead = applied("prefetch", host, site("mlp", sections="mlp"))
    late, early = at(host, 16), at(ahead, 16)
    assert float(early.seconds("overlapped")) < float(late.seconds("overlapped"))
    weights = float(late.memory["main"].host_weights)
    rate = (H100.host_bytes_per_second or 0) * late.rates["main"].efficiency.host_fraction
    assert float(early.seconds("overlapped")) >= weights / rate * (1 - 1e-9)
    assert float(early.memory["main"].activations) > float(late.memory["main"].activations)
    assert in_order(early)


def test_a_design_that_overfills_the_host_does_not_fit() -> None:
    host = applied("keep in host", LLAMA, site("attention", keep="caches"))
    assert bool(at(host, 64).fits)
    assert not bool(at(host, 4096).fits)


def test_chosen_experts_are_not_fetched_ahead() -> None:
    model = start("gpt-oss-120b", "TP attention + EP")
    host = applied("keep in host", model, site("experts", keep="weights"))
    assert seconds(applied("prefetch", host, site("experts", sections="experts")), 8) == pytest.approx(
        seconds(host, 8)
    )


def test_prefetch_saves_at_most_what_transfers_leave_idle() -> None:
    ahead = rule("prefetch").apply(LLAMA, rule("prefetch").sites(LLAMA)[0])
    before, after = at(LLAMA, 4), at(ahead, 4)
    links = float(np.sum(before.steps.over_kernels("link", lambda p: p.seconds)))
    saved = float(before.seconds("overlapped") - after.seconds("overlapped"))
    assert 0 < saved <= links
    assert in_order(after)


def test_a_shared_prefix_is_read_once_per_group_by_a_cascade_alone() -> None:
    cascade = applied("cascade attention", LLAMA, site("attention"))
    assert seconds(cascade, 64) > seconds(LLAMA, 64)
    shared = Scenario(context=32768, prefix=30000, sharers=16)
    assert seconds(LLAMA, 64, shared) == seconds(LLAMA, 64)
    assert seconds(cascade, 64, shared) < seconds(LLAMA, 64, shared)
    # Either way its rows are stored once per group.
    held = [float(at(d, 64, shared).memory["main"].kv) for d in (LLAMA, cascade)]
    own = float(at(LLAMA, 64).memory["main"].kv)
    assert held[0] == held[1] == pytest.approx(own * (1 - 30000 / 32768 * (1 - 4 / 64)))


def test_a_deferred_sum_moves_the_later_value() -> None:
    rows = site("attention", axis="tp", projections="replicated", windows="whole")
    dealt = applied("context parallel", start("deepseek-v3", "TP attention + EP"), rows)
    where = next(s for s in rule("defer sum").sites(dealt) if s.target == "attention.o_l")
    later = applied("defer sum", dealt, where)
    moved = [float(at(d, 64).steps.over_kernels("link", lambda p: p.resources.get("scale-up", 0.0)))
             for d in (dealt, later)]  # fmt: skip
    assert moved[1] < moved[0]


def test_kernels_never_reach_over_two_pools() -> None:
    """A kernel whose values part between an indexer's pool and the first one is two kernels."""
    model = start("deepseek-v3.2", "TP attention + EP")
    apart = applied("disaggregate indexer", model, site("attention", axes="xb"))
    e = at(apart, 16)
    assert {w.pool for w in e.plan.works} == {"main", "indexer"}
    flops = {
        p: float(e.steps.over_kernels("all", lambda x: x.resources.get("matrix", 0.0), p)) for p in e.rates
    }
    whole = float(at(model, 16).steps.over_kernels("all", lambda x: x.resources.get("matrix", 0.0)))
    assert flops["indexer"] > 0
    assert flops["main"] < whole


MIXED = Problem("gpt-oss-120b", "h100", 16, others=("h200",))


def mixed() -> Design:
    apart = rule("disaggregate experts")
    base = start("gpt-oss-120b", "TP attention + EP")
    design = apart.apply(base, apart.sites(base)[0])
    kind = next(r for r in MIXED.rules() if r.name == "device kind")
    return kind.apply(design, kind.sites(design)[0])


def test_devices_of_another_kind_count_by_their_price_and_share_no_domain() -> None:
    both = mixed()
    alike = replace(both, pools=tuple(replace(p, device="any") for p in both.pools))
    sizes = {a: 2.0 for m in both.placement.meshes for a, _ in m.axes}
    found = [
        evaluate(d, MIXED.devices(d), Scenario(), 32.0, axes=sizes, setting="achievable")
        for d in (alike, both)
    ]
    assert float(found[0].devices) == 4 + 2
    h200 = load_device("h200")
    worth = (h200.price_dollars_per_hour or 0) / (H100.price_dollars_per_hour or 1)
    assert float(found[1].devices) == pytest.approx(4 + 2 * worth)
    far = [float(e.steps.over_kernels("link", lambda p: p.resources.get("scale-out", 0.0))) for e in found]
    assert far[0] == 0
    assert far[1] > 0


def test_structures_keep_the_kinds_of_their_pools() -> None:
    both = mixed()
    assert [p.device for p in structure_of(both).pools] == ["any", "h200-sxm"]
    alike = replace(both, pools=tuple(replace(p, device="any") for p in both.pools))
    assert identity(both) != identity(alike)
    named = replace(both, pools=tuple(replace(p, device="h100-sxm") for p in both.pools))
    assert identity(named) == identity(alike)


def test_kinds_without_a_price_are_not_compared() -> None:
    both = mixed()
    devices = MIXED.devices(both)
    free = {p: replace(d, price_dollars_per_hour=None, owner_cost_dollars_per_hour=None)
            for p, d in devices.items()}  # fmt: skip
    with pytest.raises(UnavailableError, match="compared by their prices"):
        evaluate(
            both, free, Scenario(), 32.0, axes={a: 1.0 for m in both.placement.meshes for a, _ in m.axes}
        )


def test_a_search_leaves_out_rules_that_have_nothing_to_do() -> None:
    names = {r.name for r in Problem("gpt-oss-120b", "h100").rules()}
    shared = Scenario(prefix=1024, sharers=8)
    assert "cascade attention" not in names
    assert "cascade attention" in {r.name for r in Problem("gpt-oss-120b", "h100", scenario=shared).rules()}
    assert "device kind" not in names
    assert "device kind" in {r.name for r in MIXED.rules()}
