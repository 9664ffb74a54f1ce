"""Jobs that ask a language model: within their budget, with a record to replay, never failing by it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agent.llm.replay import replay
from db import Database
from seis.cli.stored_search import read
from tests.agent.llm.endpoint import Response, says, serving, status
from tests.agent.llm.test_search import working
from tests.server.conftest import SMALL, Caller, calling, until

KEY = "sk-service-key-0123456789"
ASKING = {**SMALL, "proposers": ["exhaustive", "llm"], "budget": {"structures": 52, "calls": 6}}


@contextmanager
def service(place: Path, *script: Response, **settings: Any) -> Iterator[tuple[Caller, Any]]:
    with serving(*script) as endpoint:
        given = {"llm_model": "m", "llm_base_url": endpoint.url, "llm_api_key": KEY, **settings}
        with calling(database=str(place), workers=1, executor="inline", **given) as call:
            yield call, endpoint


def finished(call: Caller, body: Any) -> Any:
    name = call("POST", "/jobs", json=body).json()["id"]
    events = call.app.state.services.events
    until(lambda: call.get(f"/jobs/{name}")["state"] in ("done", "failed"), events)
    return call.get(f"/jobs/{name}")


def test_a_job_asks_the_model_within_its_budget_and_replays(tmp_path: Path) -> None:
    place = tmp_path / "a.sqlite"
    with service(place, working) as (call, endpoint):
        job = finished(call, ASKING)
        assert job["state"] == "done", job["problem"]
        spent = job["result"]["llm"]
        assert (spent["calls"], len(endpoint.requests)) == (6, 6)
        assert spent["proposed"] > 0
        assert "calls of this search" in job["progress"]["llm"]["unanswered"]["budget"]
        told = [e["data"]["progress"]["llm"] for e in call.get(f"/events/log?subject={job['id']}")["items"]
                if e["kind"] == "job.done"]  # fmt: skip
        assert told == [job["progress"]["llm"]]
        again = finished(call, {**ASKING, "budget": {"structures": 24, "calls": 6}})
        assert again["result"]["llm"]["calls"] > 0, "a budget is that of a job, not of its search"
    with Database.open(place) as database:
        found = read(database, job["id"])  # as `seis replay JOB` does
        assert replay(database, found.search, found.problem, workers=1).identical
    assert KEY.encode() not in place.read_bytes()


@pytest.mark.parametrize(
    ("trouble", "settings", "reason"),
    [
        (status(401), {}, "wrong_key"),
        (status(404, "no such model"), {}, "no_such_model"),
        (says("a"), {"llm_model": ""}, "settings"),
        (says("a"), {"llm_day_calls": 0}, "budget"),
    ],
)
def test_a_model_that_does_not_answer_is_told_and_the_job_goes_on(
    tmp_path: Path, trouble: Response, settings: Any, reason: str
) -> None:
    with service(tmp_path / "a.sqlite", trouble, **settings) as (call, _):
        job = finished(call, {**ASKING, "proposers": ["llm"], "budget": {"structures": 24, "calls": 6}})
        assert job["state"] == "done", job["problem"]
        assert job["result"]["structures"] == 24
        assert reason in job["progress"]["llm"]["unanswered"] == job["result"]["llm"]["unanswered"]
        assert KEY not in str(job)


def test_who_asks_for_no_model_gets_none(tmp_path: Path) -> None:
    with service(tmp_path / "a.sqlite", working) as (call, endpoint):
        job = finished(call, {**SMALL, "budget": {"structures": 1}})
        assert (job["result"]["llm"], job["progress"]["llm"], endpoint.requests) == (None, None, [])


def test_a_job_in_a_storm_of_refusals_is_cancelled_at_once(tmp_path: Path) -> None:
    """openevolve #297: a stop hung for hours in the loop that tried again."""
    with service(tmp_path / "a.sqlite", status(429, "slow down", retry_after="100")) as (call, endpoint):
        name = call("POST", "/jobs", json=ASKING).json()["id"]
        events = call.app.state.services.events
        until(lambda: endpoint.requests, events)
        asked = time.monotonic()
        call("POST", f"/jobs/{name}/cancel")
        until(lambda: call.get(f"/jobs/{name}")["state"] == "cancelled", events)
        assert time.monotonic() - asked < 10
