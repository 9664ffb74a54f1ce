"""When a cron expression fires in a time zone; every time that comes out is in UTC.

Fires follow Debian's cron, as `cronsim` implements it: a fixed hour that a spring night skips fires at the
end of the gap, one that an autumn night repeats fires once, and what has a star fires by elapsed time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError

FIELDS = 5
LONGEST = 100


class TimetableError(ValueError):
    """An expression or time zone that cannot be used; the message is one sentence for the user."""


@dataclass(frozen=True, slots=True)
class Timetable:
    """A checked expression in a checked time zone; make it with `read`."""

    cron: str
    zone: ZoneInfo

    @classmethod
    def read(cls, cron: str, zone: str) -> Timetable:
        """Raises TimetableError for what is no cron expression, never fires, or is no IANA time zone."""
        made = cls(" ".join(cron.split()), read_zone(zone))
        if len(cron) > LONGEST or len(cron.split()) != FIELDS:
            raise TimetableError(
                f"a cron expression must have {FIELDS} fields (minute, hour, day of month, month, day of "
                f"week), but got {cron[:LONGEST]!r}; write for example '0 22 * * MON-FRI'"
            )
        try:
            CronSim(made.cron, datetime(2000, 1, 1, tzinfo=UTC))
        except CronSimError as error:
            raise TimetableError(
                f"a cron expression must name times that exist, but {made.cron!r} does not ({error}); "
                "correct that field"
            ) from None
        if made.after(datetime.now(UTC)) is None:
            raise TimetableError(
                f"a cron expression must fire some day, but {made.cron!r} never does; correct its days"
            )
        return made

    def fires(self, after: datetime) -> Iterator[datetime]:
        """Every fire later than a time, in order."""
        for local in CronSim(self.cron, after.astimezone(self.zone)):
            fire = local.astimezone(UTC)
            if fire > after:
                yield fire

    def after(self, moment: datetime) -> datetime | None:
        """The first fire later than a time, or None if there is none in 50 years."""
        return next(self.fires(moment), None)

    def back(self, now: datetime, first: datetime) -> Iterator[datetime]:
        """Fires not later than `now`, the newest first, down to `first`."""
        start = now.astimezone(self.zone) + timedelta(seconds=1)
        last: datetime | None = None
        for local in CronSim(self.cron, start, reverse=True):
            fire = local.astimezone(UTC)
            if fire < first:
                return
            if fire <= now and (last is None or fire < last):
                last = fire
                yield fire

    def shift(self, moment: datetime) -> timedelta:
        """By how much clocks are changed on the local day of a time; zero on most days."""
        local = moment.astimezone(self.zone)
        midnight = local.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
        before = (midnight.astimezone(UTC) - timedelta(seconds=1)).astimezone(self.zone)
        noon_after = midnight + timedelta(days=1, hours=12)
        after = (noon_after.astimezone(UTC) - timedelta(hours=12)).astimezone(self.zone)
        return (after.utcoffset() or timedelta()) - (before.utcoffset() or timedelta())


def read_zone(name: str) -> ZoneInfo:
    """An IANA time zone. Raises TimetableError."""
    if name not in _zones():
        raise TimetableError(
            f"a time zone must be an IANA name, but got {name[:80]!r}; "
            "write for example 'Europe/Berlin' or 'UTC'"
        )
    return ZoneInfo(name)


@cache
def _zones() -> frozenset[str]:
    return frozenset(z for z in available_timezones() if z not in ("localtime", "posixrules", "Factory"))
