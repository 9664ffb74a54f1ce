"""What rules and single steps have gained so far, in this search and by memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent.proposer import Json, Told
from agent.steps import Step

HOPE = 0.05
"""Gain that a rule is credited with before it was tried; it counts like one trial."""

LENGTH = 8.0
"""About the length of a frontier in log scale: a gain of g everywhere adds g times as much hypervolume."""


def worth(told: Told) -> float:
    """What a proposal gained, over its parent or by what it added anywhere on the frontier; 0 for nothing."""
    return max(0.0, told.change, told.contribution / LENGTH)


class Credit:
    """Trials and gains by rule, and by rule and site.

    The rules of a proposal share what it gained. A step is credited only with what it did alone: of several
    at once no one knows which helped.
    """

    def __init__(self, state: Json | None = None) -> None:
        state = state or {}
        self._rules = _pairs(state.get("rules", {}))
        self._steps = _pairs(state.get("steps", {}))

    def learn(self, told: Sequence[Told]) -> None:
        """What became of proposals."""
        for item in told:
            share = worth(item) / max(len(item.proposal.steps), 1)
            for step in item.proposal.steps:
                _count(self._rules, step.rule, share)
                if len(item.proposal.steps) == 1:
                    _count(self._steps, _name(step), share)

    def of_rule(self, rule: str, prior: tuple[float, float]) -> float:
        """Mean gain of a rule; `prior` is (trials, gains) from elsewhere."""
        tried, gained = self._rules.get(rule, (0, 0.0))
        return (gained + prior[1] + HOPE) / (tried + prior[0] + 1)

    def of_step(self, step: Step, prior: tuple[float, float]) -> float:
        """Mean gain of a rule at a site; the rule's own counts like one trial of it."""
        tried, gained = self._steps.get(_name(step), (0, 0.0))
        return (gained + self.of_rule(step.rule, prior)) / (tried + 1)

    def proven(self, step: Step) -> float:
        """Mean gain of a rule at a site on any member so far; 0 where it was not tried."""
        tried, gained = self._steps.get(_name(step), (0, 0.0))
        return gained / tried if tried else 0.0

    def state(self) -> Json:
        """Plain JSON."""
        return {
            "rules": {name: list(pair) for name, pair in self._rules.items()},
            "steps": {name: list(pair) for name, pair in self._steps.items()},
        }


def _count(table: dict[str, tuple[float, float]], name: str, gain: float) -> None:
    tried, gained = table.get(name, (0, 0.0))
    table[name] = (tried + 1, gained + gain)


def _pairs(stored: Mapping[str, Sequence[float]]) -> dict[str, tuple[float, float]]:
    return {name: (tried, gained) for name, (tried, gained) in stored.items()}


def _name(step: Step) -> str:
    return f"{step.rule} @ {step.site}"
