"""The hours of the day in which scheduled work goes on, by the clock on the wall."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

from server.schedules.timetable import TimetableError

_TIME = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])\Z")
_MINUTES = 26 * 60
"""The longest day has 25 hours."""


@dataclass(frozen=True, slots=True)
class Window:
    """From `start` until before `end`, local time; over midnight where `start` is later than `end`.

    Only the wall clock decides, so on a day of changed clocks a window is longer or shorter by the change.
    """

    start: time
    end: time
    zone: ZoneInfo

    @classmethod
    def read(cls, start: str, end: str, zone: ZoneInfo) -> Window | None:
        """A window from HH:MM and HH:MM; None where both are empty. Raises TimetableError."""
        if not start and not end:
            return None
        for text in (start, end):
            if not _TIME.match(text):
                raise TimetableError(
                    f"a window must begin and end at HH:MM from 00:00 to 23:59, but got {text[:20]!r}; "
                    "write for example 22:00 and 06:00"
                )
        if start == end:
            raise TimetableError(
                f"a window must begin and end at different times, but got {start} twice; "
                "leave it out for the whole day"
            )
        return cls(time.fromisoformat(start), time.fromisoformat(end), zone)

    def is_open(self, now: datetime) -> bool:
        """Whether work may go on."""
        wall = now.astimezone(self.zone).time()
        if self.start < self.end:
            return self.start <= wall < self.end
        return wall >= self.start or wall < self.end

    def next_change(self, now: datetime) -> datetime:
        """When it opens, or closes if it is open, to the minute."""
        state = self.is_open(now)
        minute = now.astimezone(UTC).replace(second=0, microsecond=0)
        for _ in range(_MINUTES):
            minute += timedelta(minutes=1)
            if self.is_open(minute) != state:
                return minute
        return minute
