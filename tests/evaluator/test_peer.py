"""Under another evaluator's simplifications we land near its published peaks: an independent cross-check."""

from __future__ import annotations

import pytest

from benchmarks.peer import DEVICES, PEAKS, Peak, simplified
from catalogue.devices import load_device
from evaluator.evaluate import evaluate
from evaluator.report import rows
from evaluator.scenario import Scenario
from tests.evaluator.placements import single


@pytest.mark.parametrize("peak", PEAKS, ids=lambda p: f"{p.model}-{p.context}")
def test_published_peaks_of_deepseek_v4(peak: Peak) -> None:
    batch, steps = simplified(peak, load_device("gb300"))
    assert batch / DEVICES / steps[-1][1] == pytest.approx(peak.published, rel=0.06)
    assert steps[0][1] > steps[-1][1]  # what is left out there costs time here


def test_choosing_the_best_rows_looks_at_every_score_once() -> None:
    """Top-k of 1,024 rows once counted rows x picks: two fifths of a step at a million tokens."""
    device = load_device("b300")
    e = evaluate(single("deepseek-v4-pro"), {"main": device}, Scenario(1_048_576), 1.0)
    picks = [row for row in rows(e) if row.name == "picks"]
    rate = device.vector_flops_per_second
    assert picks
    assert rate is not None
    for row in picks:
        scores = 2 * row.runs * (1_048_576 / 4)
        assert row.seconds <= max(2 * scores / rate, sum(row.memory_bytes.values()) / 8e12) * 1.05
