"""Figures that are not known: each takes away the metrics that need it, and no others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from catalogue.devices import Device, device_names, load_device
from catalogue.devices.device import LABELS
from catalogue.models import load_model
from evaluator.baseline import baseline
from evaluator.costs import costs, costs_of
from evaluator.errors import UnavailableError
from evaluator.evaluate import Evaluation, evaluate
from evaluator.rates import confined
from evaluator.scenario import Scenario
from evaluator.sweep import Grid
from mutations.start import starting_designs
from rooflang.design import Design, Mesh, Placement, Pool, Shard

B300 = load_device("b300")
GRID = Grid((1, 8, 64))


def without(*keys: str) -> Device:
    unknown = {**B300.unknown, **dict.fromkeys(keys, "not published")}
    formats = {f: r for f, r in B300.flops_per_second.items() if f"flops_per_second.{f}" not in keys}
    return replace(B300, name="bare", flops_per_second=formats, unknown=unknown,
                   **{k: None for k in keys if "." not in k})  # fmt: skip


def llama(tp: int) -> Design:
    shards = (Shard("attention", "K", ("tp",)), Shard("mlp", "FD", ("tp",)), Shard("head", "V", ("tp",)))
    pool, mesh = Pool("main", "any", tp), Mesh("main", (("tp", tp),))
    return load_model("llama-3.1-70b").with_(pools=(pool,), placement=Placement((mesh,), shards))


def at(device: Device, tp: int = 1, setting: str = "physical") -> Evaluation:
    return evaluate(llama(tp), {"main": device}, Scenario(), 8.0, setting=setting)


@pytest.mark.parametrize("setting", ["physical", "achievable"])
@pytest.mark.parametrize("name", device_names())
def test_every_device_has_a_time_or_a_reason(name: str, setting: str) -> None:
    device = load_device(name)
    e = at(device, setting=setting)
    assert e.memory["main"].capacity == device.memory_bytes
    if e.unavailable:
        assert e.unavailable.startswith(name)
        assert any(device.lacks(key) in e.unavailable for key in LABELS)
        with pytest.raises(UnavailableError, match=name):
            e.per_user("overlapped")
        with pytest.raises(UnavailableError):
            e.binding("limit")
    else:
        for clock in ("limit", "overlapped", "serial"):
            assert 0 < float(e.per_user(clock)) < np.inf
    for reason in e.not_modelled.values():
        assert name in reason


@pytest.mark.parametrize(
    ("key", "tp", "lost"),
    [
        ("memory_bytes_per_second", 1, True),
        ("flops_per_second.bf16", 1, True),
        ("flops_per_second.fp4", 1, False),
        ("scale_up_bytes_per_second", 1, False),
        ("scale_up_bytes_per_second", 8, True),
        ("scale_up_domain", 1, False),
        ("scale_up_domain", 8, True),
        ("scale_out_bytes_per_second", 8, False),
        ("scale_out_bytes_per_second", 16, True),
        ("vector_flops_per_second", 8, False),
        ("exp_per_second", 8, False),
        ("onchip_bytes", 8, False),
        ("onchip_total_bytes", 8, False),
        ("in_network_reduction", 8, False),
        ("host_bytes_per_second", 8, False),
        ("power_watts", 8, False),
    ],
)
def test_a_figure_is_missed_only_by_what_needs_it(key: str, tp: int, lost: bool) -> None:
    e = at(without(key), tp)
    assert bool(e.unavailable) == lost
    if lost:
        assert f"bare has no known {LABELS[key]} (not published)" in e.unavailable
    else:
        assert float(e.seconds("overlapped")) > 0


@pytest.mark.parametrize("clock", ["limit", "overlapped", "serial"])
@pytest.mark.parametrize("key", ["vector_flops_per_second", "exp_per_second", "onchip_bytes"])
def test_what_is_left_out_makes_no_step_slower(key: str, clock: str) -> None:
    bare = at(without(key), 8)
    assert float(bare.seconds(clock)) <= float(at(B300, 8).seconds(clock))
    if key != "onchip_bytes":  # this design fuses nothing
        assert any(LABELS[key] in reason for reason in bare.not_modelled.values())


def test_a_bound_grants_a_reduction_that_is_not_known_and_a_prediction_does_not() -> None:
    bare, granted = without("in_network_reduction"), B300
    denied = replace(B300, in_network_reduction=False)
    assert float(at(bare, 8).seconds("limit")) == float(at(granted, 8).seconds("limit"))
    for clock in ("overlapped", "serial"):
        prediction = at(bare, 8, "achievable").seconds(clock)
        assert float(prediction) == float(at(denied, 8, "achievable").seconds(clock))


def test_an_unknown_rate_is_not_replaced_by_that_of_a_wider_format() -> None:
    design = load_model("deepseek-v3").with_(
        pools=(Pool("main", "any", 1),), placement=Placement((Mesh("main", (("tp", 1),)),))
    )
    unknown, lacking = without("flops_per_second.fp8", "flops_per_second.fp4"), load_device("h100")
    assert "FP" in evaluate(design, {"main": unknown}, Scenario(), 8.0).unavailable
    assert not evaluate(design, {"main": lacking}, Scenario(), 8.0).unavailable


def test_a_pipeline_needs_the_link_to_the_next_stage() -> None:
    mesh = Mesh("main", (("pp", 2),))
    model = load_model("llama-3.1-70b")
    staged = model.with_(
        pools=(Pool("main", "any", 2),), placement=Placement((mesh,), pipeline="pp"),
        schedule=replace(model.schedule, microbatches=2),
    )  # fmt: skip
    for key in ("scale_up_bytes_per_second", "scale_up_domain"):
        e = evaluate(staged, {"main": without(key)}, Scenario(), 8.0)
        assert LABELS[key] in e.unavailable
    assert not evaluate(staged, {"main": without("scale_out_bytes_per_second")}, Scenario(), 8.0).unavailable


RATES = (
    "memory_bytes_per_second", "flops_per_second", "vector_flops_per_second", "exp_per_second",
    "scale_up_bytes_per_second", "scale_out_bytes_per_second", "onchip_bytes", "onchip_total_bytes",
)  # fmt: skip


@pytest.mark.parametrize("setting", ["physical", "achievable"])
@pytest.mark.parametrize("clock", ["limit", "overlapped", "serial"])
@pytest.mark.parametrize("rate", RATES)
def test_a_faster_device_is_never_slower(rate: str, clock: str, setting: str) -> None:
    for device, tp in ((B300, 1), (B300, 8), (B300, 16), (load_device("tpu-v5p"), 8)):
        before = at(device, tp, setting).seconds(clock)
        after = at(device.scaled(rate, 1.7), tp, setting).seconds(clock)
        assert float(after) <= float(before) * (1 + 1e-12)


def test_a_sweep_stays_where_transfers_have_a_price() -> None:
    structures = starting_designs(load_model("llama-3.1-70b"))
    island = baseline(structures, replace(without("scale_out_bytes_per_second"), scale_up_domain=4), 16,
                      Scenario(), grid=GRID)  # fmt: skip
    assert island.points
    for point in island.points:
        used = np.prod([v for k, v in point.configuration.items() if k in ("tp", "dp", "cp", "pp", "ep")])
        assert used <= 4
    single = baseline(structures, without("scale_up_bytes_per_second"), 8, Scenario(), grid=GRID)
    assert {p.configuration["replicas"] for p in single.points} == {8}
    with pytest.raises(UnavailableError, match="memory bandwidth"):
        baseline(structures, without("memory_bytes_per_second"), 8, Scenario(), grid=GRID)


@pytest.mark.parametrize(
    ("name", "count", "words"),
    [
        ("hgx-h100", 64, ""),
        ("server-l40s", 8, ""),
        ("server-l40s", 16, "at most 8 devices, since server-l40s has no known scale-out rate"),
        ("tpu-8t", 2, "one device, since tpu-8t has no known scale-up rate"),
        ("apple-m4-max", 2, "one device, since apple-m4-max has no known scale-up domain"),
    ],
)
def test_why_a_replica_is_confined(name: str, count: int, words: str) -> None:
    said = confined(load_device(name), count)
    assert words in said
    assert bool(said) == bool(words)


def test_costs_of_an_evaluation() -> None:
    e = at(B300, 8)
    found = costs_of(e, "limit")
    assert float(found.joules_per_token or 0) == pytest.approx(1100 / float(e.per_gpu("limit")))
    assert costs_of(at(without("scale_up_bytes_per_second"), 8), "limit").joules_per_token is None


def test_costs() -> None:
    known = costs({"a": B300, "b": load_device("h100")}, {"a": 1.0, "b": 3.0}, 100.0)
    assert known.joules_per_token == pytest.approx((1100 + 3 * 700) / 4 / 100)
    assert known.dollars_per_million_tokens == pytest.approx((6.99 + 3 * 1.99) / 4 / 3600 / 100 * 1e6)
    assert not known.unavailable
    mixed = costs({"a": B300, "b": load_device("tpu-v5e")}, {"a": 1.0, "b": 1.0}, 100.0)
    assert mixed.joules_per_token is None
    assert mixed.unavailable["joules_per_token"] == "tpu-v5e has no known power (not published)"
    assert mixed.dollars_per_million_tokens is not None
    idle = costs({"a": B300}, {"a": 1.0}, None)
    assert (idle.joules_per_token, idle.dollars_per_million_tokens) == (None, None)
