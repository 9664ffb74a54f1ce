"""`seis evaluate --simulate`: the step event by event, as JSON, as text and as a trace."""

from __future__ import annotations

import json

import pytest

POINT = ("evaluate", "deepseek-v3", "--count", "16", "--batch", "512", "--microbatches", "2")


def test_a_simulated_step_is_between_the_clocks(seis):
    found = json.loads(seis(*POINT, "--simulate", "--json").out)
    simulated, clocks = found["simulated"], found["step_seconds"]
    assert clocks["overlapped"] <= simulated["step_seconds"] * (1 + 1e-6)
    assert simulated["step_seconds"] <= clocks["serial"] * (1 + 1e-6)
    assert set(simulated["busy"]) == {"main compute", "main links"}
    path = sum(part["seconds"] for part in simulated["critical_path"])
    assert path == pytest.approx(simulated["step_seconds"], rel=1e-6)


def test_the_text_has_engines_a_layer_and_the_critical_path(seis):
    out = seis(*POINT, "--simulate").out
    after = out[out.index("Simulated step") :]
    for words in ("main compute", "a layer of micro-batch 0", "A attention", "critical path"):
        assert words in after
    assert all(len(line) <= 80 for line in after.splitlines())


def test_a_trace_is_written_and_a_place_that_cannot_be_is_refused(seis, tmp_path):
    assert seis(*POINT, "--trace", str(tmp_path / "t.json")).code == 0
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert {"M", "X"} == {e["ph"] for e in events}
    ran = seis(*POINT, "--trace", str(tmp_path / "none" / "t.json"))
    assert ran.code == 2
    assert "--trace must name a file that can be written" in ran.err
