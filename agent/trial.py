"""What is done with one candidate: verify it, sweep it, check the accounts. Pure; runs in any process."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from agent.guard import violation
from agent.points import Analysis, analyses, at_points, binding
from agent.problem import Problem, settled
from evaluator.errors import ConfigurationError
from evaluator.frontier import Point, front
from evaluator.sweep import sweep_schedules
from rooflang.canonical import design_hash
from rooflang.design import Design
from rooflang.errors import RoofLangError
from rooflang.printer import print_design

Json: TypeAlias = dict[str, Any]

DEPTHS = (2, 3, 4)
"""Micro-batches that a structure with several is swept over; with stages, one to three times their number."""

ANALYSED = 4
"""Of so many points along a frontier, one keeps its analysis of the step."""

DIGITS = 12
"""Significant digits of a result: beyond them the order of additions shows, which a process may choose."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict as the search keeps it: reasons are (code, sentence), the certificate has no timings."""

    accepted: bool
    reasons: tuple[tuple[str, str], ...]
    certificate: Json
    milliseconds: float


@dataclass
class Proofs:
    """The verifier's results for parts of designs: those `known` before, and those `found` since."""

    known: Mapping[str, str] = field(default_factory=dict)
    found: dict[str, str] = field(default_factory=dict)

    def get(self, key: str) -> str | None:
        return self.found.get(key) or self.known.get(key)

    def put(self, key: str, value: str) -> None:
        self.found[key] = value


Verify: TypeAlias = Callable[[Design, Design, int, Proofs], Judgement]
"""(reference, candidate, seed, proofs) -> judgement; what it answers does not depend on the proofs."""


@dataclass(frozen=True, slots=True)
class Task:
    """A structure to try; `judgement` is the verifier's if that is known already.

    `conventional` is the number of micro-batches (per stage) at which it belongs to the baseline; such a
    structure is evaluated whatever the verdict. 0 for all others.
    """

    design: Design
    same_matrix_work: bool = True
    conventional: int = 0
    judgement: Judgement | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a task. `points` are stored records; `conventional` those of the design as written."""

    status: str
    reasons: tuple[str, ...] = ()
    detail: str = ""
    design_hash: str = ""
    text: str = ""
    judgement: Judgement | None = None
    points: tuple[Json, ...] = ()
    evaluated: int = 0
    seconds: float = 0.0
    conventional: tuple[Json, ...] = ()
    proofs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Laboratory:
    """All that trials share; pickled once per worker."""

    problem: Problem
    verify: Verify
    proofs: Mapping[str, str] = field(default_factory=dict)


def try_candidate(laboratory: Laboratory, task: Task) -> Outcome:
    """Verify, then evaluate; an error of the candidate's own is an outcome."""
    task = replace(task, design=settled(task.design))
    proofs = Proofs(laboratory.proofs)
    return replace(_try(laboratory, task, proofs), proofs=proofs.found)


def _try(laboratory: Laboratory, task: Task, proofs: Proofs) -> Outcome:
    name, text = design_hash(task.design), print_design(task.design)
    judgement = task.judgement
    if judgement is None:
        reference = laboratory.problem.reference()
        judgement = laboratory.verify(reference, task.design, laboratory.problem.seed, proofs)
    refused = judgement is not None and not judgement.accepted
    if refused and not task.conventional:
        return refusal(judgement, name, text)
    started = time.perf_counter()
    try:
        outcome = _evaluate(laboratory.problem, task, name)
    except ConfigurationError as error:
        outcome = Outcome("failed", ("not_placeable",), str(error))
    except RoofLangError as error:
        outcome = Outcome("failed", ("not_lowered",), str(error))
    seconds = time.perf_counter() - started
    outcome = replace(outcome, judgement=judgement, seconds=seconds, design_hash=name, text=text)
    if refused:
        known = refusal(judgement, name, text)
        return replace(known, conventional=outcome.conventional, evaluated=outcome.evaluated)
    return outcome


def failed(design: Design, reason: str, detail: str) -> Outcome:
    """The outcome of a candidate that nothing more can be said of."""
    return Outcome("failed", (reason,), detail, design_hash(design), print_design(design))


def refusal(judgement: Judgement | None, design: str, text: str) -> Outcome:
    """The outcome of a refused candidate; `design` is its hash."""
    reasons = judgement.reasons if judgement else ()
    codes = tuple(dict.fromkeys(code for code, _ in reasons)) or ("refused",)
    return Outcome("refused", codes, reasons[0][1] if reasons else "", design, text, judgement)


def _evaluate(problem: Problem, task: Task, name: str) -> Outcome:
    design, devices = task.design, problem.devices(task.design)
    depths = _depths(design)
    grid = replace(problem.grid(), schedules=tuple((k, design.schedule.overlap_links) for k in depths))
    swept = sweep_schedules(
        design, devices, problem.count, problem.scenario, grid,
        clock=problem.clock, setting=problem.setting, name=name,
    )  # fmt: skip
    points = [p for found in swept for p in found.points]
    evaluated = sum(found.evaluated for found in swept)
    conventional = next((f.points for k, f in zip(depths, swept, strict=True) if k == task.conventional), ())
    kept = front([_rounded(p) for p in points])
    if not kept:
        detail = f"no mesh of {problem.count} devices holds the design's weights and caches at any batch"
        return Outcome("failed", ("does_not_fit",), detail, evaluated=evaluated)
    found = at_points(design, devices, problem.scenario, kept, problem.setting)
    broken = violation(problem, found, task.same_matrix_work)
    if broken is not None:
        return Outcome(
            "failed", (broken[0],), broken[1], evaluated=evaluated, conventional=_records(conventional)
        )
    records = [p.to_json() for p in kept]
    for record, what in zip(records, binding(found, problem.clock), strict=True):
        record["binding"] = what
    analysed = analysed_positions(len(kept))
    for position, part in zip(analysed, analyses(found, problem.clock, analysed), strict=True):
        records[position] |= {"shares": part.resources, "sections": part.sections, "pools": len(design.pools)}
    return Outcome(
        "accepted", points=tuple(records), evaluated=evaluated,
        conventional=_records(conventional),
    )  # fmt: skip


def _depths(design: Design) -> tuple[int, ...]:
    """Micro-batches to sweep, per stage with a pipeline."""
    if design.placement.pipeline is not None:
        return 1, 2, 3
    return DEPTHS if design.schedule.microbatches > 1 else (1,)


def analysed_positions(length: int) -> list[int]:
    """Positions of a frontier whose analysis is kept."""
    return sorted({*range(0, length, ANALYSED), length - 1})


def _records(points: tuple[Point, ...]) -> tuple[Json, ...]:
    return tuple(_rounded(p).to_json() for p in points)


def _rounded(point: Point) -> Point:
    def short(value: float) -> float:
        return float(f"{value:.{DIGITS}g}")

    return replace(
        point,
        tokens_per_second_per_user=short(point.tokens_per_second_per_user),
        tokens_per_second_per_gpu=short(point.tokens_per_second_per_gpu),
    )


def analyses_of(records: tuple[Json, ...]) -> dict[int, Analysis]:
    """The analysed positions of stored points."""
    return {i: Analysis(r["shares"], r["sections"]) for i, r in enumerate(records) if "shares" in r}
