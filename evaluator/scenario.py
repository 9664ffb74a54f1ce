"""The workload around a step: context, drafting, routing."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, dataclass

from evaluator.errors import ScenarioError
from evaluator.routing import Skew

FIRST_ACCEPTANCE = 0.7
NEXT_ACCEPTANCE_FACTOR = 0.9
LONGEST = 10**9  # tokens of a context or a length: beyond every model, and exact as a float
ROUTINGS = ("balanced", "uniform", "certain")


@dataclass(frozen=True, slots=True)
class Scenario:
    """Decode at `context` cached tokens per sequence.

    `acceptance` lists the chance that each drafted token is accepted, given that all before it were; the
    default is 0.7 for the first and 0.9 of the previous one's for each further. `routing` is `balanced`,
    `uniform`, or `certain`, which counts only what any routing must touch (to hold a bound against a
    measurement of unknown routing); None takes `balanced` for the physical bound and `uniform` for the
    prediction. `zipf:s` gives the e-th most popular expert a share proportional to e^-s, and `given` takes
    `frequencies`, one per expert in any order and unit. The first `prefix` tokens are shared by groups of
    `sharers` sequences: their rows of caches are stored once per group.
    """

    context: int = 8192
    acceptance: tuple[float, ...] | None = None
    routing: str | None = None
    frequencies: tuple[float, ...] | None = None
    prefix: int = 0
    sharers: int = 1

    def __post_init__(self) -> None:
        if self.context < 1:
            raise ScenarioError(f"a context must be at least 1 token, but got {self.context}")
        if self.context > LONGEST:
            raise ScenarioError(f"a context must be at most {LONGEST:,} tokens, but got more; lower it")
        if not 0 <= self.prefix < self.context:
            raise ScenarioError(
                f"a shared prefix must be shorter than the context of {self.context} tokens, but got "
                f"{self.prefix}"
            )
        if self.sharers < 1:
            raise ScenarioError(f"a prefix must be shared by at least 1 sequence, but got {self.sharers}")
        if self.routing not in (None, *ROUTINGS, "given") and self._exponent is None:
            raise ScenarioError(
                f"routing must be one of {', '.join(ROUTINGS)}, given, or zipf:s with an s of at least 0, "
                f"but got {self.routing!r}"
            )
        if (self.routing == "given") != (self.frequencies is not None):
            raise ScenarioError("routing must be given exactly where frequencies of experts are")
        given = self.frequencies if self.frequencies is not None else (1.0,)
        if not all(math.isfinite(f) and f >= 0 for f in given) or not sum(given):
            raise ScenarioError("frequencies of experts must be at least 0, and one of them more")
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
    def skew(self) -> Skew | None:
        """Popularities of experts, where they are not alike."""
        if self.frequencies is not None:
            return Skew(frequencies=self.frequencies)
        return None if self._exponent is None else Skew(self._exponent)

    @property
    def _exponent(self) -> float | None:
        name, _, value = (self.routing or "").partition(":")
        try:
            found = float(value) if name == "zipf" else -1.0
        except ValueError:
            return None
        return found if 0 <= found < math.inf else None

    @property
    def hash(self) -> str:
        """SHA-256 of the scenario's facts."""
        defaults = {"frequencies": None, "prefix": 0, "sharers": 1}
        facts = {k: v for k, v in asdict(self).items() if k not in defaults or v != defaults[k]}
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
