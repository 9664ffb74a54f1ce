"""Rules that relieve what binds: reads where the time of a member's best points goes, and acts on it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from agent.archive import Member
from agent.proposer import Json, Proposal, Told, View, apply_steps, best_shares
from mutations.rule import Rule, Site

SINGLES = 10
"""Single rules of a member that are tried, the most promising first."""

COMBINED = 5
"""Of those, how many are combined in twos and threes."""

OPEN = 6
"""Members that take turns."""


class Bottleneck:
    """For each member, in order of gain: rules by the share of time that they can relieve, then combinations.

    State: per open member its plan (positions in the list of all rules and sites) and how far it is, and
    per rule how often it was tried and how often it helped.
    """

    name = "bottleneck"

    def __init__(self, state: Json | None = None) -> None:
        state = state or {}
        self._plans: dict[str, list[list[int]]] = dict(state.get("plans", {}))
        self._closed: dict[str, None] = dict.fromkeys(state.get("closed", []))
        self._tried: dict[str, list[int]] = {k: list(v) for k, v in state.get("tried", {}).items()}

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
        design = view.design(name)
        choices = view.choices(name)
        if name not in self._plans:
            self._plans[name] = self._plan(member, choices)
        while self._plans[name]:
            chosen = [choices[i] for i in self._plans[name].pop(0)]
            proposal = apply_steps(design, chosen, name, _prediction(member, [r for r, _ in chosen]))
            if proposal is not None:
                yield proposal
        del self._plans[name]
        self._closed[name] = None

    def _plan(self, member: Member, choices: Sequence[tuple[Rule, Site]]) -> list[list[int]]:
        """Positions of the rules to apply together, in the order to try."""
        scores = {i: self._score(member, rule) for i, (rule, _) in enumerate(choices)}
        ordered = sorted((i for i in scores if scores[i] > 0), key=lambda i: (-scores[i], i))
        singles = _spread(ordered, choices)[:SINGLES]
        top = singles[:COMBINED]
        several = [
            list(group)
            for size in (2, 3)
            for group in itertools.combinations(top, size)
            if len({choices[i][0].name for i in group}) == size
        ]
        return [*([i] for i in singles), *several]

    def _score(self, member: Member, rule: Rule) -> float:
        """Share of the time that the rule can relieve, by how often it has helped so far."""
        share = sum(part for resource, part in best_shares(member).items() if resource in rule.relieves)
        tried, helped = self._tried.get(rule.name, [0, 0])
        return share * (helped + 1) / (tried + 2)

    def tell(self, told: Sequence[Told]) -> None:
        for item in told:
            for step in item.proposal.steps:
                counts = self._tried.setdefault(step.rule, [0, 0])
                counts[0] += 1
                counts[1] += int(item.improved)

    def state(self) -> Json:
        return {
            "plans": {k: [list(g) for g in v] for k, v in self._plans.items()},
            "closed": list(self._closed),
            "tried": {k: list(v) for k, v in self._tried.items()},
        }


def _spread(ordered: Sequence[int], choices: Sequence[tuple[Rule, Site]]) -> list[int]:
    """The same positions so that the first site of every rule comes before the second of any."""
    seen: dict[str, int] = {}
    ranked: list[tuple[int, int]] = []
    for i in ordered:
        name = choices[i][0].name
        seen[name] = seen.get(name, 0) + 1
        ranked.append((seen[name], i))
    return [i for _, i in sorted(ranked, key=lambda pair: pair[0])]


def _prediction(member: Member, rules: Sequence[Rule]) -> str:
    shares = best_shares(member)
    relieved = sorted({r for rule in rules for r in rule.relieves if shares.get(r, 0.0) > 0.0})
    words = " and ".join(f"{name} ({shares[name]:.0%} of the step)" for name in relieved)
    return f"relieves {words}" if words else "relieves nothing that binds"
