"""The JSON documents of commands that need no database: their keys are a contract."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from catalogue.devices import load_device
from catalogue.models import load_model
from mutations.registry import rule
from mutations.start import starting_designs
from rooflang.canonical import design_hash
from rooflang.parser import parse
from rooflang.printer import print_design

Seis = Callable[..., Any]

EVALUATION = {
    "fits", "step_seconds", "tokens_per_second_per_user", "tokens_per_second_per_gpu", "bytes_per_gpu",
    "binding", "operators", "model", "design", "devices", "count", "context", "batch", "configuration",
    "clock", "setting", "tokens_per_step", "joules_per_token", "dollars_per_million_tokens",
    "owner_dollars_per_million_tokens", "host_memory_bytes", "host_bytes_per_second", "not_modelled",
    "unavailable", "phase", "queries",
}  # fmt: skip
POINT = {"tokens_per_second_per_user", "tokens_per_second_per_gpu", "batch", "configuration", "design"}


def test_models(seis: Seis) -> None:
    found = seis("models", "--json").document
    assert [m["name"] for m in found] == sorted(m["name"] for m in found)
    contexts = ["4096", "32768", "131072", "1048576"]
    for model in found:
        assert set(model) == {
            "name", "parameters", "active_parameters", "kv_bytes_per_token", "state_bytes", "flops_per_token",
            "source", "precision", "formats", "inferred",
        }  # fmt: skip
        assert set(model["kv_bytes_per_token"]) == {"bf16", "served"}
        assert list(model["kv_bytes_per_token"]["served"]) == contexts
        assert list(model["flops_per_token"]) == contexts
        assert model["kv_bytes_per_token"]["bf16"]["4096"] >= model["kv_bytes_per_token"]["served"]["4096"]


def test_one_model(seis: Seis) -> None:
    found = seis("models", "llama-3.1-70b", "--json").document
    assert [m["name"] for m in found] == ["llama-3.1-70b"]


def test_devices(seis: Seis) -> None:
    found = seis("devices", "--json").document
    assert {"b300-sxm", "gb300-nvl72", "b200-sxm", "h200-sxm", "h100-sxm", "mi355x"} <= {
        d["name"] for d in found
    }
    for device in found:
        assert device["memory_bytes"] > 1e8
        for key, value in device.items():
            if key.endswith(("per_second", "_bytes", "_watts", "_per_hour", "_domain", "_reduction")):
                assert (value is None) == (key in device["unknown"]), key
        for entry in device["achievable"].values():
            assert set(entry) == {"value", "spread", "source", "scope"}
            assert entry["spread"][0] <= entry["value"] <= entry["spread"][1]
    systems = {d["name"]: d["system"] for d in found if d["system"] is not None}
    assert systems["hgx-h100"]["device"] == "h100-sxm"
    assert set(systems["hgx-h100"]) == {"device", "devices", "topology", "layout", "source", "stated"}


def test_one_system(seis: Seis) -> None:
    (found,) = seis("devices", "nvl72-rubin", "--json").document
    assert (found["chip"], found["system"]["devices"]) == ("rubin-r200", 72)
    assert "memory_bytes_per_second" in found["system"]["stated"]


def test_show_parses_back(seis: Seis) -> None:
    found = seis("show", "gpt-oss-120b", "--json").document
    assert set(found) == {"name", "origin", "design", "structure", "text"}
    assert found["origin"] == "model"
    assert parse(found["text"]) == load_model("gpt-oss-120b")
    assert seis("show", "gpt-oss-120b").out == found["text"]


def test_evaluate(seis: Seis) -> None:
    found = seis("evaluate", "llama-3.1-70b", "--count", "8", "--batch", "64", "--json").document
    assert set(found) == EVALUATION
    assert found["fits"] is True
    step = found["step_seconds"]
    assert set(step) == {"limit", "overlapped", "serial"}
    assert step["limit"] <= step["overlapped"] <= step["serial"]
    assert set(found["bytes_per_gpu"]) == {"weights", "kv", "activations", "capacity"}
    assert found["tokens_per_second_per_user"] == pytest.approx(1 / step["overlapped"])
    assert found["tokens_per_second_per_gpu"] == pytest.approx(64 / step["overlapped"] / 8)
    for operator in found["operators"]:
        assert set(operator) == {"name", "section", "pool", "runs", "flops", "bytes", "seconds", "bound"}
        assert set(operator["bytes"]) == {"hbm", "scale-up", "scale-out"}


def test_costs(seis: Seis) -> None:
    found = seis(
        "evaluate", "llama-3.1-70b", "--device", "h100", "--count", "8", "--batch", "64", "--json"
    ).document
    per_gpu = found["tokens_per_second_per_gpu"]
    assert found["joules_per_token"] == pytest.approx(700 / per_gpu)
    assert found["dollars_per_million_tokens"] == pytest.approx(1.99 / 3600 / per_gpu * 1e6)
    assert found["owner_dollars_per_million_tokens"] == pytest.approx(1.69 / 3600 / per_gpu * 1e6)
    assert (found["host_memory_bytes"], found["host_bytes_per_second"]) == (256e9, 63e9)
    assert found["unavailable"] == {} == found["not_modelled"]


def test_what_has_no_figure_is_null_with_a_reason(seis: Seis) -> None:
    found = seis("evaluate", "llama-3.1-70b", "--device", "tpu-v5e", "--count", "16", "--json").document
    assert found["tokens_per_second_per_gpu"] > 0
    nulls = {key for key, value in found.items() if value is None}
    assert nulls == set(found["unavailable"]) == {"joules_per_token", "owner_dollars_per_million_tokens"}
    assert found["unavailable"]["joules_per_token"] == "tpu-v5e has no known power (not published)"
    assert set(found["not_modelled"]) == {"vector", "exponential"}


def test_without_a_rate_there_is_memory_and_a_reason(seis: Seis) -> None:
    for device, words in (("cerebras", "BF16 matrix rate"), ("strix-halo", "scale-out rate")):
        options = ("evaluate", "llama-3.1-70b", "--device", device, "--count", "8", "--tp", "8")
        ran = seis(*options, "--json")
        found = ran.document
        assert ran.code == 0
        assert found["bytes_per_gpu"]["weights"] > 0
        timed = ("step_seconds", "tokens_per_second_per_gpu", "binding", "operators", "joules_per_token")
        assert all(found[key] is None and words in found["unavailable"][key] for key in timed)
        said = seis(*options).out
        assert "unavailable: " in said
        assert words.split()[0] in said


def test_a_system_stands_for_a_device(seis: Seis) -> None:
    options = ("--count", "8", "--tp", "8", "--json")
    system = seis("evaluate", "llama-3.1-70b", "--device", "hgx-h100", *options).document
    device = seis("evaluate", "llama-3.1-70b", "--device", "h100", *options).document
    assert system["devices"] == {"main": "hgx-h100"}
    assert system["step_seconds"] == device["step_seconds"]


def test_clock_and_setting_choose_the_tokens(seis: Seis) -> None:
    arguments = ("evaluate", "llama-3.1-70b", "--count", "8", "--tp", "8", "--json")
    limit = seis(*arguments, "--clock", "limit", "--setting", "physical").document
    serial = seis(*arguments, "--clock", "serial", "--setting", "achievable").document
    assert limit["tokens_per_second_per_user"] == pytest.approx(1 / limit["step_seconds"]["limit"])
    assert serial["tokens_per_second_per_user"] == pytest.approx(1 / serial["step_seconds"]["serial"])
    assert limit["tokens_per_second_per_user"] > serial["tokens_per_second_per_user"]


def test_what_does_not_fit_is_an_answer(seis: Seis) -> None:
    ran = seis("evaluate", "llama-3.1-70b", "--device", "h100", "--count", "8", "--dp", "8", "--json")
    assert ran.code == 0
    assert ran.document["fits"] is False
    assert ran.document["bytes_per_gpu"]["weights"] > ran.document["bytes_per_gpu"]["capacity"]


def test_batch_is_over_all_devices(seis: Seis) -> None:
    one = seis("evaluate", "llama-3.1-70b", "--count", "8", "--tp", "8", "--batch", "8", "--json").document
    two = seis(
        "evaluate", "llama-3.1-70b", "--count", "16", "--tp", "8", "--dp", "1", "--batch", "16", "--json"
    ).document
    assert two["configuration"]["replicas"] == 2
    assert two["step_seconds"] == one["step_seconds"]
    assert two["tokens_per_second_per_gpu"] == pytest.approx(one["tokens_per_second_per_gpu"])


def test_idle_devices_count(seis: Seis) -> None:
    full = seis("evaluate", "llama-3.1-70b", "--count", "8", "--tp", "8", "--batch", "8", "--json").document
    idle = seis("evaluate", "llama-3.1-70b", "--count", "10", "--tp", "8", "--batch", "8", "--json").document
    assert idle["tokens_per_second_per_gpu"] == pytest.approx(0.8 * full["tokens_per_second_per_gpu"])


def test_drafting_emits_more(seis: Seis) -> None:
    found = seis("evaluate", "deepseek-v3", "--count", "8", "--mtp", "1", "--json").document
    assert found["tokens_per_step"] == pytest.approx(1.7)
    assert found["configuration"]["drafted"] == 1


@pytest.mark.parametrize(
    "options",
    [
        ("--tp", "8"), ("--pp", "2"), ("--cp", "4"), ("--ep", "8"), ("--tp", "2", "--cp", "2", "--dp", "4"),
        ("--replicas", "2"), ("--microbatches", "2"), ("--pp", "4", "--tp", "4"),
    ],
)  # fmt: skip
def test_every_kind_of_parallelism(seis: Seis, options: tuple[str, ...]) -> None:
    found = seis("evaluate", "gpt-oss-120b", "--count", "16", "--batch", "256", *options, "--json").document
    given = dict(zip(options[::2], options[1::2], strict=True))
    for option, value in given.items():
        assert found["configuration"][option[2:]] == int(value)
    used = 1
    for axis in ("pp", "dp", "cp", "tp", "replicas"):
        used *= found["configuration"][axis]
    assert used == 16


def test_defaults_divide_and_fit(seis: Seis) -> None:
    found = seis("evaluate", "deepseek-v4-pro", "--count", "60", "--json").document
    assert found["configuration"]["dp"] == 48  # the most of 60 that divides 384 experts
    dense = seis(
        "evaluate", "llama-3.1-70b", "--device", "h100", "--count", "8", "--batch", "8", "--json"
    ).document
    assert dense["fits"]
    assert dense["configuration"]["tp"] > 1  # one device cannot hold the weights


def test_a_file_keeps_its_placement(seis: Seis, tmp_path: Path) -> None:
    from seis.cli.placing import Degrees, place

    design = place(load_model("llama-3.1-70b"), Degrees(dp=2, tp=4), "h200-sxm", 1)
    path = tmp_path / "design.roof"
    path.write_text(print_design(design), encoding="utf-8")
    found = seis("evaluate", str(path), "--batch", "16", "--json").document
    assert found["count"] == 8
    assert found["devices"] == {"main": "h200-sxm"}
    assert found["design"] == design_hash(design)
    wider = seis("evaluate", str(path), "--batch", "16", "--tp", "8", "--axis", "dp=1", "--json").document
    assert wider["configuration"]["tp"] == 8
    assert wider["count"] == 8


def test_baseline(seis: Seis, tmp_path: Path) -> None:
    found = seis("baseline", "llama-3.1-70b", "--count", "4", "--plot", "b.svg", "--json").document
    assert set(found) == {
        "frontier", "model", "device", "count", "context", "clock", "setting", "points", "fitting", "seconds"
    }  # fmt: skip
    assert all(set(p) == POINT | {"structure", "command"} for p in found["frontier"])
    users = [p["tokens_per_second_per_user"] for p in found["frontier"]]
    assert users == sorted(users, reverse=True)
    assert (tmp_path / "b.svg").read_text(encoding="utf-8").startswith("<svg")


@pytest.mark.parametrize(
    ("options", "count"),
    [
        (("deepseek-v4-pro", "--device", "b300"), "64"),
        (("qwen3-235b-a22b", "--context", "65536", "--setting", "physical", "--kv", "bf16"), "16"),
    ],
)
def test_a_point_of_the_baseline_is_evaluated_again_by_its_command(
    seis: Seis, options: tuple[str, ...], count: str
) -> None:
    points = seis("baseline", *options, "--count", count, "--json").document["frontier"]
    two = [p for p in points if p["configuration"]["overlap"]][:1]
    for point in [points[0], points[len(points) // 2], points[-1], *two]:
        again = seis(*shlex.split(point["command"])[1:], "--json").document
        assert again["fits"]
        assert again["design"] == point["design"]
        for key in ("tokens_per_second_per_user", "tokens_per_second_per_gpu"):
            assert again[key] == pytest.approx(point[key], rel=1e-12)


def test_a_structure_is_named_by_its_title(seis: Seis, tmp_path: Path) -> None:
    error = seis("evaluate", "llama-3.1-70b", "--structure", "TP attention +", "--json").error
    assert "--structure must be one of" in error["message"]
    path = tmp_path / "placed.roof"
    path.write_text(print_design(starting_designs(load_model("llama-3.1-70b"))[0]), encoding="utf-8")
    assert "leave it out" in seis("evaluate", str(path), "--structure", "TP", "--json").error["message"]


def test_a_line_that_names_nothing_is_refused(seis: Seis, tmp_path: Path) -> None:
    path = tmp_path / "stray.roof"
    text = print_design(starting_designs(load_model("llama-3.1-8b"))[0])
    path.write_text(text.replace("schedule {", "schedule {\n  stream nowhere"), encoding="utf-8")
    error = seis("evaluate", str(path), "--device", "h100", "--json").error
    assert "'nowhere' is none (known: attention" in error["message"]


def test_a_pool_may_run_on_devices_of_another_kind(seis: Seis, tmp_path: Path) -> None:
    """Throughput then counts devices by their price, in those of the first pool."""
    base = next(
        d for d in starting_designs(load_model("gpt-oss-120b")) if d.name.endswith("TP attention + EP")
    )
    apart = rule("disaggregate experts")
    path = tmp_path / "apart.roof"
    path.write_text(print_design(apart.apply(base, apart.sites(base)[0])), encoding="utf-8")
    asked = ("evaluate", str(path), "--device", "h100", "--axis", "dp=4", "--batch", "64", "--json")
    pool = next(p for p in seis(*asked).document["devices"] if p != "main")
    mixed = seis(*asked, "--pool", f"{pool}=h200").document
    assert mixed["devices"] == {"main": "h100-sxm", pool: "h200-sxm"}
    prices = [load_device(d).price_dollars_per_hour or 0.0 for d in ("h100", "h200")]
    worth = mixed["count"] - 1 + prices[1] / prices[0]  # one device of the second pool
    speed = 64 * mixed["tokens_per_second_per_user"] / worth
    assert mixed["tokens_per_second_per_gpu"] == pytest.approx(speed)
    for wrong, said in (("nosuch=h200", "no 'nosuch'"), ("h200", "NAME=DEVICE")):
        assert said in seis(*asked, "--pool", wrong).error["message"]
    assert "--device" in seis("evaluate", "gpt-oss-120b", "--pool", "main=h200", "--json").error["message"]
