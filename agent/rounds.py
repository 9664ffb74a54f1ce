"""A round: proposals gathered from several proposers, none of a structure that is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from agent.bandit import Bandit
from agent.problem import identity, structure_of
from agent.proposer import Factory, Json, Proposal, Proposer, Told, View
from agent.registry import STANDARD
from rooflang.design import Design
from rooflang.errors import RoofLangError

EXAMINED = 12
"""Proposals looked at per place in a round, known ones included; then the round begins with what it has."""

MOST_AXES = 4
"""Mesh axes of a candidate, all pools together: each multiplies meshes to sweep and devices to simulate."""

COUNTED = ("examined", "duplicates", "oversized", "unreadable")
"""Counters of a mix: proposals looked at, and those among them that were thrown away, by reason."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A new structure of a round. `parent` is empty for a conventional one."""

    design: Design
    structure_hash: str
    proposer: str
    proposal: Proposal | None = None
    resource: str = ""


def entry(design: Design, proposer: str, proposal: Proposal | None = None, resource: str = "") -> Entry:
    """A structure with its identity. Raises DesignError for a design that has none."""
    plain = structure_of(design)
    return Entry(plain, identity(plain), proposer, proposal, resource)


class Mix:
    """Proposers that share a round; a bandit gives each its places by the frontier gain that it earned.

    Places that one cannot fill go to the others. `leading` ones are asked before all others, for as much as
    they have.
    """

    def __init__(
        self,
        state: Json | None = None,
        factories: Sequence[Factory] = STANDARD,
        seed: int = 0,
        leading: Sequence[Factory] = (),
    ) -> None:
        state = state or {}
        self._leading = tuple(_made(f, state, seed) for f in leading)
        self._others = tuple(_made(f, state, seed) for f in factories)
        self._proposers = (*self._leading, *self._others)
        self._bandit = Bandit([p.name for p in self._others], state.get("bandit"))
        self._kept = dict(state)
        self.examined = 0
        self.duplicates = 0
        self.oversized = 0
        self.unreadable = 0
        self.exhausted = False

    def gather(self, view: View, size: int, known: set[str]) -> list[Entry]:
        """Up to `size` new structures; their hashes are added to `known`."""
        found: list[Entry] = []
        left = size * EXAMINED
        self.exhausted = False
        while not found and left > 0:
            before = left
            found, left, ended = self._asked(view, size, left, known)
            if found or not ended:
                break
            self.exhausted = True
            if left == before:
                break
            for proposer in self._proposers:
                proposer.tell([])  # all that it proposed was known; it may have more
        self.exhausted = self.exhausted and not found
        return found

    def _asked(self, view: View, size: int, left: int, known: set[str]) -> tuple[list[Entry], int, bool]:
        """Everyone asked once: (new structures, proposals that may still be looked at, whether all ended)."""
        found: list[Entry] = []
        dry = 0
        for proposer in self._leading:
            got, left, ended = self._take(proposer, view, size - len(found), left, known)
            found.extend(got)
            dry += int(ended)
        shares = self._bandit.shares(size - len(found), view.heat) if self._others else {}
        for turn in (0, 1):
            for proposer in self._others:
                room = size - len(found)
                wanted = min(shares[proposer.name], room) if turn == 0 else room
                got, left, ended = self._take(proposer, view, wanted, left, known)
                found.extend(got)
                dry += int(turn == 1 and ended)
        return found, left, dry == len(self._proposers)

    def _take(
        self, proposer: Proposer, view: View, wanted: int, left: int, known: set[str]
    ) -> tuple[list[Entry], int, bool]:
        """(new structures, proposals that may still be looked at, whether there are no more)."""
        found: list[Entry] = []
        archive = view.archive
        proposals = proposer.ask(view, wanted)
        while len(found) < wanted and left > 0:
            proposal = next(proposals, None)
            if proposal is None:
                return found, left, True
            left -= 1
            self.examined += 1
            if sum(len(mesh.axes) for mesh in proposal.design.placement.meshes) > MOST_AXES:
                self.oversized += 1
                continue
            try:
                resource = archive[proposal.parent].binding if proposal.parent in archive else ""
                new = entry(proposal.design, proposer.name, proposal, resource)
            except RoofLangError:
                self.unreadable += 1
                continue
            if new.structure_hash in known:
                self.duplicates += 1
                continue
            known.add(new.structure_hash)
            found.append(new)
        return found, left, False

    def counts(self) -> dict[str, int]:
        """Proposals looked at since the last call, and how many of them were thrown away, by reason."""
        found = {name: getattr(self, name) for name in COUNTED}
        for name in COUNTED:
            setattr(self, name, 0)
        return found

    def tell(self, told: Sequence[Told], proposers: Sequence[str]) -> None:
        """Results of a round; `proposers` names who proposed each."""
        for proposer in self._proposers:
            proposer.tell([t for t, name in zip(told, proposers, strict=True) if name == proposer.name])
        earned = dict.fromkeys(proposers, 0.0)
        for item, name in zip(told, proposers, strict=True):
            earned[name] += item.contribution
        self._bandit.learn(Counter(proposers), earned)

    def state(self) -> Json:
        """Of everyone who took part; what a proposer left that does not take part now stays as it was."""
        return self._kept | {p.name: p.state() for p in self._proposers} | {"bandit": self._bandit.state()}


def _made(factory: Factory, state: Json, seed: int) -> Proposer:
    """A proposer with its stored state, which is kept under its name."""
    fresh = factory(None, seed)
    return factory(state[fresh.name], seed) if fresh.name in state else fresh
