"""Who gets the places of a round: an upper-confidence bandit, paid by frontier gain per place."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from agent.proposer import Json

EXPLORATION = 0.5
"""Weight of what is not known yet against what was earned."""

MEMORY = 0.9
"""What a round leaves of the counts before it: a proposer that has dried up loses its places."""


class Bandit:
    """Counts places taken and gain earned per proposer, both fading. State is plain JSON."""

    def __init__(self, names: Sequence[str], state: Json | None = None) -> None:
        state = state or {}
        self._names = tuple(names)
        self._taken: dict[str, float] = {n: float(state.get("taken", {}).get(n, 0.0)) for n in names}
        self._earned: dict[str, float] = {n: float(state.get("earned", {}).get(n, 0.0)) for n in names}

    def shares(self, places: int, heat: float = 1.0) -> dict[str, int]:
        """How many of a round's places each proposer gets; they add up to `places`.

        More `heat` divides them more evenly.
        """
        taken = dict(self._taken)
        given = dict.fromkeys(self._names, 0)
        scale = max((self._mean(n) for n in self._names), default=0.0) or 1.0
        weight = heat * EXPLORATION
        for _ in range(places):
            total = sum(taken.values())
            best = max(
                self._names,
                key=lambda n: (
                    self._mean(n) / scale + weight * math.sqrt(math.log(total + 2) / (taken[n] + 1)),
                    -self._names.index(n),
                ),
            )
            given[best] += 1
            taken[best] += 1
        return given

    def learn(self, places: Mapping[str, int], earned: Mapping[str, float]) -> None:
        """A round's places and its gain of hypervolume by proposer."""
        for name in self._names:
            self._taken[name] = MEMORY * self._taken[name] + places.get(name, 0)
            self._earned[name] = MEMORY * self._earned[name] + earned.get(name, 0.0)

    def state(self) -> Json:
        return {"taken": dict(self._taken), "earned": dict(self._earned)}

    def _mean(self, name: str) -> float:
        return self._earned[name] / max(self._taken[name], 1.0)
