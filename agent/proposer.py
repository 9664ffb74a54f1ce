"""What a proposer is: it is asked for structures to try and told what became of them.

A proposer holds no state but plain JSON, which the search stores with every round: made again from that
state it goes on as if it had never stopped. It must be deterministic. `agent.testing` holds one to this.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from agent.archive import Archive
from agent.steps import Step
from mutations.rule import Rule, Site
from rooflang.design import Design
from rooflang.errors import RoofLangError

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Proposal:
    """A design made from a parent by rules in turn. `prediction` says in words what it should do.

    `parent` is the hash of a member of the archive, or empty for a design that was not made from one.

    `same_matrix_work` is false when a rule declares that it changes the matrix FLOPs; `positions` are the
    proposer's own note.
    """

    parent: str
    steps: tuple[Step, ...]
    design: Design
    prediction: str
    same_matrix_work: bool = True
    positions: tuple[int, ...] = ()

    @property
    def rule(self) -> str:
        return " + ".join(step.rule for step in self.steps)

    @property
    def site(self) -> str:
        return " + ".join(step.site for step in self.steps)


@dataclass(frozen=True, slots=True)
class Told:
    """What became of a proposal. `change` is its gain less its parent's; 0 unless it was accepted.

    `improved` says that it beats its parent or extends the frontier; `contribution` is the hypervolume that
    it added to the joint frontier.
    """

    proposal: Proposal
    status: str
    change: float
    improved: bool
    contribution: float = 0.0


Prior: TypeAlias = Callable[[str, str], tuple[float, float]]
"""(rule, resource) -> (trials, sum of gains) that other searches had with a rule where a resource binds."""


def no_prior(rule: str, resource: str) -> tuple[float, float]:
    """Nothing is known from elsewhere."""
    return 0.0, 0.0


@dataclass(frozen=True, slots=True)
class View:
    """What a proposer may read: the archive, the rules, and by a member's hash its design and its choices.

    Choices are every exact rule at every site of the design, in a fixed order. `prior` is what memory holds
    of rules; `heat` is 1, and more where the search stagnates and should vary more widely.
    """

    archive: Archive
    rules: Sequence[Rule]
    design: Callable[[str], Design]
    choices: Callable[[str], Sequence[tuple[Rule, Site]]]
    prior: Prior = no_prior
    heat: float = 1.0


class Proposer(Protocol):
    """One way of making candidates; see the module's text."""

    name: str

    def ask(self, view: View, budget: int) -> Iterator[Proposal]:
        """Proposals one by one; the search takes up to `budget` new ones and throws known ones away.

        What was taken counts as proposed, so the state must move with every proposal that is yielded.
        """

    def tell(self, told: Sequence[Told]) -> None:
        """What became of the proposals of a round, in the order of proposal."""

    def state(self) -> Json:
        """Plain JSON from which the proposer can be made again."""


Factory: TypeAlias = Callable[[Json | None, int], Proposer]
"""(state or None, seed of the search) -> a proposer; a class whose `__init__` takes both is one."""

ALIKE = 0.5
"""Share of the words of two sites together that both have, from which a step may move between them."""


def sites_of(rule: Rule, design: Design) -> Sequence[Site]:
    """Where a rule applies to a design that no one has checked yet; nowhere if it cannot be lowered."""
    try:
        return rule.likely_sites(design)
    except RoofLangError:
        return ()


def apply_steps(
    design: Design, choices: Sequence[tuple[Rule, Site]], parent: str, prediction: str
) -> Proposal | None:
    """The proposal that rules in turn make of a design; None where a later one no longer applies."""
    for number, (rule, site) in enumerate(choices):
        if number and site not in sites_of(rule, design):
            return None
        try:
            design = rule.apply(design, site)
        except RoofLangError:
            return None
    steps = tuple(Step(rule.name, str(site)) for rule, site in choices)
    return Proposal(parent, steps, design, prediction, all(rule.same_matrix_work for rule, _ in choices))


def replay(
    design: Design, steps: Sequence[Step], rules: Sequence[Rule], *, alike: bool = False
) -> tuple[list[tuple[Rule, Site]], Design]:
    """Steps by their names on another design, where they still apply: (those that did, what they make).

    With `alike`, a step whose site the design lacks is done at the site of the same target that is most like
    it, which names of another model's sections and values need.
    """
    known = {rule.name: rule for rule in rules}
    done: list[tuple[Rule, Site]] = []
    for step in steps:
        rule = known.get(step.rule)
        site = _site_of(step, sites_of(rule, design), alike) if rule else None
        if rule is None or site is None:
            continue
        try:
            design = rule.apply(design, site)
        except RoofLangError:
            continue
        done.append((rule, site))
    return done, design


def _site_of(step: Step, sites: Sequence[Site], alike: bool) -> Site | None:
    exact = next((s for s in sites if str(s) == step.site), None)
    if exact is not None or not alike:
        return exact
    wanted = _words(step.site)
    near = [(len(wanted & words) / len(wanted | words), s) for s in sites if (words := _words(str(s)))]
    share, best = max(near, key=lambda pair: pair[0], default=(0.0, None))
    same_target = best is not None and best.target == step.site.partition("(")[0]
    return best if same_target and share >= ALIKE else None


def _words(site: str) -> frozenset[str]:
    return frozenset(re.findall(r"[\w.]+", site))


def choices_of(rules: Sequence[Rule], design: Design) -> list[tuple[Rule, Site]]:
    """Every rule at every likely site of a design, in order."""
    return [(rule, site) for rule in rules if rule.exact for site in rule.likely_sites(design)]
