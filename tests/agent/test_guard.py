"""Accounting invariants: kept by every real design, and broken by designs that do less work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from agent.guard import violation
from agent.points import at_points
from agent.problem import Problem, structure_of
from agent.trial import Laboratory, Task, try_candidate
from evaluator.sweep import sweep
from mutations.start import starting_designs
from rooflang.design import Design, Op, Repeat, Section, Statement
from tests.agent.world import PROBLEM, accept


def edited(design: Design, change: Callable[[Section], Section]) -> Design:
    """The design with every section changed."""

    def visit(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        found: list[Statement] = []
        for statement in body:
            if isinstance(statement, Section):
                statement = change(replace(statement, body=visit(statement.body)))
            elif isinstance(statement, Repeat):
                statement = replace(statement, body=visit(statement.body))
            found.append(statement)
        return tuple(found)

    return design.with_(program=replace(design.program, body=visit(design.program.body)))


def without(*names: str) -> Callable[[Section], Section]:
    """A section without the operators and weights of these names."""

    def change(section: Section) -> Section:
        def gone(s: Statement) -> bool:
            return (s.result if isinstance(s, Op) else getattr(s, "name", "")) in names

        return replace(section, body=tuple(s for s in section.body if not gone(s)))

    return change


@pytest.mark.parametrize("model", ["llama-3.1-70b", "gpt-oss-120b"])
def test_conventional_designs_keep_them(model: str) -> None:
    problem = Problem(model, "h100-sxm", 8)
    laboratory = Laboratory(problem, accept)
    for design in starting_designs(problem.reference()):
        outcome = try_candidate(laboratory, Task(structure_of(design)))
        assert outcome.status == "accepted" or outcome.reasons == ("does_not_fit",), outcome.detail


def test_a_design_that_does_less_is_stored_as_failed() -> None:
    design = structure_of(starting_designs(PROBLEM.reference())[0])
    less = edited(design, without("m_up", "up"))

    def one_sided(section: Section) -> Section:
        """The activation without its gate."""

        def change(s: Statement) -> Statement:
            gated = isinstance(s, Op) and s.result == "m_act"
            return replace(s, operator="silu", operands=s.operands[:1]) if gated else s

        return replace(section, body=tuple(change(s) for s in section.body))

    lazy = edited(less, one_sided)
    kernels = tuple(
        replace(f, values=tuple(v for v in f.values if v != "m_up")) for f in lazy.schedule.fusions
    )
    lazy = lazy.with_(schedule=replace(lazy.schedule, fusions=kernels))
    laboratory = Laboratory(PROBLEM, accept)
    outcome = try_candidate(laboratory, Task(lazy))
    assert (outcome.status, outcome.reasons) == ("failed", ("matrix_work",))
    assert "no rule declares" in outcome.detail
    assert try_candidate(laboratory, Task(lazy, same_matrix_work=False)).status == "accepted"


def test_a_point_that_promises_more_than_its_step_gives_is_noticed() -> None:
    design = structure_of(starting_designs(PROBLEM.reference())[0])
    devices = PROBLEM.devices(design)
    points = sweep(design, devices, PROBLEM.count, PROBLEM.scenario, PROBLEM.grid()).points
    fine = at_points(design, devices, PROBLEM.scenario, points, PROBLEM.setting)
    assert violation(PROBLEM, fine, True) is None
    better = [replace(p, tokens_per_second_per_user=p.tokens_per_second_per_user * 1.01) for p in points]
    found = violation(PROBLEM, replace(fine, points=tuple(better)), True)
    assert found is not None
    assert found[0] == "sweep"
