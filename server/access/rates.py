"""How often: a bucket per caller that fills steadily and holds a minute's worth."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

MOST_CALLERS = 10_000


class Buckets:
    """Buckets by caller; the longest unused ones are forgotten, full by then or not."""

    def __init__(self, per_minute: int, now: Callable[[], float] = time.monotonic) -> None:
        self._most = float(per_minute)
        self._now = now
        self._level: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str) -> float:
        """Take one; 0 if there was one, else the seconds until there is."""
        now = self._now()
        level, then = self._level.pop(caller, (self._most, now))
        level = min(self._most, level + (now - then) * self._most / 60)
        wait = 0.0
        if level >= 1:
            level -= 1
        else:
            wait = (1 - level) * 60 / self._most
        self._level[caller] = (level, now)
        if len(self._level) > MOST_CALLERS:
            self._level.popitem(last=False)
        return wait
