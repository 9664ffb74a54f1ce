"""Designs tried on behalf of a model: in the search's own processes, under its own rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from agent.executor import Executor, Failure
from agent.problem import Problem, settled, structure_of
from agent.rounds import MOST_AXES
from agent.sensitivity import Side, sensitivity
from agent.trial import Judgement, Laboratory, Outcome, Proofs, Task, failed, try_candidate
from rooflang.design import Design


@dataclass(frozen=True, slots=True)
class Trials:
    """What verify, evaluate and sensitivity do. Their answers depend on the problem and the design alone."""

    problem: Problem
    executor: Executor
    laboratory: Callable[[], Laboratory]

    def verify(self, design: Design) -> Judgement | str:
        """The verifier's judgement of a structure, or a sentence on why there is none."""
        why = too_many_axes(design)
        if why:
            return why
        (answer,) = self.executor.map(_verify, self.laboratory(), [Task(structure_of(design))])
        return answer.detail if isinstance(answer, Failure) else answer

    def evaluate(self, design: Design, same_matrix_work: bool) -> Outcome:
        """All that the search itself would find out about a candidate."""
        plain = structure_of(design)
        why = too_many_axes(design)
        if why:
            return failed(plain, "too_many_axes", why)
        (answer,) = self.executor.map(try_candidate, self.laboratory(), [Task(plain, same_matrix_work)])
        return failed(plain, answer.reason, answer.detail) if isinstance(answer, Failure) else answer

    def sensitivity(self, old: Side, new: Side) -> dict[str, float]:
        """The gain of one point over another under changed assumptions."""
        return sensitivity(self.problem, old, new)


def too_many_axes(design: Design) -> str:
    """Why a search would not try a design at all; empty if it would."""
    count = sum(len(mesh.axes) for mesh in design.placement.meshes)
    return (
        "" if count <= MOST_AXES else f"meshes must have at most {MOST_AXES} axes together, but have {count}"
    )


def _verify(laboratory: Laboratory, task: Task) -> Judgement:
    design = settled(task.design)
    problem = laboratory.problem
    found: Judgement = laboratory.verify(problem.reference(), design, problem.seed, Proofs(laboratory.proofs))
    return replace(found, milliseconds=0.0)
