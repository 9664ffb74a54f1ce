"""Random rewrites of good members, and edits of one replayed on another.

The parent is an elite, or any member by its gain at a temperature that falls as the search grows (simulated
annealing). A child is made by one to four rules at random sites, or by a part of the steps that made another
member, where they still apply (crossover). Draws are numbered, so the stream is the same after a restart.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence

from agent.archive import Member
from agent.credit import Credit
from agent.proposer import Json, Proposal, Told, View, replay, sites_of
from agent.steps import Step
from mutations.rule import Rule, Site
from rooflang.design import Design
from rooflang.errors import RoofLangError

DRAWS = 8
"""Draws per place of a round; then the proposer has nothing more this time."""

CROSSED = 0.35
MORE = 0.4
MOST_STEPS = 4
HOT, COLD = 0.3, 0.02
COOLING = 300.0
"""Members after which the temperature has fallen by a factor of e."""

LONGEST_CROSSED = 8
"""Steps at most that one elite takes over from another."""

FLOOR = 0.0125
"""Least weight of a rule, so that none is given up."""


class Evolutionary:
    """State: how many draws were made, and the credit of rules."""

    name = "evolutionary"

    def __init__(self, state: Json | None = None, seed: int = 0) -> None:
        state = state or {}
        self._seed = seed
        self._drawn = int(state.get("drawn", 0))
        self._credit = Credit(state.get("credit"))

    def ask(self, view: View, budget: int) -> Iterator[Proposal]:
        members, elites = view.archive.members(), view.archive.promising()
        if not members:
            return
        for _ in range(DRAWS * max(budget, 1)):
            rng = random.Random(f"{self._seed}/{self._drawn}")
            self._drawn += 1
            parent = _parent(members, elites, rng, view.heat)
            crossed = rng.random() < CROSSED
            proposal = _cross(view, parent, elites, rng) if crossed else self._mutate(view, parent, rng)
            if proposal is not None:
                yield proposal

    def tell(self, told: Sequence[Told]) -> None:
        self._credit.learn(told)

    def state(self) -> Json:
        return {"drawn": self._drawn, "credit": self._credit.state()}

    def _mutate(self, view: View, parent: Member, rng: random.Random) -> Proposal | None:
        design = view.design(parent.design_hash)
        exact = [rule for rule in view.rules if rule.exact]
        weights = [
            FLOOR + self._credit.of_rule(rule.name, view.prior(rule.name, parent.binding)) for rule in exact
        ]
        steps = 1
        while steps < MOST_STEPS and rng.random() < MORE:
            steps += 1
        chosen: list[tuple[Rule, Site]] = []
        current = design
        for _ in range(steps):
            step = self._step(current, exact, weights, rng)
            if step is None:
                break
            chosen.append(step[:2])
            current = step[2]
        return _made(parent, chosen, current, "a random rewrite of a good design") if chosen else None

    def _step(
        self, design: Design, rules: Sequence[Rule], weights: Sequence[float], rng: random.Random
    ) -> tuple[Rule, Site, Design] | None:
        """One rule at one site and what it makes; rules that gained are drawn more often."""
        for _ in range(6):
            rule = rng.choices(rules, weights)[0]
            sites = sites_of(rule, design)
            if not sites:
                continue
            site = rng.choice(sites)
            try:
                return rule, site, rule.apply(design, site)
            except RoofLangError:
                continue
        return None


def _parent(members: Sequence[Member], elites: Sequence[Member], rng: random.Random, heat: float) -> Member:
    if elites and rng.random() < 0.5:
        return elites[int(len(elites) * rng.random() ** 2)]
    temperature = heat * max(COLD, HOT * math.exp(-len(members) / COOLING))
    best = max(m.gain for m in members)
    return rng.choices(members, [math.exp((m.gain - best) / temperature) for m in members])[0]


def _cross(view: View, parent: Member, elites: Sequence[Member], rng: random.Random) -> Proposal | None:
    """Steps of another elite on this parent, each where it applies."""
    mates = [m for m in elites if m.steps and m.design_hash != parent.design_hash]
    if not mates:
        return None
    mate = rng.choice(mates)
    wanted = [s for s in mate.steps if s not in parent.steps and rng.random() < 0.7]
    chosen, current = replay(view.design(parent.design_hash), wanted[:LONGEST_CROSSED], view.rules)
    return _made(parent, chosen, current, f"steps of {mate.design_hash[:8]}") if chosen else None


def _made(parent: Member, chosen: Sequence[tuple[Rule, Site]], design: Design, prediction: str) -> Proposal:
    steps = tuple(Step(rule.name, str(site)) for rule, site in chosen)
    same = all(rule.same_matrix_work for rule, _ in chosen)
    return Proposal(parent.design_hash, steps, design, prediction, same)
