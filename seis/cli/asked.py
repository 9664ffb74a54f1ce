"""What the options of an operating point say; None where the user left the choice to us."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

SEQUENCES_PER_DEVICE = 64
"""The batch where none is given; in a step of prefill it is one prompt per device."""

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
    chunk: int | None = None  # tokens of each prompt, in a step of prefill
    structure: str | None = None  # a conventional placement of a model, by its title
    pools: Mapping[str, str] | None = None  # devices by pool, of a design with several

    @property
    def sequences(self) -> int:
        """Sequences per device where no batch is given."""
        return SEQUENCES_PER_DEVICE if self.chunk is None else 1

    @property
    def queries(self) -> float | None:
        """Query tokens of each sequence in a step of prefill."""
        return None if self.chunk is None else float(self.chunk)

    def degree(self, name: str) -> int | None:
        return (self.degrees or {}).get(name)
