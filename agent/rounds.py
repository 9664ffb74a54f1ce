"""A round: proposals gathered from several proposers, none of a structure that is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent.archive import Archive
from agent.bandit import Bandit
from agent.bottleneck import Bottleneck
from agent.evolutionary import Evolutionary
from agent.exhaustive import Exhaustive
from agent.problem import identity, structure_of
from agent.proposer import Json, Proposal, Proposer, Told, View
from rooflang.design import Design
from rooflang.errors import RoofLangError

EXAMINED = 12
"""Proposals looked at per place in a round, known ones included; then the round begins with what it has."""

MOST_AXES = 4
"""Mesh axes of a candidate, all pools together: each multiplies meshes to sweep and devices to simulate."""


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

    Places that one cannot fill go to the others. With `names`, only those take part.
    """

    def __init__(
        self,
        state: Json | None = None,
        proposers: Sequence[Proposer] | None = None,
        seed: int = 0,
        names: Sequence[str] | None = None,
    ) -> None:
        state = state or {}
        every = tuple(
            proposers
            if proposers is not None
            else (
                Bottleneck(state.get("bottleneck")),
                Exhaustive(state.get("exhaustive")),
                Evolutionary(state.get("evolutionary"), seed),
            )
        )
        self._proposers = tuple(p for p in every if names is None or p.name in names)
        self._bandit = Bandit([p.name for p in self._proposers], state.get("bandit"))
        self.duplicates = 0
        self.oversized = 0
        self.exhausted = False

    def gather(self, view: View, size: int, known: set[str]) -> list[Entry]:
        """Up to `size` new structures; their hashes are added to `known`."""
        found: list[Entry] = []
        left = size * EXAMINED
        shares = self._bandit.shares(size)
        dry = 0
        for turn in (0, 1):
            for proposer in self._proposers:
                wanted = min(shares[proposer.name] if turn == 0 else size, size - len(found))
                got, left, ended = self._take(
                    proposer.ask(view, wanted), proposer.name, wanted, left, view.archive, known
                )
                found.extend(got)
                dry += int(turn == 1 and ended)
        self.exhausted = not found and dry == len(self._proposers)
        return found

    def _take(
        self,
        proposals: Iterator[Proposal],
        name: str,
        wanted: int,
        left: int,
        archive: Archive,
        known: set[str],
    ) -> tuple[list[Entry], int, bool]:
        """(new structures, proposals that may still be looked at, whether there are no more)."""
        found: list[Entry] = []
        while len(found) < wanted and left > 0:
            proposal = next(proposals, None)
            if proposal is None:
                return found, left, True
            left -= 1
            if sum(len(mesh.axes) for mesh in proposal.design.placement.meshes) > MOST_AXES:
                self.oversized += 1
                continue
            try:
                new = entry(proposal.design, name, proposal, archive[proposal.parent].binding)
            except RoofLangError:
                continue
            if new.structure_hash in known:
                self.duplicates += 1
                continue
            known.add(new.structure_hash)
            found.append(new)
        return found, left, False

    def tell(self, told: Sequence[Told], proposers: Sequence[str]) -> None:
        """Results of a round; `proposers` names who proposed each."""
        for proposer in self._proposers:
            proposer.tell([t for t, name in zip(told, proposers, strict=True) if name == proposer.name])
        earned = dict.fromkeys(proposers, 0.0)
        for item, name in zip(told, proposers, strict=True):
            earned[name] += item.contribution
        self._bandit.learn(Counter(proposers), earned)

    def state(self) -> Json:
        return {p.name: p.state() for p in self._proposers} | {"bandit": self._bandit.state()}
