"""Rules that relieve what binds: reads where the time of a member's best point goes, and acts on it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace

from agent.archive import Member
from agent.credit import Credit, worth
from agent.proposer import Json, Prior, Proposal, Told, View, replay
from agent.steps import Step
from mutations.rule import Rule, Site

SINGLES = 9
"""Single steps from a member that are tried, the most promising first."""

STACKED = 8
"""Steps at most that are done at once because each helped alone, here or on another member."""

COMBINED = 4
"""Of those that helped, how many are combined in threes and twos."""

TURNS = (0, 1, 2, 0, 3, 1, 0, 4, 2, 0, 5, 1)
"""Who is next among the open members, the best one first."""


@dataclass
class Plan:
    """What is left to try from a member: groups of positions in the list of all its choices.

    `waiting` single steps were proposed and have no result yet; `helped` are (position, gain over the
    member) of those that did.
    """

    groups: list[list[int]]
    waiting: list[int] = field(default_factory=list)
    helped: list[tuple[int, float]] = field(default_factory=list)
    combined: bool = False


class Bottleneck:
    """For each member, by gain: what helped others at once, then steps by the time that they can relieve,
    then those that helped together.

    A step is worth the share of the time that its rule relieves at its site, times what it has gained so far,
    here and by memory. State: the plans of open members, and the credit of rules and steps.
    """

    name = "bottleneck"

    def __init__(self, state: Json | None = None, seed: int = 0) -> None:
        state = state or {}
        self._plans = {name: _plan_from(plan) for name, plan in state.get("plans", {}).items()}
        self._closed: dict[str, None] = dict.fromkeys(state.get("closed", []))
        self._credit = Credit(state.get("credit"))

    def ask(self, view: View, budget: int) -> Iterator[Proposal]:
        members = [m for m in view.archive.promising() if m.design_hash not in self._closed]
        turns = [self._turn(view, m) for m in members[: max(TURNS) + 1]]
        left = set(range(len(turns)))
        while left:
            for number in TURNS:
                proposal = next(turns[number], None) if number in left else None
                if proposal is not None:
                    yield proposal
                else:
                    left.discard(number)

    def _turn(self, view: View, member: Member) -> Iterator[Proposal]:
        name = member.design_hash
        choices = view.choices(name)
        plan = self._plans.get(name)
        if plan is None:
            plan = self._plans[name] = Plan(self._first(member, choices, view.prior))
        while True:
            while plan.groups:
                group = plan.groups.pop(0)
                proposal = _together(view, member, [choices[i] for i in group])
                if proposal is not None:
                    if len(group) == 1:
                        plan.waiting.append(group[0])
                    yield replace(proposal, positions=tuple(group))
            if plan.waiting:
                return  # until their results are told
            if plan.combined:
                break
            plan.combined = True
            best = [i for i, _ in sorted(plan.helped, key=lambda pair: (-pair[1], pair[0]))]
            several = [g for size in (3, 2) for g in itertools.combinations(best[:COMBINED], size)]
            plan.groups = [best[:STACKED], *(list(g) for g in several)] if len(best) > 1 else []
        del self._plans[name]
        self._closed[name] = None

    def _first(self, member: Member, choices: Sequence[tuple[Rule, Site]], prior: Prior) -> list[list[int]]:
        """What helped other members at once, the three most promising steps at once, and then alone."""
        scores = {i: self._score(member, rule, site, prior) for i, (rule, site) in enumerate(choices)}
        ordered = sorted((i for i in scores if scores[i] > 0), key=lambda i: (-scores[i], i))
        singles = _distinct(ordered, choices)[:SINGLES]
        proven = {i: self._credit.proven(_step(*choice)) for i, choice in enumerate(choices)}
        helped = sorted((i for i in proven if proven[i] > 0), key=lambda i: (-proven[i], i))
        groups = [_distinct(helped, choices)[:STACKED], singles[:3]]
        return [*(g for g in groups if len(g) > 1), *([i] for i in singles)]

    def _score(self, member: Member, rule: Rule, site: Site, prior: Prior) -> float:
        gained = self._credit.of_step(_step(rule, site), prior(rule.name, member.binding))
        return _relieved(member, rule, site) * gained

    def tell(self, told: Sequence[Told]) -> None:
        self._credit.learn(told)
        for item in told:
            plan = self._plans.get(item.proposal.parent)
            if plan is not None and len(item.proposal.positions) == 1 and worth(item) > 0:
                plan.helped.append((item.proposal.positions[0], worth(item)))
        for plan in self._plans.values():
            plan.waiting = []  # those without a result were known structures

    def state(self) -> Json:
        return {
            "plans": {name: asdict(plan) for name, plan in self._plans.items()},
            "closed": list(self._closed),
            "credit": self._credit.state(),
        }


def _plan_from(stored: Json) -> Plan:
    helped = [(int(i), float(change)) for i, change in stored["helped"]]
    return Plan(
        [list(g) for g in stored["groups"]], list(stored["waiting"]), helped, bool(stored["combined"])
    )


def _step(rule: Rule, site: Site) -> Step:
    return Step(rule.name, str(site))


def _together(view: View, member: Member, wanted: Sequence[tuple[Rule, Site]]) -> Proposal | None:
    """Those of the steps that still apply after the ones before them; None if there are none."""
    steps = [_step(rule, site) for rule, site in wanted]
    done, design = replay(view.design(member.design_hash), steps, view.rules)
    if not done:
        return None
    made = tuple(_step(rule, site) for rule, site in done)
    same = all(rule.same_matrix_work for rule, _ in done)
    return Proposal(member.design_hash, made, design, _prediction(member, done), same)


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
