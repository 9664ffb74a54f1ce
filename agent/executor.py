"""Where work runs: a function over items, answers in the order of the items, and nothing lost.

Every implementation passes one suite of tests. An item whose function raises, or whose process dies, gives
a `Failure`; the others are not touched by it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Failure:
    """An item without an answer: `reason` is a code (raised, worker_died), `detail` a sentence."""

    reason: str
    detail: str


class Executor(Protocol):
    """Runs a module-level function over items, on one or several processors."""

    workers: int

    def map(
        self,
        function: Callable[[Any, Item], Answer],
        context: object,
        items: Sequence[Item],
        done: Callable[[int], None] | None = None,
    ) -> list[Answer | Failure]:
        """`function(context, item)` for every item, in order; `done(position)` as each is ready.

        `done` is called by the caller's own thread.
        """

    def close(self) -> None:
        """Let go of processes; the executor must not be used afterwards."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def attempt(function: Callable[[Any, Item], Answer], context: object, item: Item) -> Answer | Failure:
    """The answer, or what the function raised as a Failure. A KeyboardInterrupt passes."""
    try:
        return function(context, item)
    except Exception as error:
        return Failure("raised", f"{type(error).__name__}: {error}"[:2000])


class InlineExecutor:
    """Everything in the calling process, one after the other."""

    workers = 1

    def map(
        self,
        function: Callable[[Any, Item], Answer],
        context: object,
        items: Sequence[Item],
        done: Callable[[int], None] | None = None,
    ) -> list[Answer | Failure]:
        answers = []
        for position, item in enumerate(items):
            answers.append(attempt(function, context, item))
            if done is not None:
                done(position)
        return answers

    def close(self) -> None:
        """Nothing to let go of."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def executor_for(workers: int) -> Executor:
    """Inline for one worker, else that many processes."""
    if workers <= 1:
        return InlineExecutor()
    from agent.processes import ProcessExecutor

    return ProcessExecutor(workers)
