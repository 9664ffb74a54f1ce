"""A proposer that needs more of a run than its state, and how a run was divided into rounds.

What a run did is kept in the position of its search: doing the same rounds again, with the same answers from
outside, gives the same candidates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from agent.executor import Executor
from agent.proposer import Factory, Json
from agent.trial import Laboratory

if TYPE_CHECKING:
    from agent.store import SearchStore


@dataclass(frozen=True, slots=True)
class Running:
    """A run, as a companion sees it. `first` is the number of its first exchange if its state names none.

    `stop` says whether the run is to end, and keeps its search alive while it waits.
    """

    store: SearchStore
    executor: Executor
    laboratory: Callable[[], Laboratory]
    stop: Callable[[], bool]
    first: int


class Companion(Protocol):
    """Makes a proposer for a run."""

    def public(self) -> Json:
        """What a replay needs to make the same proposer: plain JSON without secrets."""

    def join(self, running: Running) -> Factory:
        """The factory of the proposer in this run."""


@dataclass(frozen=True, slots=True)
class Script:
    """A run to be done again: places of its rounds, what memory held then, whether it was a new one."""

    sizes: tuple[int, ...]
    memory: Json = field(default_factory=dict)
    fresh: bool = True


def run_entry(
    runs: list[Json],
    names: list[str],
    companion: Companion | None,
    memory: Json,
    fresh: bool,
    next_exchange: int,
) -> Json:
    """A new entry among the runs of a search; `sizes` grows by one with every round."""
    last: Json = runs[-1] if runs else {}
    first = last["first"] if last.get("companion") and not last["sizes"] else next_exchange
    entry: dict[str, Any] = {
        "proposers": names,
        "companion": companion.public() if companion is not None else None,
        "first": first,
        "fresh": fresh,
        "memory": memory if fresh else {},
        "sizes": [],
    }
    runs.append(entry)
    return entry
