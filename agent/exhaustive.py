"""Every rule at every site of every archive member, the oldest member first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent.proposer import Json, Proposal, Told, View, apply_steps


class Exhaustive:
    """Breadth first over neighbourhoods. State: how far each open member is; `closed` members are done."""

    name = "exhaustive"

    def __init__(self, state: Json | None = None, seed: int = 0) -> None:
        state = state or {}
        self._next: dict[str, int] = dict(state.get("next", {}))
        self._closed: dict[str, None] = dict.fromkeys(state.get("closed", []))

    def ask(self, view: View, budget: int) -> Iterator[Proposal]:
        for member in view.archive.breadth_first():
            if member.design_hash in self._closed:
                continue
            design = view.design(member.design_hash)
            choices = view.choices(member.design_hash)
            while (position := self._next.get(member.design_hash, 0)) < len(choices):
                self._next[member.design_hash] = position + 1
                rule, site = choices[position]
                proposal = apply_steps(design, [(rule, site)], member.design_hash, rule.delta)
                if proposal is not None:
                    yield proposal
            self._next.pop(member.design_hash, None)
            self._closed[member.design_hash] = None

    def tell(self, told: Sequence[Told]) -> None:
        """Nothing to learn: the order does not depend on results."""

    def state(self) -> Json:
        return {"next": dict(self._next), "closed": list(self._closed)}
