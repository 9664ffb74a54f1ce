"""Fires over both changes of the clocks in four zones, and expressions that are refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise

import pytest

from server.schedules.policy import MOST, due
from server.schedules.timetable import Timetable, TimetableError
from server.schedules.window import Window

LORD_HOWE = "Australia/Lord_Howe"


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def fires(cron: str, zone: str, after: str, count: int) -> list[str]:
    found = islice(Timetable.read(cron, zone).fires(utc(after)), count)
    return [f.strftime("%m-%d %H:%M") for f in found]


# Three nights around each change. In 2026 clocks change in Berlin on 29 March and 25 October at 01:00 UTC, in
# New York on 8 March (07:00 UTC) and 1 November (06:00 UTC), in Lord Howe, by half an hour, on 4 April
# (15:00 UTC) and 3 October (15:30 UTC), in Havana at midnight on 8 March (05:00 UTC) and 1 November.
@pytest.mark.parametrize(
    ("cron", "zone", "after", "expected"),
    [
        ("30 2 * * *", "Europe/Berlin", "2026-03-27T12:00", ["03-28 01:30", "03-29 01:00", "03-30 00:30"]),
        ("30 2 * * *", "Europe/Berlin", "2026-10-23T12:00", ["10-24 00:30", "10-25 00:30", "10-26 01:30"]),
        ("30 2 * * *", "America/New_York", "2026-03-06T12:00", ["03-07 07:30", "03-08 07:00", "03-09 06:30"]),
        ("30 1 * * *", "America/New_York", "2026-10-30T12:00", ["10-31 05:30", "11-01 05:30", "11-02 06:30"]),
        ("10 2 * * *", LORD_HOWE, "2026-10-01T12:00", ["10-01 15:40", "10-02 15:40", "10-03 15:30"]),
        ("45 1 * * *", LORD_HOWE, "2026-04-02T12:00", ["04-02 14:45", "04-03 14:45", "04-04 14:45"]),
        ("0 0 * * *", "America/Havana", "2026-03-06T12:00", ["03-07 05:00", "03-08 05:00", "03-09 04:00"]),
        ("30 0 * * *", "America/Havana", "2026-10-30T12:00", ["10-31 04:30", "11-01 04:30", "11-02 05:30"]),
        ("0 22 * * *", "Europe/Berlin", "2026-03-27T12:00", ["03-27 21:00", "03-28 21:00", "03-29 20:00"]),
    ],
)  # fmt: skip
def test_a_daily_fire_comes_once_a_day(cron: str, zone: str, after: str, expected: list[str]) -> None:
    assert fires(cron, zone, after, 3) == expected


def test_a_fire_that_follows_another_in_a_repeated_hour_is_later() -> None:
    timetable = Timetable.read("*/20 * * * *", "Europe/Berlin")
    found = list(islice(timetable.fires(utc("2026-10-24T23:30")), 12))
    assert all(b - a == timedelta(minutes=20) for a, b in pairwise(found))


@pytest.mark.parametrize(
    "zone", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Havana"]
)
@pytest.mark.parametrize("cron", ["30 2 * * *", "0 0 * * *", "*/30 * * * *", "15 1 * * SUN"])
def test_backwards_is_forwards(zone: str, cron: str) -> None:
    """Two ways to count a year's fires agree, over both changes."""
    timetable = Timetable.read(cron, zone)
    begin, end = utc("2026-01-01T00:00"), utc("2027-01-01T00:00")
    forwards = []
    for fire in timetable.fires(begin - timedelta(seconds=1)):
        if fire > end:
            break
        forwards.append(fire)
    assert list(timetable.back(end, begin)) == forwards[::-1]
    assert len(set(forwards)) == len(forwards)


def test_days_of_changed_clocks_are_marked() -> None:
    berlin = Timetable.read("0 12 * * *", "Europe/Berlin")
    assert berlin.shift(utc("2026-03-29T10:00")) == timedelta(hours=1)
    assert berlin.shift(utc("2026-10-25T11:00")) == timedelta(hours=-1)
    assert berlin.shift(utc("2026-03-28T11:00")) == timedelta(0)
    assert berlin.shift(utc("2026-03-30T10:00")) == timedelta(0)
    havana = Timetable.read("0 12 * * *", "America/Havana")
    assert havana.shift(utc("2026-03-08T16:00")) == timedelta(hours=1)
    assert havana.shift(utc("2026-03-07T16:00")) == timedelta(0)


@pytest.mark.parametrize(
    ("cron", "zone", "words"),
    [
        ("0 0 30 2 *", "UTC", "Bad day-of-month"), ("0 0 31 4,6 *", "UTC", "Bad day-of-month"),
        ("0 0 1 1", "UTC", "must have 5 fields"), ("* * * * * *", "UTC", "must have 5 fields"),
        ("@daily", "UTC", "must have 5 fields"), ("60 0 * * *", "UTC", "Bad minute"),
        ("0 0 * * *" + " " * 200, "UTC", "must have 5 fields"), ("*/0 * * * *", "UTC", "Bad minute"),
        ("0 0 * * *", "Mars/Olympus", "IANA"), ("0 0 * * *", "../../etc/passwd", "IANA"),
        ("0 0 * * *", "localtime", "IANA"), ("0 0 * * *", "", "IANA"), ("0 0 * * *", "GMT+25", "IANA"),
    ],
)  # fmt: skip
def test_what_never_comes_is_refused(cron: str, zone: str, words: str) -> None:
    with pytest.raises(TimetableError, match=words):
        Timetable.read(cron, zone)


def test_a_window_over_midnight_follows_the_wall_clock() -> None:
    night = Window.read("22:00", "06:00", Timetable.read("0 0 * * *", "Europe/Berlin").zone)
    assert night is not None
    for text, is_open in (
        ("2026-03-28T20:59", False), ("2026-03-28T21:00", True),  # 22:00 before the change
        ("2026-03-29T03:59", True), ("2026-03-29T04:00", False),  # 06:00 after it
        ("2026-10-24T20:00", True), ("2026-10-25T04:59", True), ("2026-10-25T05:00", False),
    ):  # fmt: skip
        assert night.is_open(utc(text)) is is_open, text
    assert night.next_change(utc("2026-03-28T21:30")) == utc("2026-03-29T04:00")
    assert night.next_change(utc("2026-03-29T12:00")) == utc("2026-03-29T20:00")


def test_a_window_that_opens_in_the_gap_opens_at_its_end() -> None:
    night = Window.read("02:30", "05:00", Timetable.read("0 0 * * *", "Europe/Berlin").zone)
    assert night is not None
    assert night.next_change(utc("2026-03-29T00:00")) == utc("2026-03-29T01:00")


@pytest.mark.parametrize(
    ("start", "end"), [("24:00", "06:00"), ("22", "06:00"), ("22:00", ""), ("1:00", "2:00")]
)
def test_windows_that_are_none(start: str, end: str) -> None:
    with pytest.raises(TimetableError):
        Window.read(start, end, Timetable.read("0 0 * * *", "UTC").zone)


HOURLY = Timetable.read("0 * * * *", "UTC")


@pytest.mark.parametrize(
    ("catch_up", "minutes_late", "run", "missed"),
    [
        ("none", 5, [3], [0, 1, 2]), ("none", 50, [], [0, 1, 2, 3]),
        ("latest", 50, [3], [0, 1, 2]), ("all", 50, [0, 1, 2, 3], []),
    ],
)  # fmt: skip
def test_catching_up(catch_up: str, minutes_late: int, run: list[int], missed: list[int]) -> None:
    first = utc("2026-05-01T00:00")
    now = first + timedelta(hours=3, minutes=minutes_late)
    found = due(HOURLY, first, now, 600, catch_up)  # type: ignore[arg-type]
    assert [f.hour for f in found.run] == run
    assert [f.hour for f in found.missed] == missed
    assert found.next == utc("2026-05-01T04:00")


def test_a_long_absence_is_bounded() -> None:
    minutely = Timetable.read("* * * * *", "UTC")
    found = due(minutely, utc("2020-01-01T00:00"), utc("2026-01-01T00:00"), 60, "all")
    assert len(found.run) == MOST
    assert found.run[-1] == utc("2026-01-01T00:00")
