"""Jobs: one owner at a time, none lost, none run for ever; events and answers in order and once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from db import Answer, ConflictError, Database, NotFoundError
from db.repositories.jobs import LEASE_SECONDS, MOST_ATTEMPTS
from tests.db.samples import digest


class Clock:
    """A time that tests move."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(milliseconds=1)
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def clock(database: Database) -> Clock:
    made = Clock()
    database._clock = made
    return made


def submit(database: Database, subject: str = "a", priority: int = 0) -> str:
    return database.create_job(kind="search", subject=subject, request={"x": 1}, priority=priority).id


def test_the_most_urgent_job_is_claimed_first_and_each_once(database: Database, clock: Clock) -> None:
    names = [submit(database, s, p) for s, p in (("a", 0), ("b", 5), ("c", 5), ("d", -1))]
    found = [database.claim_job("me") for _ in range(5)]
    assert [j.id if j else None for j in found] == [names[1], names[2], names[0], names[3], None]
    first = found[0]
    assert first is not None
    assert first == database.get_job(first.id)
    assert (first.state, first.owner, first.attempts) == ("running", "me", 1)


def test_two_jobs_of_one_subject_run_one_after_the_other(database: Database, clock: Clock) -> None:
    first, second = submit(database), submit(database)
    assert (job := database.claim_job("me")) is not None
    assert job.id == first
    assert database.claim_job("you") is None
    database.settle_job(first, "me", "done", spent_seconds=1.0, result={"gain": 0.1})
    assert (job := database.claim_job("you")) is not None
    assert job.id == second


def test_a_job_whose_lease_ran_out_is_claimed_by_another(database: Database, clock: Clock) -> None:
    name = submit(database)
    database.claim_job("dead")
    clock.wait(LEASE_SECONDS / 2)
    assert database.free_jobs() == ()
    clock.wait(LEASE_SECONDS)
    assert [j.state for j in database.free_jobs()] == ["queued"]
    assert (job := database.claim_job("alive")) is not None
    assert (job.id, job.attempts) == (name, 2)
    # What the first owner still writes has no effect.
    assert database.advance_job(name, "dead", progress={"n": 1}, search_id=None, spent_seconds=9.0) is None
    assert database.settle_job(name, "dead", "failed", spent_seconds=9.0) is None
    assert database.get_job(name).state == "running"


def test_renewal_keeps_the_lease_and_brings_wishes(database: Database, clock: Clock) -> None:
    name = submit(database)
    database.claim_job("me")
    clock.wait(LEASE_SECONDS - 1)
    assert [j.wanted for j in database.renew_jobs("me")] == [""]
    clock.wait(LEASE_SECONDS - 1)
    assert database.free_jobs() == ()
    database.ask_job(name, "cancel")
    assert [j.wanted for j in database.renew_jobs("me")] == ["cancel"]
    assert database.renew_jobs("you") == ()


def test_owners_known_to_be_dead_lose_their_jobs_at_once(database: Database, clock: Clock) -> None:
    names = [submit(database, s) for s in "abc"]
    for name, wish in zip(names, ("", "pause", "cancel"), strict=True):
        database.claim_job("dead")
        if wish:
            database.ask_job(name, wish)
    assert database.owners_of_jobs() == ("dead",)
    assert {j.id: j.state for j in database.free_jobs(dead=["dead"])} == dict(
        zip(names, ("queued", "paused", "cancelled"), strict=True)
    )
    assert database.owners_of_jobs() == ()


def test_a_job_that_kills_its_owners_fails_in_the_end(database: Database, clock: Clock) -> None:
    name = submit(database)
    for _ in range(MOST_ATTEMPTS):
        assert database.claim_job("dead") is not None
        database.free_jobs(dead=["dead"])
    job = database.get_job(name)
    assert job.state == "failed"
    assert job.problem is not None
    assert job.problem["code"] == "owner_died"


def test_a_job_that_gets_on_outlives_any_number_of_owners(database: Database) -> None:
    name = submit(database)
    for _ in range(2 * MOST_ATTEMPTS):
        assert database.claim_job("dead") is not None
        told = database.advance_job(
            name, "dead", progress={}, search_id=None, spent_seconds=1.0, attempts=1
        )  # a round was stored
        assert told is not None
        database.free_jobs(dead=["dead"])
    assert database.get_job(name).state == "queued"


@pytest.mark.parametrize(
    ("wishes", "state"),
    [
        (["pause"], "paused"),
        (["pause", "resume"], "queued"),
        (["pause", "pause", "cancel"], "cancelled"),
        (["cancel", "cancel"], "cancelled"),
    ],
)
def test_a_waiting_job_does_as_it_is_asked(database: Database, wishes: list[str], state: str) -> None:
    name = submit(database)
    for wish in wishes:
        job = database.ask_job(name, wish)
    assert job.state == state


def test_a_job_that_is_over_cannot_be_asked(database: Database) -> None:
    name = submit(database)
    database.ask_job(name, "cancel")
    with pytest.raises(ConflictError, match="is cancelled; submit it again"):
        database.ask_job(name, "resume")
    with pytest.raises(NotFoundError):
        database.ask_job("0" * 32, "pause")


def test_pages_of_jobs_cover_each_once(database: Database, clock: Clock) -> None:
    names = [submit(database, str(i)) for i in range(7)]
    seen: list[str] = []
    before = None
    while page := database.list_jobs(before=before, limit=3):
        seen.extend(j.id for j in page)
        before = (page[-1].created_at, page[-1].id)
    assert seen == names[::-1]
    assert database.count_jobs()["queued"] == 7


def test_events_are_numbered_and_old_ones_forgotten(database: Database, clock: Clock) -> None:
    made = [database.record_event("progress", s, {"n": i}) for i, s in enumerate("aba")]
    assert database.list_events() == tuple(made)
    assert database.list_events(after=made[0].number, subject="a") == (made[2],)
    assert database.list_events(kinds=["other"]) == ()
    clock.wait(100)
    last = database.record_event("progress", "a")
    assert database.forget_events(50) == 3
    assert database.list_events() == (last,)
    clock.wait(100)
    assert database.forget_events(50) == 0  # the newest stays, for numbers grow from it
    assert database.record_event("progress").number > last.number


def test_the_first_answer_stays(database: Database, clock: Clock) -> None:
    now = clock()
    first = Answer(key=digest(1), request_hash=digest(2), status=201, headers={"ETag": "x"}, body="{}",
                   created_at=now)  # fmt: skip
    assert database.save_answer(first)
    assert not database.save_answer(
        Answer(key=digest(1), request_hash=digest(3), status=200, headers={}, body="", created_at=now)
    )
    assert database.find_answer(digest(1)) == first
    assert database.find_answer(digest(9)) is None
    clock.wait(10)
    assert database.forget_answers(5) == 1
