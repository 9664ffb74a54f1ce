"""Schedules that are swept together have the frontiers that they have alone."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from catalogue.devices import load_device
from catalogue.models import load_model
from evaluator import sweep as module
from evaluator.frontier import Point
from evaluator.scenario import Scenario
from evaluator.sweep import Grid, standard_grid, sweep, sweep_schedules
from mutations.start import starting_designs
from rooflang.design import Design

SCHEDULES = ((1, False), (2, True), (4, True))
COUNT = 16


def same(a: Point, b: Point) -> bool:
    speeds = ("tokens_per_second_per_user", "tokens_per_second_per_gpu")
    near = all(math.isclose(getattr(a, n), getattr(b, n), rel_tol=1e-12) for n in speeds)
    return near and (a.batch, a.configuration) == (b.batch, b.configuration)


def grid_of(scenario: Scenario) -> Grid:
    coarse = standard_grid(COUNT)
    return replace(coarse, batches=coarse.batches[::4], redundant=(0, 2) if scenario.skew else (0,))


def structure(pipelined: bool) -> Design:
    starts = starting_designs(load_model("gpt-oss-120b"))
    return next(d for d in starts if (d.placement.pipeline is not None) == pipelined)


@pytest.mark.parametrize("most", [0, module.MOST_TOGETHER])
@pytest.mark.parametrize("pipelined", [False, True])
@pytest.mark.parametrize("scenario", [Scenario(), Scenario(routing="zipf:0.8")])
def test_together_and_alone(
    most: int, pipelined: bool, scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_TOGETHER", most)
    design, grid = structure(pipelined), grid_of(scenario)
    devices = {p.name: load_device("h100-sxm") for p in design.pools}
    found = sweep_schedules(design, devices, COUNT, scenario, replace(grid, schedules=SCHEDULES))
    assert any(f.points for f in found)
    for schedule, together in zip(SCHEDULES, found, strict=True):
        alone = sweep(design, devices, COUNT, scenario, replace(grid, schedules=(schedule,)))
        assert (together.evaluated, together.fitting) == (alone.evaluated, alone.fitting)
        assert all(map(same, together.points, alone.points))
        assert len(together.points) == len(alone.points)
