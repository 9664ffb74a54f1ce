"""Pages without a browser: JSON twins, empty and broken states, hostile text, and no inline script."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from db import DatabaseError
from server.app import create_app
from server.settings import Settings

PLACES = (
    "/", "/jobs", "/new", "/discoveries", "/gap", "/models", "/devices", "/devices/b300-sxm", "/schedules",
    "/reports", "/settings",
)  # fmt: skip


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    place: Path = tmp_path_factory.mktemp("answers") / "seis.db"
    settings = Settings(database=str(place), coordinator=False, first_job=False, _env_file=None)
    with TestClient(create_app(settings), base_url="http://127.0.0.1") as found:
        yield found


@pytest.mark.parametrize("place", PLACES)
def test_every_page_is_complete_on_an_empty_database_and_has_a_twin(client: TestClient, place: str) -> None:
    page = client.get(place, headers={"Accept": "text/html"})
    assert page.status_code == 200
    assert "<h1" in page.text
    assert not re.search(r"<script(?![^>]*(src=|application/json))", page.text)
    assert not re.search(r"\s(style|on[a-z]+)=\"", page.text)
    policy = page.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    twin = client.get(place, params={"format": "json"})
    assert isinstance(twin.json(), dict)


def test_a_hostile_word_is_text_and_nothing_else(client: TestClient) -> None:
    bad = '"><script>alert(1)</script>{{ 7*7 }}'
    for place in ("/discoveries", "/new", "/gap"):
        page = client.get(place, params={"text": bad, "model": bad, "paste": bad, "throughput": bad})
        assert "<script>alert" not in page.text
        assert "49" not in re.findall(r"value=\"[^\"]*\"", page.text)


def test_a_failed_job_says_why_and_what_to_do(client: TestClient) -> None:
    base: Any = client.app.state.services.database  # type: ignore[attr-defined]
    made = client.post(
        "/api/v1/jobs", json={"model": "llama-3.1-8b", "device": "h100-sxm", "count": 8}
    ).json()
    base.claim_job("tester")
    problem = {
        "title": "Fault of SEIS",
        "detail": "a worker must answer, but did not",
        "what_to_do": "Report.",
    }
    base.settle_job(made["id"], "tester", "failed", spent_seconds=1.0, problem=problem)
    page = client.get(f"/jobs/{made['id']}").text
    assert "a worker must answer, but did not" in page
    assert "It ended before its first round" in page
    assert "failed" in client.get("/").text


def test_a_database_that_does_not_answer_is_said_in_words(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    base: Any = client.app.state.services.database  # type: ignore[attr-defined]

    def broken(*_: Any, **__: Any) -> None:
        raise DatabaseError("the database must be writable, but is read-only; give it back its rights")

    monkeypatch.setattr(type(base), "create_job", broken)
    page = client.post("/new", data={"model": "llama-3.1-8b", "device": "h100-sxm", "count": "8"})
    assert page.status_code == 422
    assert "read-only" in page.text
    monkeypatch.setattr(type(base), "list_jobs", broken)
    page = client.get("/jobs", headers={"Accept": "text/html"})
    assert page.status_code == 503
    assert "Database unavailable" in page.text
    assert client.get("/jobs?format=json").json()["code"] == "database"


HTML = {"Accept": "text/html"}


@pytest.mark.parametrize(
    "place",
    ["/nowhere", "/jobs/" + "0" * 32, "/jobs/none", "/searches/abcdef", "/discoveries/abcdef/abcdef",
     "/models/none-such", "/devices/none-such", "/schedules?edit=" + "0" * 32],
)  # fmt: skip
def test_what_is_not_there_is_a_page_for_browsers_and_a_problem_for_programs(
    client: TestClient, place: str
) -> None:
    page = client.get(place, headers=HTML)
    assert page.status_code in (404, 422)
    assert 'aria-label="Main"' in page.text
    assert page.headers["x-request-id"] in page.text
    problem = client.get(place)
    assert problem.headers["content-type"] == "application/problem+json"
    assert problem.json()["what_to_do"]
    assert client.get("/api/v1/nowhere", headers=HTML).json()["code"] == "not_found"


def test_a_session_that_ended_leads_to_a_page_that_says_so_and_goes_on(tmp_path: Path) -> None:
    settings = Settings(
        database=str(tmp_path / "seis.db"), coordinator=False, first_job=False, require_tokens=True,
        _env_file=None,
    )  # fmt: skip
    with TestClient(create_app(settings), base_url="http://127.0.0.1") as client:
        client.cookies.set("seis_session", "f" * 64)
        page = client.get("/discoveries?model=x&gain=5", headers=HTML)
        assert "Your session has ended" in page.text
        assert 'value="/discoveries?model=x&amp;gain=5"' in page.text
        refused = client.post("/jobs/" + "0" * 32 + "/pause", headers=HTML)
        assert refused.status_code == 401
        assert "/login?next=" in refused.text


def test_a_schedule_is_planned_changed_and_removed_by_forms(client: TestClient) -> None:
    form = {
        "name": "nightly", "cron": "30 2 * * *", "timezone": "Europe/Berlin", "start": "22:00",
        "end": "06:00", "models": "llama-3.1-8b", "device": "h100-sxm", "count": "8", "structures": "50",
    }  # fmt: skip
    wrong = {**form, "cron": "30 2 * *", "count": "many", "timezone": "Mars/Base"}
    said = client.post("/schedules/check", data=wrong).json()
    assert set(said["errors"]) == {"timezone", "count"}
    said = client.post("/schedules/check", data=form).json()
    assert not said["errors"]
    assert len(said["fires"]) == 5
    page = client.post("/schedules", data=wrong)
    assert page.status_code == 422
    assert "Devices must be a whole number" in page.text
    assert client.post("/schedules", data=form, follow_redirects=False).status_code == 303
    (made,) = client.get("/schedules?format=json").json()["schedules"]
    body = {
        "name": "nightly", "cron": "30 2 * * *", "timezone": "Europe/Berlin", "grace_seconds": 77,
        "job": {"model": "llama-3.1-8b", "device": "h100-sxm", "count": 8, "seed": 5},
    }  # fmt: skip
    assert client.put(f"/api/v1/schedules/{made['id']}", json=body).status_code == 200
    page = client.get(f"/schedules?edit={made['id']}").text
    assert 'value="Europe/Berlin"' in page
    client.post(f"/schedules/{made['id']}/edit", data={**form, "name": "weekly", "cron": "0 3 * * SUN"})
    (found,) = client.get("/schedules?format=json").json()["schedules"]
    assert (found["id"], found["name"], found["cron"]) == (made["id"], "weekly", "0 3 * * SUN")
    assert found["grace_seconds"] == 77  # what the form does not show stays
    assert found["jobs"][0]["request"]["seed"] == 5
    assert found["jobs"][0]["request"]["budget"]["structures"] == 50
    client.post(f"/schedules/{made['id']}/remove")
    assert client.get("/schedules?format=json").json()["schedules"] == []


def test_what_was_pasted_is_shown_and_its_columns_can_be_chosen(client: TestClient) -> None:
    text = "who,hw,num_gpus,model,mystery,conc,isl,osl\na,h200-sxm,8,gpt-oss-120b,2400,256,8192,1024"
    found = client.get("/gap", params={"paste": text, "format": "json"}).json()
    assert found["pasted"]["missing"] == ["output tokens/s per device"]
    assert not found["values"]["throughput"]
    chosen = {"paste": text, "as": ["mystery:throughput", "who:"]}
    page = client.get("/gap", params=chosen, headers=HTML).text
    assert '<option value="mystery:throughput" selected>' in page
    assert 'name="throughput" value="2400"' in page


def test_a_language_model_is_asked_for_in_the_form(client: TestClient) -> None:
    """Without one in the settings the form says what to set; what it may spend is said before submitting."""
    assert "SEIS_LLM_MODEL" in client.get("/new").text
    asked = {"model": "llama-3.1-8b", "device": "h100-sxm", "count": "8", "proposers": "llm", "dollars": "2"}
    said = client.post("/new/check", data=asked).json()
    assert said["errors"] == {}
    assert "at most $2 and 200000 tokens" in said["estimate"]["text"]
    wrong = client.post("/new/check", data={**asked, "tokens": "many"}).json()
    assert "tokens" in wrong["errors"]
    sent = client.post("/new", data=asked, follow_redirects=False)
    (job,) = (
        j
        for j in client.get("/jobs?format=json").json()["jobs"]
        if sent.headers["location"].endswith(j["id"])
    )
    assert job["request"]["proposers"] == ["llm"]
    assert job["request"]["budget"]["dollars"] == 2
