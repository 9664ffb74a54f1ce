"""What to do about the fires that have come since the last look: pure decisions, no clock of their own."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from db import CatchUp
from server.schedules.timetable import Timetable

MOST = 100
"""Fires of a long absence that are listed or done; older ones are forgotten."""


@dataclass(frozen=True, slots=True)
class Due:
    """Fires to be run and fires that were missed, in order, and when to look again."""

    run: tuple[datetime, ...]
    missed: tuple[datetime, ...]
    next: datetime | None


def due(timetable: Timetable, first: datetime, now: datetime, grace_seconds: float, catch_up: CatchUp) -> Due:
    """Divide the fires from `first`, which has come, until `now`.

    The newest one is run if it is not later than the grace. Otherwise it is caught up on unless `catch_up` is
    `none`; older ones are only under `all`.
    """
    fires = []
    for fire in timetable.back(now, first):
        fires.append(fire)
        if len(fires) == MOST:
            break
    if not fires:  # the timetable was changed under a stored fire
        fires = [first]
    newest, *older = fires
    on_time = newest >= now - timedelta(seconds=grace_seconds)
    run = [newest] if on_time or catch_up != "none" else []
    missed = [] if run else [newest]
    (run if catch_up == "all" else missed).extend(older)
    return Due(tuple(reversed(run)), tuple(reversed(missed)), timetable.after(now))
