"""Plays a plan, entry by entry, and then has nothing more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import partial

from agent.archive import Member
from agent.plan import Line, Plan
from agent.proposer import Factory, Json, Proposal, Told, View, apply_steps
from mutations.rule import Rule, Site
from rooflang.parser import parse


def scripted(plan: Plan) -> Factory:
    """The factory of a proposer that plays a plan, for `search(..., proposers=[scripted(plan)])`."""
    return partial(Scripted, plan)


class Scripted:
    """State: which plan, which entry, what of it is left, and whether results are awaited.

    An entry on other than conventional structures begins when the results of those before it are known.
    Sites are looked for by name when a proposal is due, so a state outlives a change of rules.
    """

    name = "plan"

    def __init__(self, plan: Plan, state: Json | None = None, seed: int = 0) -> None:
        self._plan = plan
        state = state if state and state.get("plan") == plan.digest else {}
        self._at = int(state.get("at", 0))
        parents = state.get("parents")
        self._parents: list[str] | None = None if parents is None else list(parents)
        self._site = int(state.get("site", 0))
        self._waiting = bool(state.get("waiting", False))

    def ask(self, view: View, budget: int) -> Iterator[Proposal]:
        while self._at < len(self._plan.lines):
            line = self._plan.lines[self._at]
            if self._parents is None:
                if self._waiting and line.on != "conventional":
                    return  # until results are told
                self._parents = [] if line.text else [m.design_hash for m in _members(view, line.on)]
                if line.text:
                    self._waiting = True
                    yield Proposal("", (), parse(line.text), "a design of the plan")
            while self._parents:
                proposal = self._next(view, line, self._parents)
                if proposal is not None:
                    self._waiting = True
                    yield proposal
            self._at, self._parents, self._site = self._at + 1, None, 0

    def _next(self, view: View, line: Line, parents: list[str]) -> Proposal | None:
        """The proposal of the next site of the first parent, which is dropped when it has no more."""
        name = parents[0]
        design = view.design(name)
        if not line.every:
            parents.pop(0)
            return _in_turn(view, name, line)
        ((rule_name, pattern),) = line.rules
        rule = _rule(view, rule_name)
        sites = [s for s in rule.sites(design) if fnmatchcase(str(s), pattern)] if rule else []
        if rule is None or self._site >= len(sites):
            parents.pop(0)
            self._site = 0
            return None
        self._site += 1
        return apply_steps(design, [(rule, sites[self._site - 1])], name, "as planned")

    def tell(self, told: Sequence[Told]) -> None:
        self._waiting = False

    def state(self) -> Json:
        return {
            "plan": self._plan.digest,
            "at": self._at,
            "parents": None if self._parents is None else list(self._parents),
            "site": self._site,
            "waiting": self._waiting,
        }


def _members(view: View, on: str) -> list[Member]:
    members = view.archive.members()
    if on == "conventional":
        return [m for m in members if not m.steps]
    if on == "best":
        return sorted(members, key=lambda m: (-m.gain, m.sequence))[:1]
    if on == "frontier":
        names = {p.design for p in view.archive.frontier}
        return [m for m in members if m.design_hash in names]
    return list(members)


def _in_turn(view: View, name: str, line: Line) -> Proposal | None:
    """Rules in turn, each at the first site that matches; None where one has none."""
    from rooflang.errors import RoofLangError

    design = view.design(name)
    chosen: list[tuple[Rule, Site]] = []
    for rule_name, pattern in line.rules:
        rule = _rule(view, rule_name)
        site = next((s for s in rule.sites(design) if fnmatchcase(str(s), pattern)), None) if rule else None
        if rule is None or site is None:
            return None
        try:
            design = rule.apply(design, site)
        except RoofLangError:
            return None
        chosen.append((rule, site))
    return apply_steps(view.design(name), chosen, name, "as planned")


def _rule(view: View, name: str) -> Rule | None:
    return next((rule for rule in view.rules if rule.name == name), None)
