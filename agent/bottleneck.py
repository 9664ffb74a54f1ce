"""Rules that relieve what binds: reads where the time of a member's best point goes, and acts on it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from agent.archive import Member
from agent.proposer import Json, Proposal, Told, View, apply_steps
from mutations.rule import Rule, Site

SINGLES = 8
"""Single steps from a member that are tried, the most promising first."""

COMBINED = 4
"""Of those, how many are combined in twos and threes."""

OPEN = 6
"""Members that take turns."""

HOPE = 0.05
"""Gain that a rule is credited with before it was tried; it counts like one trial."""


class Bottleneck:
    """For each member, in order of gain: steps by the time that they can relieve, combined and alone.

    A step is worth the share of the time that its rule relieves at its site, times what the rule has gained
    so far. State: per open member the plan that is left (positions in the list of all choices), and per rule
    how often it was tried and what it gained in all.
    """

    name = "bottleneck"

    def __init__(self, state: Json | None = None) -> None:
        state = state or {}
        self._plans: dict[str, list[list[int]]] = {k: list(v) for k, v in state.get("plans", {}).items()}
        self._closed: dict[str, None] = dict.fromkeys(state.get("closed", []))
        self._gained: dict[str, tuple[int, float]] = {
            k: (n, g) for k, (n, g) in state.get("gained", {}).items()
        }

    def ask(self, view: View, budget: int) -> Iterator[Proposal]:
        turns = [self._turn(view, m) for m in self._open(view)]
        while turns:
            for turn in list(turns):
                proposal = next(turn, None)
                if proposal is None:
                    turns.remove(turn)
                else:
                    yield proposal

    def _open(self, view: View) -> list[Member]:
        wanted = [m for m in view.archive.promising() if m.design_hash not in self._closed]
        return wanted[:OPEN]

    def _turn(self, view: View, member: Member) -> Iterator[Proposal]:
        name = member.design_hash
        design, choices = view.design(name), view.choices(name)
        if name not in self._plans:
            self._plans[name] = self._plan(member, choices)
        while self._plans[name]:
            chosen = [choices[i] for i in self._plans[name].pop(0)]
            proposal = apply_steps(design, chosen, name, _prediction(member, chosen))
            if proposal is not None:
                yield proposal
        del self._plans[name]
        self._closed[name] = None

    def _plan(self, member: Member, choices: Sequence[tuple[Rule, Site]]) -> list[list[int]]:
        """Positions of the steps to take together, in the order to try."""
        scores = {i: self._score(member, rule, site) for i, (rule, site) in enumerate(choices)}
        ordered = sorted((i for i in scores if scores[i] > 0), key=lambda i: (-scores[i], i))
        singles = _distinct(ordered, choices)[:SINGLES]
        top = singles[:COMBINED]
        several = [list(g) for size in (3, 2) for g in itertools.combinations(top, size)]
        first = [several[0]] if several else []
        return [*first, *([i] for i in singles), *several[1:]]

    def _score(self, member: Member, rule: Rule, site: Site) -> float:
        tried, gained = self._gained.get(rule.name, (0, 0.0))
        return _relieved(member, rule, site) * (gained + HOPE) / (tried + 1)

    def tell(self, told: Sequence[Told]) -> None:
        for item in told:
            steps = item.proposal.steps
            for step in steps:
                tried, gained = self._gained.get(step.rule, (0, 0.0))
                self._gained[step.rule] = (tried + 1, gained + max(0.0, item.change) / len(steps))

    def state(self) -> Json:
        return {
            "plans": {k: [list(g) for g in v] for k, v in self._plans.items()},
            "closed": list(self._closed),
            "gained": {k: list(v) for k, v in self._gained.items()},
        }


def _relieved(member: Member, rule: Rule, site: Site) -> float:
    """Share of the step that a rule can relieve at a site; the whole step's if the site is no section."""
    analysis = member.analysis
    shares = analysis.sections.get(site.target.rpartition(".")[2], analysis.resources)
    found = sum(share for resource, share in shares.items() if resource in rule.relieves)
    if "capacity" in rule.relieves:
        found += analysis.resources.get("capacity", 0.0)
    return found


def _distinct(ordered: Sequence[int], choices: Sequence[tuple[Rule, Site]]) -> list[int]:
    """The same positions so that the first step of a rule at a target comes before its further ones there."""
    seen: dict[tuple[str, str], int] = {}
    ranked: list[tuple[int, int]] = []
    for i in ordered:
        key = (choices[i][0].name, choices[i][1].target)
        seen[key] = seen.get(key, 0) + 1
        ranked.append((seen[key], i))
    return [i for _, i in sorted(ranked, key=lambda pair: pair[0])]


def _prediction(member: Member, chosen: Sequence[tuple[Rule, Site]]) -> str:
    parts = [(site.target, _relieved(member, rule, site)) for rule, site in chosen]
    return "; ".join(f"{target}: relieves {share:.0%} of the step" for target, share in parts)
