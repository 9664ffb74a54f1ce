"""What the verifier answers: a verdict with its reasons and, if accepted, a certificate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mutations.verify.codes import CODES


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a design is refused: a code, the section and value, and what is wrong there."""

    code: str
    where: str
    message: str
    hint: str = ""

    @property
    def advice(self) -> str:
        """What to do instead: the reason's own hint, or that of its code."""
        known = CODES.get(self.code)
        return self.hint or (known.hint if known else "")

    def __str__(self) -> str:
        return f"{self.where}: {self.message} [{self.code}]"


@dataclass(frozen=True, slots=True)
class Verdict:
    """`layers` are those that ran; `false_accept_bound` bounds the chance that a wrong design passes them."""

    accepted: bool
    reasons: tuple[Reason, ...]
    layers: tuple[str, ...]
    false_accept_bound: float
    milliseconds: float
    certificate: dict[str, Any] | None = None

    @property
    def verdict(self) -> str:
        return "accepted" if self.accepted else "refused"
