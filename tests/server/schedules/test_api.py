"""Schedules, runs and reports over the API."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from server.app import create_app
from server.schedules.request import EXAMPLE
from server.settings import Settings

JOB = {"kind": "baseline", "model": "llama-3.1-8b", "device": "h100-sxm", "count": 8}
PLAN = {"name": "nightly", "cron": "0 22 * * *", "timezone": "Europe/Berlin", "job": JOB}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    settings = Settings(database=str(tmp_path / "seis.db"), coordinator=False, first_job=False)  # type: ignore[arg-type]
    with TestClient(create_app(settings), base_url="http://127.0.0.1") as found:
        assert found.app.state.services.scheduler.alive  # type: ignore[attr-defined]
        found.app.state.services.scheduler.stop()  # type: ignore[attr-defined] # the tests tick by themselves
        yield found


def tick(client: TestClient) -> None:
    client.app.state.services.scheduler.tick()  # type: ignore[attr-defined]


def test_a_week_of_nights_over_several_models_is_one_request(client: TestClient) -> None:
    answer = client.post("/api/v1/schedules", json=EXAMPLE)
    assert answer.status_code == 201, answer.text
    made = answer.json()
    assert client.get(answer.headers["location"]).json() == made
    assert [j["model"] for j in made["jobs"]] == EXAMPLE["models"]
    assert len(made["next_fires"]) == 5
    assert all(f["local"][11:16] == "22:00" for f in made["next_fires"])
    assert made["next_fires"][0]["at"] == made["next_fire_at"]
    again = client.post("/api/v1/schedules", json=EXAMPLE)
    assert (again.status_code, again.json()["code"]) == (409, "conflict")


def test_days_of_changed_clocks_are_marked_in_a_preview(client: TestClient) -> None:
    query = {"cron": "0 12 * * *", "timezone": "Europe/Berlin", "count": 100}
    fires = client.get("/api/v1/schedules/preview", params=query).json()
    assert len(fires) == 100
    for before, after in pairwise(fires):
        changed = before["utc_offset"] != after["utc_offset"]
        assert (after["clock_change_seconds"] != 0) == changed


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"cron": "0 0 30 2 *"}, "times that exist"),
        ({"cron": "0 0 * *"}, ""),
        ({"cron": "x x x x x"}, "exist"),
        ({"timezone": "Mars/Olympus"}, "IANA"),
        ({"window": {"start": "25:00"}}, "HH:MM"),
        ({"window": {"start": "06:00"}}, "different times"),
        ({"name": "a\nb"}, "one line"),
        ({"name": " "}, "visible"),
        ({"job": None}, "must be given"),
        ({"jobs": [JOB]}, "must be given"),
        ({"models": ["llama-3.1-8b"]}, "template"),
        ({"grace_seconds": 0}, ""),
        ({"catch_up": "some"}, ""),
        ({"overlap": "both"}, ""),
        ({"turn": "two"}, ""),
        ({"budget": {"seconds": -1}}, ""),
        ({"job": JOB | {"model": "no-such-model"}}, "catalogued"),
        ({"job": JOB | {"device": "no-such-device"}}, "catalogued"),
        ({"wat": 1}, "Extra"),
        ({"models": ["llama-3.1-8b"] * 51, "job": {"device": "h100-sxm"}}, ""),
    ],
)
def test_what_cannot_be_planned(client: TestClient, change: dict[str, Any], words: str) -> None:
    answer = client.post("/api/v1/schedules", json=PLAN | change)
    assert answer.status_code == 422, answer.text
    assert words in answer.json()["detail"]
    assert client.get("/api/v1/schedules").json()["items"] == []


def test_change_fire_cancel_and_remove(client: TestClient) -> None:
    place = client.post("/api/v1/schedules", json=PLAN).headers["location"]
    fired = client.post(f"{place}/fire")
    assert fired.status_code == 202
    run = fired.headers["location"]
    tick(client)
    assert client.get(run).json()["state"] == "running"
    (job,) = client.get(run).json()["jobs"]
    assert client.get(f"/api/v1/jobs/{job}").json()["state"] == "queued"
    assert client.post(f"{place}/fire").json()["code"] == "conflict"
    assert client.delete(place).json()["code"] == "conflict"
    changed = client.put(place, json=PLAN | {"enabled": False, "name": "by day", "cron": "0 9 * * *"}).json()
    assert (changed["name"], changed["next_fire_at"], changed["next_fires"]) == ("by day", None, [])
    assert client.get(f"/api/v1/reports/{run.rpartition('/')[2]}").status_code == 404
    client.post(f"{run}/cancel")
    tick(client)
    over = client.get(run).json()
    assert (over["state"], over["name"]) == ("cancelled", "by day")
    assert over["reason"] == "cancelled by request"
    assert client.post(f"{run}/cancel").json()["code"] == "conflict"
    report = client.get(over["report"]).json()
    assert report["state"] == "cancelled"
    assert client.get(f"{over['report']}/markdown").text.startswith("# by day: cancelled\n")
    assert [r["run"] for r in client.get("/api/v1/reports").json()["items"]] == [over["id"]]
    assert client.delete(place).status_code == 204
    assert client.get(run).status_code == 404
    assert client.get(f"/api/v1/jobs/{job}").json()["state"] == "cancelled"


def test_lists_are_pages(client: TestClient) -> None:
    for name in "cab":
        place = client.post("/api/v1/schedules", json=PLAN | {"name": name}).headers["location"]
        client.post(f"{place}/fire")
    for path in ("/api/v1/schedules", "/api/v1/runs"):
        seen = []
        query: dict[str, Any] = {"limit": 2}
        while True:
            page = client.get(path, params=query).json()
            seen += [i["name"] for i in page["items"]]
            if page["next_cursor"] is None:
                break
            query["cursor"] = page["next_cursor"]
        assert sorted(seen) == ["a", "b", "c"]
    only = client.get("/api/v1/runs", params={"state": "done"}).json()["items"]
    assert only == []
