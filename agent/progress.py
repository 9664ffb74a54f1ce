"""What a search reports while it runs, and how it is told to stop."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Any, Self, TypeAlias

from agent.errors import ProblemError


@dataclass(frozen=True, slots=True)
class Budget:
    """How far one run goes. `structures` decides where it ends; `seconds` only stops it between rounds.

    A run of a finished search adds `structures` to those tried. One that continues an interrupted run counts
    from where that one began, so that a larger budget goes further; of a smaller one it tries no more. Raises
    ProblemError for less than nothing.
    """

    structures: int = 100
    seconds: float | None = None
    round_size: int = 24

    def __post_init__(self) -> None:
        for name, least in (("structures", 0), ("round_size", 1)):
            if getattr(self, name) < least:
                raise ProblemError(
                    f"a budget must have {name} of at least {least}, but got {getattr(self, name)}; give more"
                )


@dataclass(frozen=True, slots=True)
class Progress:
    """One event: `phase` is baseline or search; `structures` of `target` are done, of the whole search.

    `quiet` is how many structures were tried since the frontier last grew.
    """

    phase: str
    round: int
    structures: int
    target: int
    accepted: int
    refused: int
    failed: int
    points: int
    best_gain: float
    seconds: float
    quiet: int = 0


Listener: TypeAlias = Callable[[Progress], None]


class Interruption:
    """Turns the first Ctrl-C into a wish to stop after the round; the second one interrupts at once."""

    def __init__(self) -> None:
        self.wanted = False
        self._before: Any = None
        self._set = False

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._on_signal)
            self._set = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._set:
            signal.signal(signal.SIGINT, self._before)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.wanted:
            raise KeyboardInterrupt
        self.wanted = True
