"""No measurement is above its bound, and every row that is left out is told why."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from catalogue.devices import load_device
from catalogue.measured import measured_files
from catalogue.models import load_model
from catalogue.models.precision import at_precision, narrowest
from evaluator.truth.bounds import Bounds
from evaluator.truth.deployment import Deployment
from evaluator.truth.favour import SAFE_ONCHIP_BYTES, favoured, lifted
from evaluator.truth.operators import kernel_fraction, operator_seconds
from evaluator.truth.placements import Placements
from evaluator.truth.points import Point
from evaluator.truth.rows import COLUMNS, Measurements, Row, UnplacedError, read
from evaluator.truth.validation import Validation, validate
from mutations.start import starting_designs
from rooflang.design import Weight, walk

BOUNDS = Bounds(Placements(starting_designs))


@cache
def catalogued() -> Validation:
    return validate([read(f) for f in measured_files()], starting_designs)


def test_no_catalogued_measurement_is_above_its_bound() -> None:
    assert [(p.id, p.fraction) for p in catalogued().violations] == []


def test_most_rows_are_placed_and_each_other_has_a_reason() -> None:
    found = catalogued()
    assert len(found.placed) + len(found.not_placed) == found.rows
    assert len(found.not_placed) < 0.1 * found.rows
    assert all(reason for _, reason in found.not_placed)


def test_predictions_of_isolated_decode_are_not_out_of_reach() -> None:
    reached = catalogued().reached()
    assert reached is not None
    _, median, _, count = reached
    assert count > 100
    assert 0.35 <= median <= 1.2


def test_latencies_are_judged_apart_so_that_errors_cannot_cancel() -> None:
    """First tokens far too early and later ones far too late once passed as an error of 15 %."""
    errors = catalogued().errors()
    assert set(errors) == {"ttft", "tpot"}
    for by_device in errors.values():
        assert sum(n for name, (*_, n) in by_device.items() if name != "all") == by_device["all"][3]
        assert {"b200-sxm", "h100-sxm", "h200-sxm"} <= by_device.keys()
        for low, middle, high, _ in by_device.values():
            assert -1 < low <= middle <= high


def test_kimi_on_b200_is_predicted_near_what_is_measured() -> None:
    """Elsewhere its time per token was 89 % too long on average, on rows of the same kind."""
    errors = [
        p.errors["tpot"] for p in catalogued().placed if (p.model, p.device) == ("kimi-k2.5", "b200-sxm")
    ]
    assert len(errors) >= 2
    assert all(abs(error) < 0.35 for error in errors)


def test_a_measurement_faster_than_light_is_a_violation() -> None:
    rows = read(next(f for f in measured_files() if f.name == "e2e.csv")).rows
    row = next(r for r in rows if "Llama-3.1-70B" in r.text("model"))
    fast = replace(row, id="fast", cells={**row.cells, "tpot_ms": "0.5"})
    quick = replace(row, id="quick", cells={**row.cells, "ttft_ms": "0.5"})
    found = validate([Measurements("e2e", (row, fast, quick))], starting_designs)
    assert [p.id for p in found.violations] == ["fast", "quick"]


def point(**changes: object) -> Point:
    base = Point(
        "p", "deepseek-v3", "fp8", "fp8", "served", None, load_device("h200-sxm"), 8, Deployment(1, 8, "tp"),
        1024.0, 1024.0, True, 64.0, 64.0, 0, 1.0, True, 0.02, 400.0, None, True,
    )  # fmt: skip
    return replace(base, **changes)  # type: ignore[arg-type]


def test_an_open_placement_is_never_slower_than_a_stated_one() -> None:
    for form in ("dp", "tep", "tp"):
        stated = BOUNDS.token_limit(point(deployment=Deployment(1, 8, form)))
        assert BOUNDS.token_limit(point(deployment=Deployment(1, 8))) <= stated


@pytest.mark.parametrize("form", ["dp", "tp", None])
def test_the_bound_of_a_step_is_monotone_in_batch_and_below_every_larger_fleet(form: str | None) -> None:
    small = point(deployment=Deployment(1, 8, form))
    found = [BOUNDS.step_limit(small, batch, 0) for batch in (1.0, 7.5, 8.0, 63.9, 64.0, 500.0)]
    assert found == sorted(found)
    large = point(deployment=Deployment(1, 16), devices=16)
    assert BOUNDS.step_limit(large, 64.0, 0) <= BOUNDS.step_limit(point(deployment=Deployment(1, 8)), 64.0, 0)


def test_what_a_row_leaves_open_makes_its_bound_faster() -> None:
    known = point(storage=None, drafted=0)
    narrower = point(storage="mxfp4")
    drafting = point(drafted=3, accepted=4.0, drafts_known=False)
    assert BOUNDS.token_limit(narrower) < BOUNDS.token_limit(known)
    assert BOUNDS.token_limit(drafting) < BOUNDS.token_limit(known)
    open_batch = point(batch=None)
    assert BOUNDS.token_limit(open_batch) <= BOUNDS.token_limit(known)
    assert BOUNDS.device_limit(point(prompt_known=False)) >= BOUNDS.device_limit(known)


def test_certain_weights_do_not_grow_with_the_batch_where_routing_is_unknown() -> None:
    """Only k experts per layer are sure to be read: 64 tokens may all choose the same."""
    one, many = (
        BOUNDS.step_limit(point(model="gpt-oss-120b", prompt=1.0, output=1.0), b, 0) for b in (1.0, 8.0)
    )
    assert many < 1.1 * one


def test_a_favoured_device_gives_every_credit() -> None:
    plain = replace(load_device("h200-sxm"), onchip_total_bytes=None)
    fast = favoured(plain, "fp8")
    assert fast.onchip_total_bytes == SAFE_ONCHIP_BYTES
    assert fast.exp_per_second is None
    assert fast.vector_flops_per_second is None
    assert fast.flops_per_second["bf16"] == plain.flops_per_second["fp8"]
    assert lifted(plain, "fp4").flops_per_second == lifted(plain, "fp8").flops_per_second  # it has no FP4
    assert lifted(plain, "bf16") == plain
    a100 = load_device("a100-80-sxm")  # no FP8, but integers of 8 bits
    assert lifted(a100, "fp8").flops_per_second["bf16"] == a100.flops_per_second["int8"]


def test_precision_narrows_matrices_and_nothing_else() -> None:
    released = load_model("llama-3.1-70b")
    narrow = at_precision(released, "fp8", "nvfp4")
    kinds = {w.dtype for _, w in walk(narrow.program.body) if isinstance(w, Weight) and len(w.dims) > 1}
    assert kinds == {"fp8"}
    assert {w.dtype for _, w in walk(narrow.program.body) if isinstance(w, Weight) and len(w.dims) == 1} == {
        "bf16"
    }
    assert at_precision(released, "bf16") is released
    assert narrowest(narrow) == "fp8"
    mixed = load_model("gpt-oss-120b")
    assert at_precision(mixed, "nvfp4") is mixed  # its experts have 4 bits already


def operator(name: str, shape: str, form: str = "bfloat16", device: str = "h100-sxm") -> float:
    cells = dict.fromkeys(COLUMNS["operator"], "") | {"operator": name, "shape": shape, "format": form}
    return operator_seconds(Row("r", "operator", 2, cells), load_device(device))


def test_bounds_of_single_operators() -> None:
    h100 = load_device("h100-sxm")
    bf16, up, memory = (
        h100.flops_per_second["bf16"],
        h100.scale_up_bytes_per_second,
        h100.memory_bytes_per_second,
    )
    assert up is not None
    assert memory is not None
    assert h100.onchip_total_bytes is not None
    large = operator("gemm", "m=8192 n=10240 k=8192")
    assert large == pytest.approx(2 * 8192 * 10240 * 8192 / bf16)
    read_once = operator("mla_decode_core(absorbed,512+64)", "b=64 heads=16 kv_len=4096")
    assert read_once == pytest.approx((64 * 4096 * 576 * 2 - h100.onchip_total_bytes) / memory)
    causal = operator("attention_prefill_causal", "b=1 q_heads=64 kv_heads=8 head_dim=128 seqlen=8192")
    assert causal == pytest.approx(64 * 128 * 2 * 8192**2 / bf16)
    gathered = operator("all_gather", "gpus=8 elements=8192")
    assert gathered == pytest.approx(2 * 8192 * 7 / 8 / up)
    assert operator("all_reduce", "gpus=8 elements=8192") == pytest.approx(2 * 8192 / up)  # in the switches
    assert operator("alltoall", "gpus=8 elements=8192") == pytest.approx(2 * 8192 * 7 / 8 / up)


def test_a_small_working_set_need_not_touch_main_memory() -> None:
    """One token through a matrix that fits on chip: its products alone bound it."""
    found = operator("gemm", "m=1 n=4096 k=4096", "fp8")
    assert found == pytest.approx(2 * 4096 * 4096 / load_device("h100-sxm").flops_per_second["fp8"])


def test_products_are_bounded_at_the_narrowest_operand() -> None:
    shape = "b=256 q_heads=64 kv_heads=1 head_dim=128 kv_len=4096"
    mixed = operator("attention_decode", shape, "attn=bfloat16 kv=fp8")
    narrow = operator("attention_decode", shape, "attn=fp8 kv=fp8")
    assert mixed == narrow < operator("attention_decode", shape, "attn=bfloat16 kv=bfloat16")


@pytest.mark.parametrize(
    ("name", "shape"), [("gemm", "m=8 n=8"), ("gemm", "m=0 n=8 k=8"), ("a new operator", "m=8")]
)
def test_operators_without_known_work_are_told_why(name: str, shape: str) -> None:
    with pytest.raises(UnplacedError):
        operator(name, shape)


def test_exchanges_across_nodes_are_bounded_by_the_network() -> None:
    cells = dict.fromkeys(COLUMNS["kernel"], "") | {
        "kernel": "DeepEP low-latency dispatch", "shape": "EP128", "latency_us": "100",
        "source": "128 tok/rank, 7168 hidden, top-8, FP8 dispatch, BF16 combine",
    }  # fmt: skip
    found = kernel_fraction(Row("r", "kernel", 2, cells), load_device("h800"))
    # about 6.1 of 15 other nodes are chosen by a token
    assert found == pytest.approx(128 * 6.13 * 7168 / 50e9 / 100e-6, rel=0.01)
    with pytest.raises(UnplacedError):
        kernel_fraction(Row("r", "kernel", 2, cells | {"shape": "in situ"}), load_device("h800"))
