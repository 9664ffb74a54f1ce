"""Runs: fired once whatever happens to servers, in their window, within their budget, with a report."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from db import Database
from server.schedules.scheduler import LEASE_SECONDS
from tests.db.conftest import postgres, postgres_url, url
from tests.server.schedules.conftest import Night

__all__ = ["postgres", "postgres_url", "url"]

WINDOW = {"start": "22:00", "end": "06:00"}


def test_a_fire_begins_its_jobs_and_ends_with_a_report(night: Night) -> None:
    night.plan()
    server = night.scheduler()
    night.at("2026-05-04T19:59:59")
    server.tick()
    assert night.states() == []
    night.at("2026-05-04T20:00:00")
    server.tick()
    assert night.states() == ["running"]
    assert [j.state for j in night.jobs()] == ["queued"]
    night.end()
    server.tick()
    (run,) = night.runs()
    assert run.state == "done"
    assert run.report is not None
    assert run.report["spent"]["seconds"] == 90.0
    assert run.fire_at == datetime(2026, 5, 4, 20, tzinfo=UTC)
    night.later(days=1)
    server.tick()
    assert night.states() == ["done", "running"]


@pytest.mark.parametrize("late_seconds", [-1, 0, 1])
def test_a_restart_around_the_due_time_fires_once(night: Night, late_seconds: int) -> None:
    """The server ends a second before, at and after the time, and its successor looks at once."""
    night.plan()
    night.at("2026-05-04T20:00:00")
    night.later(seconds=late_seconds)
    first = night.scheduler()
    first.tick()
    first.stop()
    for _ in range(3):
        night.later(seconds=1)
        second = night.scheduler()
        second.tick()
        second.stop()
    assert night.states() == ["running"]
    assert len(night.jobs()) == 1


def test_two_servers_fire_once_and_one_leads(night: Night) -> None:
    night.plan()
    night.at("2026-05-04T20:00:00")
    one, two = night.scheduler(), night.scheduler()
    for _ in range(3):
        one.tick()
        two.tick()
    assert (one.leads, two.leads) == (True, False)
    assert len(night.jobs()) == 1


def test_a_leader_that_fell_asleep_cannot_fire_again(url: str) -> None:
    """Both act on what they saw before either wrote: each kind of database lets one of them."""
    night = Night(url, datetime(2026, 5, 4, 12, tzinfo=UTC))
    schedule = night.plan()
    night.at("2026-05-04T20:00:00")
    servers = [night.scheduler() for _ in range(4)]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda s: s._fire(schedule, night.now), servers))
        (run,) = night.runs()
        list(threads.map(lambda s: s._lifecycle.advance(schedule, run), servers))
    assert night.states() == ["running"]
    assert len(night.database.list_jobs()) == 1
    assert [s.take_lease("x", n, 5) for s in (night.database,) for n in "ab"] == [True, False]
    night.database.close()


def test_the_lease_of_a_dead_leader_runs_out(night: Night) -> None:
    night.plan()
    dead, heir = night.scheduler(), night.scheduler()
    dead.tick()
    night.later(seconds=LEASE_SECONDS - 1)
    heir.tick()
    assert not heir.leads
    night.later(seconds=1)
    heir.tick()
    assert heir.leads
    dead.tick()
    assert not dead.leads


@pytest.mark.parametrize(
    ("catch_up", "down_hours", "states"),
    [
        ("none", 0.1, ["running"]), ("none", 5, ["missed"]), ("latest", 5, ["running"]),
        ("none", 53, ["missed"] * 3), ("latest", 53, ["missed", "missed", "running"]),
        ("all", 53, ["running", "waiting", "waiting"]),
    ],
)  # fmt: skip
def test_a_server_that_was_down_over_the_due_time(
    night: Night, catch_up: str, down_hours: float, states: list[str]
) -> None:
    night.plan(catch_up=catch_up)
    night.at("2026-05-04T20:00:00")
    night.later(hours=down_hours)
    server = night.scheduler()
    server.tick()
    assert night.states() == states
    server.tick()
    assert night.states() == states


def test_all_late_fires_are_done_one_after_the_other(night: Night) -> None:
    night.plan(catch_up="all")
    night.at("2026-05-07T01:00:00")
    server = night.scheduler()
    for _ in range(6):
        server.tick()
        night.end()
    server.tick()
    assert night.states() == ["done"] * 3


@pytest.mark.parametrize(
    ("overlap", "states"),
    [("skip", ["running", "skipped"]), ("queue", ["running", "waiting"]), ("cancel", ["running", "waiting"])],
)
def test_a_run_that_is_still_under_way(night: Night, overlap: str, states: list[str]) -> None:
    night.plan(overlap=overlap)
    night.at("2026-05-04T20:00:00")
    server = night.scheduler()
    server.tick()
    night.work()
    night.later(days=1)
    server.tick()
    assert night.states() == states
    if overlap == "cancel":
        night.work()
        for _ in range(3):
            server.tick()
        assert night.states() == ["cancelled", "running"]
        assert [j.state for j in night.jobs()] == ["cancelled", "queued"]
    if overlap == "queue":
        night.end()
        server.tick()
        server.tick()
        assert night.states() == ["done", "running"]


def test_a_window_that_closes_in_the_middle_resumes_the_next_night(night: Night) -> None:
    night.plan(cron="0 22 * * MON", window=WINDOW)
    server = night.scheduler()
    night.at("2026-05-04T20:00:00")
    server.tick()
    night.work()
    assert [j.state for j in night.jobs()] == ["running"]
    night.at("2026-05-05T03:59:59")
    server.tick()
    assert night.states() == ["running"]
    night.at("2026-05-05T04:00:00")
    server.tick()
    night.work()
    assert night.states() == ["paused"]
    assert [j.state for j in night.jobs()] == ["paused"]
    server.stop()
    server = night.scheduler()  # a new process in between
    night.at("2026-05-05T19:59:59")
    server.tick()
    assert [j.state for j in night.jobs()] == ["paused"]
    night.at("2026-05-05T20:00:00")
    server.tick()
    night.end()
    server.tick()
    assert night.states() == ["done"]
    assert len(night.jobs()) == 1


def test_a_window_closes_an_hour_later_by_elapsed_time_when_clocks_go_back(night: Night) -> None:
    night.at("2026-10-24T12:00:00")
    night.plan(window=WINDOW)
    night.at("2026-10-24T20:00:00")
    server = night.scheduler()
    server.tick()
    night.work()
    night.at("2026-10-25T04:59:00")
    server.tick()
    assert night.states() == ["running"]
    night.at("2026-10-25T05:00:00")
    server.tick()
    assert night.states() == ["paused"]


def test_outside_of_the_window_a_fire_waits(night: Night) -> None:
    night.plan(cron="0 12 * * *", window=WINDOW)
    server = night.scheduler()
    night.at("2026-05-05T10:00:00")
    server.tick()
    assert night.states() == ["waiting"]
    assert night.jobs() == []
    night.at("2026-05-05T20:00:00")
    server.tick()
    assert night.states() == ["running"]


def test_what_a_person_paused_stays_paused_and_what_one_resumed_by_day_pauses_again(night: Night) -> None:
    job = {"kind": "baseline", "device": "h100-sxm", "count": 8}
    night.plan(cron="0 22 * * MON", window=WINDOW, job=job, models=["llama-3.1-8b", "llama-3.1-70b"])
    server = night.scheduler()
    night.at("2026-05-04T20:00:00")
    server.tick()
    night.work()
    mine, other = night.jobs()
    night.database.ask_job(mine.id, "pause")
    night.work()
    night.at("2026-05-05T04:00:00")
    server.tick()
    night.work()
    night.database.ask_job(other.id, "resume")
    night.work()
    server.tick()
    night.work()
    assert [j.state for j in night.jobs()] == ["paused", "paused"]
    night.at("2026-05-05T20:00:00")
    server.tick()
    night.work()
    assert [j.state for j in night.jobs()] == ["paused", "running"]


def test_a_weekly_plan_takes_its_models_in_turn(night: Night) -> None:
    models = ["llama-3.1-8b", "llama-3.1-70b", "gpt-oss-120b"]
    job = {"kind": "baseline", "device": "h100-sxm", "count": 8}
    night.plan(cron="0 22 * * MON-FRI", job=job, models=models, turn="one")
    server = night.scheduler()
    seen = []
    night.at("2026-05-04T20:00:00")
    for _ in range(7):  # Monday to Sunday
        server.tick()
        night.end()
        server.tick()
        night.later(days=1)
    seen = [night.jobs(r)[0].request["model"] for r in night.runs()]
    assert seen == [*models, *models[:2]]


def test_a_budget_is_divided_among_the_jobs_of_a_run(night: Night) -> None:
    job = {"device": "h100-sxm", "count": 8, "budget": {"structures": 500, "seconds": 100_000.0}}
    night.plan(
        job=job,
        models=["llama-3.1-8b", "llama-3.1-70b"],
        budget={"seconds": 7200.0, "structures": 300, "dollars": 2.5, "calls": 11},
    )
    server = night.scheduler()
    night.at("2026-05-04T20:00:00")
    server.tick()
    budgets = [j.request["request"]["budget"] for j in night.jobs()]
    assert (
        budgets
        == [{"structures": 150, "seconds": 3600.0, "tokens": 200_000, "calls": 5, "dollars": 1.25}] * 2
    )


def test_a_disabled_schedule_does_not_fire(night: Night) -> None:
    night.plan(enabled=False)
    night.at("2026-05-04T20:00:00")
    night.scheduler().tick()
    assert night.states() == []


def test_a_job_that_cannot_be_any_more_fails_its_run_with_a_reason(night: Night) -> None:
    schedule = night.plan()
    broken = [{**schedule.jobs[0], "model": "gone-model"}]
    night.database.update_schedule(replace(schedule, jobs=broken))
    night.at("2026-05-04T20:00:00")
    server = night.scheduler()
    server.tick()
    (run,) = night.runs()
    assert run.state == "failed"
    assert "gone-model" in run.reason


def test_a_schedule_that_is_broken_keeps_no_other_from_firing(night: Night) -> None:
    """As after an update of the time zones in which one is gone."""
    broken = night.plan(name="a")
    night.plan(name="b")
    night.database.update_schedule(replace(broken, timezone="Gone/Zone"))
    night.at("2026-05-04T20:00:00")
    night.scheduler().tick()
    assert night.states() == ["running"]
    assert night.runs()[0].schedule_id != broken.id


def test_a_database_that_cannot_be_written_is_said_and_recovers(night: Night) -> None:
    """The loop says why it waits, and goes on when the cause is gone."""
    night.plan()
    server = night.scheduler()
    real = night.database
    other = Database.open(night.path, now=lambda: night.now, busy_timeout_seconds=0.05)
    server._database = other
    with real.transaction():
        server.start()
        for _ in range(200):
            if server.trouble:
                break
            server._stopping.wait(0.02)
        assert "another process holds" in server.trouble
    for _ in range(200):
        if not server.trouble and server.leads:
            break
        server._stopping.wait(0.02)
    assert server.trouble == ""
    server.stop()
    other.close()
    assert night.database.find_lease("schedules") is None


def test_what_is_late_by_less_than_the_grace_is_not_late(night: Night) -> None:
    night.plan(catch_up="none", grace_seconds=600)
    night.at("2026-05-04T20:10:00")
    night.scheduler().tick()
    assert night.states() == ["running"]
    assert night.runs()[0].created_at - night.runs()[0].fire_at == timedelta(minutes=10)
