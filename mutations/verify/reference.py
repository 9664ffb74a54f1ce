"""Runs of reference units, kept for the candidates to come."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Protocol

from mutations.verify.comparison import Runner, Side
from rooflang.lowered import Lowered, Tensor, bare
from rooflang.run import Outcome, Trial, Value, leaves

MOST_RUNS = 8  # of one unit, at different sizes
_MOST_UNITS = 500


class ReferenceRun:
    """The reference unit at some sizes: its outcome of each step, computed when first asked for."""

    def __init__(self, ours: Side, trial: Trial, seed: int) -> None:
        self.side, self.trial, self.seed = ours, trial, seed
        self.draws: dict[tuple[str, tuple[str, ...]], Value] = {}
        self.shapes = _shapes(ours)
        self._outcomes: list[Outcome] = []
        self._runner = self._fresh()

    def _fresh(self) -> Runner:
        return Runner(self.side, self.shapes, self.trial, self.seed, self.draws)

    def step(self, number: int) -> Outcome:
        """What the reference does in a step; steps are asked for in order."""
        while len(self._outcomes) <= number:
            at = len(self._outcomes)
            self._outcomes.append(self._runner.step(at, self.trial.steps[at]))
        return self._outcomes[number]

    def again(self, number: int) -> Runner:
        """A runner that stands before a step."""
        runner = self._fresh()
        for at in range(number):
            runner.step(at, self.trial.steps[at])
        return runner


def _shapes(ours: Side) -> Mapping[str, Tensor]:
    """The reference's tensors by the label of their draws: they order the dims of what is drawn."""
    given = {f"given/{n}": t for n, t in leaves(ours.unit)}
    return {**given, **{ours.weights[t.name]: t for t in ours.unit.weights}}


class Asked(Protocol):
    """What of a comparison decides which runs serve it."""

    @property
    def reference(self) -> Lowered: ...

    @property
    def candidate(self) -> Lowered: ...

    @property
    def seed(self) -> int: ...

    @property
    def microbatches(self) -> int: ...


_RUNS: dict[Hashable, list[ReferenceRun]] = {}


def known_runs(asked: Asked, ours: Side, variant: int) -> list[ReferenceRun]:
    """The list in which runs of this unit are kept."""
    # A trial holds the candidate's dims too, so it serves candidates of these dims alone.
    dims = (asked.reference.design.program.dims, asked.candidate.design.program.dims)
    key = (bare(ours.unit), dims, asked.seed, min(asked.microbatches, 2), variant)
    found = _RUNS.get(key)
    if found is None:
        if len(_RUNS) > _MOST_UNITS:
            _RUNS.clear()
        found = _RUNS[key] = []
    return found
