"""Lineages that similar searches found, on members that they did not grow on.

With other devices, counts or contexts the same steps help, but often from another conventional structure, or
on top of other steps. Steps that a member has, or that do not apply to it, are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent.archive import Member
from agent.proposer import Json, Proposal, Told, View, replay
from agent.steps import Step

DIGITS = 16

PATIENCE = 12
"""Structures in a row that may add next to nothing to the frontier; then others have more to give."""

WORTH = 0.05
"""Share of all that grafts added so far that one must add to count."""


class Graft:
    """Tries pairs of a member and a lineage: the better both are placed together, the sooner.

    State: the lineages, best first, the pairs that were tried, what they added to the frontier's hypervolume,
    and how many in a row added next to nothing.
    """

    name = "graft"

    def __init__(self, state: Json | None = None, seed: int = 0) -> None:
        state = state or {}
        self._lineages: list[Json] = list(state.get("lineages", []))
        self._tried: dict[str, None] = dict.fromkeys(state.get("tried", []))
        self._earned = float(state.get("earned", 0.0))
        self._vain = int(state.get("vain", 0))

    def ask(self, view: View, budget: int) -> Iterator[Proposal]:
        if self._vain >= PATIENCE:
            return
        members = view.archive.promising()
        pairs = ((m, n) for m in range(len(members)) for n in range(len(self._lineages)))
        for m, n in sorted(pairs, key=lambda pair: (sum(pair), pair)):
            name = f"{members[m].design_hash[:DIGITS]}/{n}"
            if name not in self._tried:
                self._tried[name] = None
                made = graft(view, members[m], self._lineages[n])
                if made is not None:
                    yield made

    def tell(self, told: Sequence[Told]) -> None:
        for item in told:
            self._earned += item.contribution
            counts = item.contribution > WORTH * self._earned
            self._vain = 0 if counts else self._vain + 1

    def state(self) -> Json:
        return {
            "lineages": list(self._lineages), "tried": list(self._tried), "earned": self._earned,
            "vain": self._vain,
        }  # fmt: skip


def graft(view: View, member: Member, lineage: Json) -> Proposal | None:
    """A member with those steps of a lineage that it lacks and that apply; None if there are none."""
    missing = [s for s in steps_of(lineage) if s not in member.steps]
    done, design = replay(view.design(member.design_hash), missing, view.rules, alike=True)
    if not done:
        return None
    steps = tuple(Step(rule.name, str(site)) for rule, site in done)
    same = all(rule.same_matrix_work for rule, _ in done)
    prediction = f"helped in search {lineage['search'][:8]}"
    return Proposal(member.design_hash, steps, design, prediction, same)


def steps_of(lineage: Json) -> tuple[Step, ...]:
    """The steps of a stored lineage."""
    return tuple(Step(**s) for s in lineage["steps"])
