"""Whether a fault was caught, and if not, whether it mattered: float64 is the second opinion.

`caught`      the verifier refuses it
`real`        the verifier accepts it although its float64 results are others: a hole in the verifier
`equivalent`  the verifier accepts it, and its float64 results are the same: no fault after all

A silent fault (a narrower format) that is accepted is `real`: no result shows it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mutations.faults.fault import Fault
from mutations.verify.comparison import Runner, differs, side
from mutations.verify.verifier import verify_lowered
from rooflang.design import Design
from rooflang.lowered import Lowered, Unit
from rooflang.run import ExecutionError, Reals, shrink_units

CAUGHT, REAL, EQUIVALENT = "caught", "real", "equivalent"


@dataclass(frozen=True, slots=True)
class Judgement:
    """`layer` is the one that refused, `code` its first reason; `where` is the faulty value with its unit."""

    outcome: str
    where: str
    layer: str = ""
    code: str = ""
    message: str = ""


def judge(
    reference: Design, right: Lowered, unit: Unit, fault: Fault, where: str, bad: Unit, seed: int
) -> Judgement:
    """The verdict about one injection into a design that is right."""
    place = f"{unit.path}.{where}" if unit.path else where
    verdict = verify_lowered(reference, with_unit(right, unit, bad), seed)
    if not verdict.accepted:
        first = verdict.reasons[0]
        layer = (
            "work" if first.code.startswith("work") else verdict.layers[-1 if len(verdict.layers) == 1 else 1]
        )
        return Judgement(CAUGHT, place, layer, first.code, str(first))
    text = "no result shows it" if fault.silent else changes(right, unit, bad, seed)
    return Judgement(REAL, place, message=text) if text else Judgement(EQUIVALENT, place)


def judge_whole(reference: Design, where: str, bad: Lowered, seed: int) -> Judgement:
    """The verdict about a faulty design."""
    verdict = verify_lowered(reference, bad, seed)
    if verdict.accepted:
        return Judgement(REAL, where, message="no result shows it")
    first = verdict.reasons[0]
    return Judgement(CAUGHT, where, verdict.layers[-1], first.code, str(first))


def with_unit(lowered: Lowered, old: Unit, new: Unit) -> Lowered:
    """The lowered design with one unit replaced."""
    segments = tuple(
        replace(s, units=tuple(new if u is old else u for u in s.units)) for s in lowered.segments
    )
    return replace(lowered, segments=segments)


def changes(right: Lowered, unit: Unit, bad: Unit, seed: int) -> str:
    """How the faulty unit's float64 results differ from the right one's, or nothing."""
    for variant in (0, 1):
        try:
            trial = shrink_units((right,), [unit, bad], variant)
        except ExecutionError as error:
            return f"it cannot be run: {error}"
        shapes = {f"given/{n}": t for n, t in unit.inputs}
        runners = [Runner(side(u), shapes, trial, seed + 1, arithmetic=Reals()) for u in (unit, bad)]
        for number, step in enumerate(trial.steps):
            with np.errstate(all="ignore"):
                want, got = (r.step(number, step) for r in runners)
            if want.failures:
                return f"the right design itself fails: {want.failures[0].message}"
            if got.failures:
                return f"it fails: {got.failures[0].message}"
            for ours, theirs in ((want.outputs, got.outputs), (want.states, got.states)):
                for name, value in ours.items():
                    if name not in theirs:
                        return f"{name} is missing"
                    exists = step.exists if ours is want.outputs else None
                    text = differs(value, theirs[name], exists, _apart)
                    if text:
                        return f"{name} {text}"
    return ""


def _apart(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    wrong: np.ndarray = ~np.isclose(a, b, rtol=1e-6, atol=1e-9, equal_nan=True)
    return wrong
