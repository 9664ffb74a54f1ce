"""Measurements in the formats of common benchmarks: what is understood of each."""

from __future__ import annotations

import json

import pytest

from server.dashboard.measurement import rows, understand

RESULT = {
    "model": "openai/gpt-oss-120b", "hw": "NVIDIA H200 SXM", "tp": 8, "conc": 256, "isl": 8192, "osl": 1024,
    "tput_per_gpu": 21600.0, "output_tput_per_gpu": 2400.0, "mean_ttft": 0.8, "precision": "fp8",
}  # fmt: skip
SERVED = """
============ Serving Benchmark Result ============
Successful requests:                     1000
Benchmark duration (s):                  60.00
Total input tokens:                      8192000
Total generated tokens:                  1024000
Output token throughput (tok/s):         19,200.00
Mean TPOT (ms):                          12.50
num_gpus: 8
model: gpt-oss-120b
hw: h200-sxm
"""


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(RESULT),
        json.dumps([RESULT]),
        json.dumps({"date": "today", "results": [RESULT]}),
        json.dumps({"metadata": RESULT}),
        json.dumps(RESULT) + "\n" + json.dumps(RESULT),
        ",".join(RESULT) + "\n" + ",".join(f'"{v}"' for v in RESULT.values()),
        "\t".join(RESULT) + "\n" + "\t".join(map(str, RESULT.values())),
        "\n".join(f"{k} = {v}" for k, v in RESULT.items()),
    ],
)
def test_a_result_is_read_however_it_is_written(text: str) -> None:
    assert understand(rows(text)[0], {}).values == {
        "model": "gpt-oss-120b", "device": "h200-sxm", "count": "8", "batch": "256", "context": "8704",
        "throughput": "2400", "precision": "fp8",
    }  # fmt: skip


def test_the_summary_of_a_serving_benchmark_is_read() -> None:
    found = understand(rows(SERVED)[0], {})
    assert found.values == {
        "model": "gpt-oss-120b", "device": "h200-sxm", "count": "8", "throughput": "2400",
        "interactivity": "80", "context": "8704",
    }  # fmt: skip
    assert found.notes == ["Output tokens/s are divided by 8 devices."]


def test_a_throughput_that_counts_input_is_not_taken_for_output() -> None:
    row = {"tput_per_gpu": "21600", "conc": "256"}
    found = understand(row, {})
    assert "throughput" not in found.values
    assert "Choose columns" in found.notes[0]
    found = understand({**row, "isl": "8192", "osl": "1024"}, {})
    assert found.values["throughput"] == "2400"


def test_every_row_of_a_table_can_be_chosen_and_every_column_meant_otherwise() -> None:
    found = rows("name,speed,extra\na,1,x\nb,2,y")
    assert [r["name"] for r in found] == ["a", "b"]
    row = understand(found[1], {"speed": "throughput", "extra": "batch"})
    assert row.values == {"throughput": "2"}
    assert {c["name"]: c["target"] for c in row.columns}["extra"] == ""  # its value is no number


@pytest.mark.parametrize(
    "text", ["", "nothing", "[1, 2]", "{", "[]", '{"a": {"b": {"c": 1}}}', "\n\n", ",\n,"]
)
def test_what_is_no_measurement_is_none(text: str) -> None:
    assert rows(text) == []


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 50_000, "a,b\n" + '"' + "x" * 200_000 + '",1', "[1, 2]", "\0,\0\n\0,\0"]
)
def test_what_is_no_measurement_is_understood_as_nothing(text: str) -> None:
    assert all(not understand(row, {}).values for row in rows(text))
