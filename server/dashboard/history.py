"""What a search has tried so far, as columns: read once, then only what is new."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agent.store import SearchStore
from agent.stored import problem_of
from catalogue.errors import CatalogueError
from db import Candidate, Conditions, Database, Evaluation, Search
from evaluator.errors import EvaluatorError
from evaluator.frontier import pareto

Json = dict[str, Any]
Floats = NDArray[np.float64]
X, Y = "tokens_per_second_per_user", "tokens_per_second_per_gpu"
KEPT = 12
"""Searches whose columns are kept."""


@dataclass(slots=True)
class Proposals:
    """How one proposer has fared."""

    tried: int = 0
    accepted: int = 0
    refused: int = 0
    failed: int = 0
    better: int = 0
    best: float = 0.0


@dataclass(slots=True)
class History:
    """One search: points of all accepted structures by design, verdicts, and the hypervolume by round.

    `x` and `y` have one place per point, `of` the position of its design in `designs`; `steps` are pairs of
    (structures tried, gain of hypervolume over the baseline).
    """

    conditions: Conditions | None
    current: bool
    baseline: tuple[Json, ...] = ()
    designs: list[Candidate] = field(default_factory=list)
    x: Floats = field(default_factory=lambda: np.zeros(0))
    y: Floats = field(default_factory=lambda: np.zeros(0))
    of: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    starts: list[int] = field(default_factory=list)
    front: list[int] = field(default_factory=list)
    steps: list[tuple[int, float]] = field(default_factory=list)
    proposers: dict[str, Proposals] = field(default_factory=dict)
    reasons: Counter[str] = field(default_factory=Counter)
    examples: dict[str, Candidate] = field(default_factory=dict)
    last: int = -1
    tried: int = 0

    def count(self, candidate: Candidate) -> None:
        """Take in a verdict."""
        self.last = max(self.last, candidate.sequence_number)
        self.tried += 1
        who = self.proposers.setdefault(candidate.proposer or "conventional", Proposals())
        who.tried += 1
        if candidate.status == "accepted":
            who.accepted += 1
            gain = candidate.gain or 0.0
            who.better += gain > 0
            who.best = max(who.best, gain)
        elif candidate.status in ("refused", "failed"):
            who.refused += candidate.status == "refused"
            who.failed += candidate.status == "failed"
            for reason in dict.fromkeys(candidate.reasons):
                self.reasons[reason] += 1
                self.examples.setdefault(reason, candidate)

    def extend(self, found: list[tuple[Candidate, Evaluation]]) -> None:
        """Take in points of accepted structures, and the hypervolume after each of their rounds."""
        xs, ys, owners = [self.x], [self.y], [self.of]
        length = len(self.x)
        rounds: list[tuple[int, int, int]] = []
        for candidate, evaluation in found:
            self.starts.append(length)
            position = len(self.designs)
            self.designs.append(candidate)
            n = len(evaluation.points)
            xs.append(np.array([p[X] for p in evaluation.points], dtype=float))
            ys.append(np.array([p[Y] for p in evaluation.points], dtype=float))
            owners.append(np.full(n, position, dtype=np.int64))
            if rounds and rounds[-1][0] == candidate.round_number:
                rounds.pop()
            length += n
            rounds.append((candidate.round_number, candidate.sequence_number, length))
        self.x, self.y = np.concatenate(xs), np.concatenate(ys)
        self.of = np.concatenate(owners)
        old_x, old_y = _columns(self.baseline)
        base = volume(old_x, old_y)
        begun = len(xs[0])
        for _, sequence, end in rounds:
            among = np.array([*self.front, *range(begun, end)], dtype=np.int64)
            best = pareto(self.x[among], self.y[among])
            self.front = [int(i) for i in among[best]]
            begun = end
            joint = volume(
                np.concatenate([self.x[self.front], old_x]), np.concatenate([self.y[self.front], old_y])
            )
            self.steps.append((sequence + 1, joint / base - 1 if base else 0.0))


def volume(x: Floats, y: Floats) -> float:
    """Area under a frontier in log-log scale above (1, 1), as `evaluator.frontier.hypervolume`."""
    if not len(x):
        return 0.0
    kept = pareto(x, y)
    a, b = np.log(np.maximum(x[kept], 1.0)), np.log(np.maximum(y[kept], 1.0))
    tops = np.maximum.accumulate(b)
    return float(np.sum(a * np.diff(tops, prepend=0.0)))


def _columns(points: tuple[Json, ...]) -> tuple[Floats, Floats]:
    return np.array([p[X] for p in points], dtype=float), np.array([p[Y] for p in points], dtype=float)


class Histories:
    """Those of the searches looked at last; from any thread."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._found: OrderedDict[str, History] = OrderedDict()

    def of(self, search: Search) -> History:
        """The history of a search, brought up to date."""
        with self._lock:
            kept = self._found.pop(search.id, None)
            if kept is None or kept.conditions is None:
                kept = self._begin(search)
            self._found[search.id] = kept
            while len(self._found) > KEPT:
                self._found.popitem(last=False)
            if not kept.baseline and kept.conditions is not None:
                kept.baseline = _baseline(self._database, search, kept.conditions)
            self._update(search, kept)
            return kept

    def _begin(self, search: Search) -> History:
        conditions, current = conditions_of(self._database, search)
        return History(conditions, current)

    def _update(self, search: Search, kept: History) -> None:
        base = self._database
        new = [
            c
            for c in base.list_candidates(search.id, after_sequence=kept.last if kept.last >= 0 else None)
            if c.status != "proposed"
        ]
        if not new:
            return
        accepted = [c for c in new if c.status == "accepted"]
        found: dict[str, Evaluation] = {}
        if kept.conditions is not None:
            if len(accepted) > 40:
                found = {e.design_hash: e for e in base.list_evaluations(search.id, kept.conditions)}
            else:
                for c in accepted:
                    one = base.get_evaluation(c.design_hash, kept.conditions)
                    if one is not None:
                        found[c.design_hash] = one
        for candidate in new:
            kept.count(candidate)
        kept.extend([(c, found[c.design_hash]) for c in accepted if c.design_hash in found])


def conditions_of(database: Database, search: Search) -> tuple[Conditions | None, bool]:
    """(conditions of its evaluations, whether this version would evaluate under the same)."""
    try:
        found = SearchStore(database, problem_of(search)).conditions
        if found.scenario_hash == search.scenario_hash:
            return found, True
    except (CatalogueError, EvaluatorError, TypeError):
        pass
    for candidate in database.best_candidates(search.id, limit=3):
        for e in database.evaluations_of(candidate.design_hash):
            c = e.conditions
            if (c.scenario_hash, c.setting, c.clock) == (search.scenario_hash, search.setting, search.clock):
                return c, False
    return None, False


def _baseline(database: Database, search: Search, conditions: Conditions) -> tuple[Json, ...]:
    found = database.get_baseline(search.model, search.count, conditions)
    return tuple(dict(p) for p in found.points) if found else ()
