"""The workload around a step: context, drafting, routing."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

from evaluator.errors import ScenarioError

FIRST_ACCEPTANCE = 0.7
NEXT_ACCEPTANCE_FACTOR = 0.9
ROUTINGS = ("balanced", "uniform", "certain")


@dataclass(frozen=True, slots=True)
class Scenario:
    """Decode at `context` cached tokens per sequence.

    `acceptance` lists the chance that each drafted token is accepted, given that all before it were; the
    default is 0.7 for the first and 0.9 of the previous one's for each further. `routing` is `balanced`,
    `uniform`, or `certain`, which counts only what any routing must touch (to hold a bound against a
    measurement of unknown routing); None takes `balanced` for the physical bound and `uniform` for the
    prediction.
    """

    context: int = 8192
    acceptance: tuple[float, ...] | None = None
    routing: str | None = None

    def __post_init__(self) -> None:
        if self.context < 1:
            raise ScenarioError(f"a context must be at least 1 token, but got {self.context}")
        if self.routing not in (None, *ROUTINGS):
            raise ScenarioError(f"routing must be one of {', '.join(ROUTINGS)}, but got {self.routing!r}")
        for chance in self.acceptance or ():
            if not 0 <= chance <= 1:
                raise ScenarioError(f"an acceptance must be between 0 and 1, but got {chance}")

    def chance(self, position: int) -> float:
        """Acceptance of the drafted token at this position (from 0), given all before it."""
        if self.acceptance is not None:
            return self.acceptance[position] if position < len(self.acceptance) else 0.0
        return float(FIRST_ACCEPTANCE * NEXT_ACCEPTANCE_FACTOR**position)

    def emitted(self, drafted: int) -> float:
        """Expected tokens per step with this many drafted tokens (the verified one included)."""
        total, reached = 1.0, 1.0
        for position in range(drafted):
            reached *= self.chance(position)
            total += reached
        return total

    def routing_of(self, setting: str) -> str:
        return self.routing or ("balanced" if setting == "physical" else "uniform")

    @property
    def hash(self) -> str:
        """SHA-256 of the scenario's facts."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()
