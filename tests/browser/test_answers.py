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
from server.dashboard.pages.gap import pasted
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


@pytest.mark.parametrize(
    "text",
    [
        '{"model": "gpt-oss-120b", "hw": "h200-sxm", "tput_per_gpu": 2400, "conc": 256,'
        '"isl": 8192, "osl": 1024}',
        "model: gpt-oss-120b\nhw: h200-sxm\ntput_per_gpu: 2400\nconc: 256\nisl = 8192\nosl = 1024",
        "model,hw,tput_per_gpu,conc,isl,osl\ngpt-oss-120b,h200-sxm,2400,256,8192,1024",
    ],
)
def test_a_measurement_is_read_however_it_is_pasted(text: str) -> None:
    found, unread = pasted(text)
    assert found == {
        "model": "gpt-oss-120b", "device": "h200-sxm", "throughput": "2400", "batch": "256",
        "context": "8704",
    }  # fmt: skip
    assert not unread
