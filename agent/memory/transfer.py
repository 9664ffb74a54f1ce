"""Plays structures that similar searches found, before anything else is tried.

Those of the same model are taken as they are: a certificate belongs to a structure and its reference, so it
stands, and only the evaluation is new. Of another model of the family, the steps are repeated on the
conventional structure of the same name, where they apply, and everything is verified.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent.archive import Member
from agent.memory.graft import graft, steps_of
from agent.proposer import Json, Proposal, Told, View


class Transfer:
    """State: what is left to play."""

    name = "memory"

    def __init__(self, state: Json | None = None, seed: int = 0) -> None:
        self._queue: list[Json] = list((state or {}).get("queue", []))

    def ask(self, view: View, budget: int) -> Iterator[Proposal]:
        while self._queue:
            item = self._queue.pop(0)
            made = _taken(view, item) if item["same_model"] else _regrown(view, item)
            if made is not None:
                yield made

    def tell(self, told: Sequence[Told]) -> None:
        """Nothing to learn: what is played was found elsewhere."""

    def state(self) -> Json:
        return {"queue": list(self._queue)}


def _taken(view: View, item: Json) -> Proposal | None:
    from db import NotFoundError

    try:
        design = view.design(item["design"])
    except NotFoundError:
        return None
    parent = item["root"] if item["root"] in view.archive else ""
    prediction = f"helped in search {item['search'][:8]}"
    return Proposal(parent, steps_of(item), design, prediction, item["same_matrix_work"])


def _regrown(view: View, item: Json) -> Proposal | None:
    root = _root(view, item["root_name"])
    return None if root is None else graft(view, root, item)


def _root(view: View, name: str) -> Member | None:
    """The conventional member whose name is that one's but for the model, or else the best one."""
    roots = [m for m in view.archive.members() if not m.depth and not m.steps]
    wanted = name.partition(": ")[2]
    alike = [m for m in roots if view.design(m.design_hash).name.partition(": ")[2] == wanted]
    return max(alike or roots, key=lambda m: (m.gain, -m.sequence), default=None)
