"""Structures as vectors, for optimizers that know nothing of them.

A structure is a conventional one and up to SLOTS steps. Every slot has a switch, a rule, and a number in
[0, 1) that picks one of the sites that the rule has by then; a rule without a site there does nothing. Any
slots of two structures can be exchanged, so NSGA-II can cross them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from agent.archive import Member
from agent.problem import identity, structure_of
from agent.proposer import Factory, Json, Proposal, Told, View, sites_of
from agent.rounds import MOST_AXES
from agent.steps import Step
from mutations.rule import Rule, Site
from rooflang.canonical import design_hash
from rooflang.design import Design
from rooflang.errors import RoofLangError

SLOTS = 8
DRAWS = 8
"""Vectors asked per place of a round, known structures included; then a run may end."""

LEVELS = (1 / 6, 1 / 2, 5 / 6)
"""Where between the ends of the baseline's interactivity, in log scale, throughput is an objective."""

WORST = (0.0,) * len(LEVELS)


class Slots:
    """Asks an Optuna study for vectors; objectives are log throughput per device at LEVELS.

    A structure that is known is told its objectives at once and is no evaluation. The study is no JSON, so a
    run of this cannot be stopped and continued.
    """

    def __init__(self, name: str, sampler: Any) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self.name = name
        self._study = optuna.create_study(directions=["maximize"] * len(LEVELS), sampler=sampler)
        self._objectives: dict[str, tuple[float, ...]] = {}
        self._waiting: dict[str, list[Any]] = {}
        self._view: View | None = None

    def ask(self, view: View, budget: int) -> Iterator[Proposal]:
        self._view = view
        roots = [m for m in view.archive.members() if not m.parent]
        rules = {r.name: r for r in view.rules if r.exact}
        if not self._objectives:
            for number, root in enumerate(roots):  # every optimizer begins with what all are given
                self._objectives[root.structure_hash] = self._values(root)
                self._study.enqueue_trial({"root": number} | {f"on{i}": False for i in range(SLOTS)})
        for _ in range(DRAWS * max(budget, 1)):
            trial = self._study.ask()
            parent, done, design = _decoded(trial, roots, rules, view)
            key = _key(design)
            if key is None or key in self._objectives:
                self._study.tell(trial, self._objectives.get(key or "", WORST))
                continue
            self._waiting.setdefault(key, []).append(trial)
            if len(self._waiting[key]) == 1:
                steps = tuple(Step(rule.name, str(site)) for rule, site in done)
                same = all(rule.same_matrix_work for rule, _ in done)
                yield Proposal(parent.design_hash, steps, design, "", same)

    def tell(self, told: Sequence[Told]) -> None:
        for item in told:
            plain = structure_of(item.proposal.design)
            values = WORST
            if item.status == "accepted" and self._view is not None:
                values = self._values(self._view.archive[design_hash(plain)])
            key = identity(plain)
            self._objectives[key] = values
            for trial in self._waiting.pop(key, ()):
                self._study.tell(trial, values)

    def state(self) -> Json:
        return {}

    def _values(self, member: Member) -> tuple[float, ...]:
        if self._view is None:
            return WORST
        speeds = [math.log(p.tokens_per_second_per_user) for p in self._view.archive.baseline]
        low, high = min(speeds), max(speeds)
        found = []
        for level in LEVELS:
            wanted = low + level * (high - low)
            reach = (
                p.tokens_per_second_per_gpu
                for p in member.points
                if math.log(p.tokens_per_second_per_user) >= wanted
            )
            found.append(math.log(max(1.0, max(reach, default=1.0))))
        return tuple(found)


def _decoded(
    trial: Any, roots: Sequence[Member], rules: dict[str, Rule], view: View
) -> tuple[Member, list[tuple[Rule, Site]], Design]:
    parent = roots[trial.suggest_categorical("root", range(len(roots)))]
    design = view.design(parent.design_hash)
    done: list[tuple[Rule, Site]] = []
    for slot in range(SLOTS):
        switched = trial.suggest_categorical(f"on{slot}", (False, True))
        rule = rules[trial.suggest_categorical(f"rule{slot}", tuple(rules))]
        place = trial.suggest_float(f"site{slot}", 0.0, 1.0)
        sites = sites_of(rule, design) if switched else ()
        if not sites:
            continue
        site = sites[min(int(place * len(sites)), len(sites) - 1)]
        try:
            design = rule.apply(design, site)
        except RoofLangError:
            continue
        done.append((rule, site))
    return parent, done, design


def _key(design: Design) -> str | None:
    """What a structure is known by; None if a search would not try it."""
    try:
        plain = structure_of(design)
        return None if sum(len(m.axes) for m in plain.placement.meshes) > MOST_AXES else identity(plain)
    except RoofLangError:
        return None


def factory(name: str, sampler: Callable[[int], Any]) -> Factory:
    """A proposer of this name with a sampler made from the seed of the search."""

    def make(state: Json | None, seed: int) -> Slots:
        return Slots(name, sampler(seed))

    return make


def nsga2(population: int) -> Factory:
    """NSGA-II with Optuna's defaults but the size of the population."""

    def sampler(seed: int) -> Any:
        from optuna.samplers import NSGAIISampler

        return NSGAIISampler(population_size=population, seed=seed)

    return factory("nsga2", sampler)


def random_search() -> Factory:
    """Every component of the vector at random."""

    def sampler(seed: int) -> Any:
        from optuna.samplers import RandomSampler

        return RandomSampler(seed=seed)

    return factory("random", sampler)
