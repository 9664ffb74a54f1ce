"""Work that takes longer than a page should: begun once, kept when done, asked for again meanwhile."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from server.compute import Compute
from server.problems import Refusal

PATIENCE_SECONDS = 0.9
"""How long a page waits before it is shown without the result."""
MOST = 256


@dataclass(frozen=True, slots=True)
class Answer:
    """`state` is ready, pending or refused."""

    state: str
    value: Any = None
    problem: dict[str, Any] | None = None


PENDING = Answer("pending")


class Later:
    """Results by key, the last used ones kept; refusals are not kept once they were shown."""

    def __init__(self) -> None:
        self._done: OrderedDict[Hashable, Answer] = OrderedDict()
        self._tasks: dict[Hashable, asyncio.Task[Answer]] = {}

    async def get(
        self,
        compute: Compute,
        key: Hashable,
        function: Callable[[Any], Any],
        argument: Any,
        patience: float = PATIENCE_SECONDS,
    ) -> Answer:
        """The result of `function(argument)` in another process, or PENDING after `patience` seconds."""
        found = self._done.get(key)
        if found is not None:
            self._done.move_to_end(key)
            return found
        task = self._tasks.get(key)
        if task is None:
            task = self._tasks[key] = asyncio.create_task(self._run(compute, key, function, argument))
        try:
            return await asyncio.wait_for(asyncio.shield(task), patience)
        except TimeoutError:
            return PENDING

    async def _run(self, compute: Compute, key: Hashable, function: Any, argument: Any) -> Answer:
        try:
            value = await compute.run(function, argument)
        except Refusal as refusal:
            answer = Answer("refused", problem=refusal.document())
            asyncio.get_running_loop().call_later(10.0, self._done.pop, key, None)
        except Exception:
            self._tasks.pop(key, None)
            raise
        else:
            answer = Answer("ready", value)
        self._done[key] = answer
        while len(self._done) > MOST:
            self._done.popitem(last=False)
        self._tasks.pop(key, None)
        return answer
