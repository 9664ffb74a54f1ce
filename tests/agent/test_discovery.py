"""A real search, verifier and all, and its explanation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent import Budget, Problem, explain, search
from agent.problem import structure_of
from agent.sensitivity import sensitivity
from db import Database
from evaluator.frontier import Point
from evaluator.sweep import at_point
from rooflang.canonical import design_hash, structure_hash
from rooflang.parser import parse


@pytest.mark.slow
def test_a_real_search_finds_and_explains_a_better_design(tmp_path: Path) -> None:
    problem = Problem("gpt-oss-120b", "h100", 8)
    with Database.open(tmp_path / "a.sqlite") as database:
        found = search(problem, database, budget=Budget(structures=48), workers=2)
        best = found.best
        assert best is not None
        assert best.gain > 0
        assert found.simultaneous_gain == best.gain
        assert best.new.tokens_per_second_per_user > best.old.tokens_per_second_per_user
        assert best.new.tokens_per_second_per_gpu > best.old.tokens_per_second_per_gpu
        certificate = database.get_certificate(best.certificate)
        assert certificate.verdict == "accepted"
        assert certificate.body["false_accept_bound"] == best.false_accept_bound
        assert 0 < (best.false_accept_bound or 1) <= 1e-9
        design = parse(best.text)
        assert design_hash(design) == best.design
        assert structure_hash(structure_of(design)) == certificate.candidate_structure_hash
        e = at_point(design, problem.devices(design), problem.scenario, best.new, setting=problem.setting)
        assert float(e.per_user(problem.clock)) == pytest.approx(
            best.new.tokens_per_second_per_user, rel=1e-9
        )
        # Simulation never says that a step is shorter than its closed form.
        assert best.simulated.old_seconds >= told_seconds(problem, database, best.old) * (1 - 1e-6)
        assert best.simulated.new_seconds >= float(e.seconds("overlapped")) * (1 - 1e-6)
        assert best.vanishes == (best.simulated.gain <= 0 or best.simulated.gain < 0.05 <= best.gain)
        for gap in (found.gap_to_limit, found.gap_to_relaxation):
            assert gap is not None
            assert all(share >= 0 for share in gap.values())
        assert found.gap_to_relaxation["throughput"] >= found.gap_to_limit["throughput"] - 1e-9
        told = explain(problem, database, best)
        assert told.changes
        assert told.sensitivity["as assumed"] == pytest.approx(best.gain, rel=1e-6)
        assert told.before.clocks["overlapped"] > told.after.clocks["overlapped"]
        text = told.text()
        assert told.changes[0].rule in text
        assert best.certificate[:16] in text
        json.dumps([found.to_json(), told.to_json()], allow_nan=False)


def told_seconds(problem: Problem, database: Database, point: Point) -> float:
    design = parse(database.get_design(point.design).text)
    e = at_point(design, problem.devices(design), problem.scenario, point, setting=problem.setting)
    return float(e.seconds("overlapped"))


def test_slower_parts_change_a_design_s_speed_the_way_they_should(tmp_path: Path) -> None:
    problem = Problem("llama-3.1-70b", "h100", 8)
    found = search(problem, tmp_path / "a.sqlite", budget=Budget(structures=1))
    with Database.open(tmp_path / "a.sqlite") as database:
        point = found.baseline_frontier[0]
        side = (parse(database.get_design(point.design).text), point)
        # A design against itself gains nothing, whatever is assumed.
        assert sensitivity(problem, side, side) == pytest.approx(
            dict.fromkeys(sensitivity(problem, side, side), 0.0), abs=1e-12
        )
