"""What the options of an operating point say; None where the user left the choice to us."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

SEQUENCES_PER_DEVICE = 64
"""The batch where none is given."""

DEGREES = ("tp", "dp", "ep", "pp", "cp")


@dataclass(frozen=True, slots=True)
class Asked:
    """The options as given; None where the user left it to us."""

    device: str | None = None
    count: int | None = None
    context: int = 8192
    batch: int | None = None
    degrees: Mapping[str, int | None] | None = None
    axes: Mapping[str, int] | None = None
    replicas: int | None = None
    microbatches: int | None = None
    drafted: int = 0
    setting: str = "achievable"

    def degree(self, name: str) -> int | None:
        return (self.degrees or {}).get(name)
