"""The conventions of the API, on both databases."""

from __future__ import annotations

import json
from typing import Any

import pytest

from server.examples import placed
from tests.server.conftest import SMALL, Caller

JSON = {"content-type": "application/json"}


def problem(answer: Any, status: int, code: str) -> dict[str, Any]:
    """The problem document of a refusal."""
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    found: dict[str, Any] = answer.json()
    assert found["what_to_do"].endswith(".")
    assert "Traceback" not in answer.text
    return found


def test_every_example_of_the_document_works(call: Caller) -> None:
    schema = call.get("/openapi.json")
    tried = 0
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            body = operation.get("requestBody")
            if body is None or "{" in path:
                continue
            name = body["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
            for example in schema["components"]["schemas"][name]["examples"]:
                answer = call(method.upper(), path.removeprefix("/api/v1"), json=example)
                assert answer.is_success, (path, answer.text)
                assert str(answer.status_code) in operation["responses"]
                tried += 1
    assert tried >= 5


def test_every_operation_is_documented(quiet: Caller) -> None:
    for path, operations in quiet.get("/openapi.json")["paths"].items():
        for method, operation in operations.items():
            assert operation["description"], (method, path)
            assert operation["tags"], (method, path)
            for parameter in operation.get("parameters", ()):
                assert parameter["schema"], (method, path, parameter["name"])


def test_a_design_goes_in_and_comes_out_unchanged(call: Caller) -> None:
    first = call("POST", "/designs", json={"text": placed()})
    assert first.status_code == 201
    made = first.json()
    assert first.headers["location"] == made["href"]
    again = call("POST", "/designs", json={"text": placed()})
    assert again.status_code == 200
    assert again.json() == made
    text = call("GET", f"/designs/{made['design_hash']}/text")
    assert text.text == made["text"]
    assert call("POST", "/designs", json={"text": text.text}).json()["design_hash"] == made["design_hash"]


def test_what_never_changes_has_a_tag(call: Caller) -> None:
    made = call("POST", "/designs", json={"text": placed()}).json()
    first = call("GET", f"/designs/{made['design_hash']}")
    assert "immutable" in first.headers["cache-control"]
    tag = first.headers["etag"]
    assert call("GET", f"/designs/{made['design_hash']}", headers={"If-None-Match": tag}).status_code == 304
    # A beginning of a hash may come to mean something else.
    assert "immutable" not in call("GET", f"/designs/{made['design_hash'][:8]}").headers["cache-control"]


def test_pages_cover_everything_once(call: Caller) -> None:
    models = [m["name"] for m in call.get("/models", params={"limit": 200})["items"]]
    for path, key, expected in (("/models", "name", models), ("/jobs", "id", None)):
        if expected is None:
            expected = [call("POST", "/jobs", json=SMALL).json()["id"] for _ in range(5)][::-1]
        seen: list[str] = []
        page = call.get(path, params={"limit": 2})
        while True:
            seen += [item[key] for item in page["items"]]
            if page["next_cursor"] is None:
                break
            page = call.get(path, params={"limit": 2, "cursor": page["next_cursor"]})
        assert seen == expected


def test_a_request_sent_twice_is_done_once(call: Caller) -> None:
    headers = {"Idempotency-Key": "a-key"}
    first = call("POST", "/jobs", json=SMALL, headers=headers)
    again = call("POST", "/jobs", json=SMALL, headers=headers)
    assert (again.status_code, again.json()) == (202, first.json())
    assert again.headers["idempotency-replayed"] == "true"
    assert again.headers["location"] == first.headers["location"]
    assert len(call.get("/jobs")["items"]) == 1
    other = call("POST", "/jobs", json={**SMALL, "count": 4}, headers=headers)
    problem(other, 422, "key_reused")
    problem(call("POST", "/jobs", json=SMALL, headers={"Idempotency-Key": "ä".encode()}), 400, "bad_request")


def test_a_refused_request_may_be_corrected_under_a_new_key(call: Caller) -> None:
    refused = call("POST", "/jobs", json={"model": "nothing"}, headers={"Idempotency-Key": "k"})
    problem(refused, 422, "unknown_name")
    assert call("POST", "/jobs", json=SMALL, headers={"Idempotency-Key": "l"}).status_code == 202


@pytest.mark.parametrize(
    ("body", "code", "said"),
    [
        ({"model": "llama-9"}, "unknown_name", "a model must be catalogued"),
        ({"model": "../etc/passwd"}, "invalid", "model"),
        ({"model": "config.json"}, "unknown_name", "a model must be catalogued"),
        ({"device": "h1000"}, "unknown_name", "a device must be catalogued"),
        ({"device": "own.yaml"}, "unknown_name", "a device must be catalogued"),
        ({"text": "nonsense"}, "syntax", "line 1, column 1"),
        ({"config": {"hidden_size": "many"}, "name": "x"}, "config", ""),
        ({"model": "llama-3.1-8b", "text": "x"}, "invalid", "at most one of model, text and config"),
        ({"count": 0}, "invalid", "body.count"),
        ({"count": "8"}, "invalid", "body.count"),
        ({"budget": {"structures": 0}}, "invalid", "body.budget.structures"),
        ({"scenario": {"context_tokens": 0}}, "invalid", "context_tokens"),
        ({"scenario": {"routing": "zipf:-1"}}, "invalid", "routing"),
        ({"colour": "red"}, "invalid", "body.colour"),
        ({"objectives": ["speed"]}, "invalid", "objectives"),
        ({"proposers": []}, "invalid", "proposers"),
    ],
)  # fmt: skip
def test_a_job_that_cannot_be_is_refused_with_a_sentence(
    quiet: Caller, body: dict[str, Any], code: str, said: str
) -> None:
    asked = body if {"text", "config"} & set(body) and "model" not in body else {**SMALL, **body}
    found = problem(quiet("POST", "/jobs", json=asked), 422, code)
    assert said in found["detail"]
    assert found["type"] == f"/api/v1/problems/{code}"
    assert quiet.get(f"/problems/{code}")["status"] == 422


@pytest.mark.parametrize(
    ("method", "path", "options", "status", "code"),
    [
        ("GET", "/nothing", {}, 404, "not_found"),
        ("GET", "/models/nothing", {}, 404, "not_found"),
        ("GET", "/devices/nothing", {}, 404, "not_found"),
        ("GET", f"/designs/{'0' * 64}", {}, 404, "not_found"),
        ("GET", f"/jobs/{'0' * 32}", {}, 404, "not_found"),
        ("GET", "/frontiers/abcd", {}, 404, "not_found"),
        ("POST", f"/jobs/{'0' * 32}/cancel", {}, 404, "not_found"),
        ("DELETE", "/jobs", {}, 405, "method_not_allowed"),
        ("GET", "/jobs?state=asleep", {}, 422, "invalid"),
        ("GET", "/jobs?stat=done", {}, 422, "invalid"),
        ("GET", "/jobs?limit=1&limit=2", {}, 422, "invalid"),
        ("GET", "/jobs?limit=0", {}, 422, "invalid"),
        ("GET", "/jobs?cursor=abc", {}, 422, "invalid_cursor"),
        ("GET", "/models?cursor=bnVsbA", {}, 422, "invalid_cursor"),
        ("POST", "/jobs", {"content": "{", "headers": JSON}, 400, "bad_request"),
        ("POST", "/jobs", {"content": "x" * 3_000_000}, 413, "body_too_large"),
        ("GET", "/models", {"headers": {"host": "evil.example"}}, 400, "bad_host"),
    ],
)  # fmt: skip
def test_what_cannot_be_answered_is_a_problem(
    quiet: Caller, method: str, path: str, options: dict[str, Any], status: int, code: str
) -> None:
    problem(quiet(method, path, **options), status, code)


def test_a_body_without_a_stated_length_is_limited_too(quiet: Caller) -> None:
    async def parts() -> Any:
        for _ in range(40):
            yield b" " * 100_000

    problem(quiet("POST", "/jobs", content=parts(), headers=JSON), 413, "body_too_large")


def test_times_are_utc_and_answers_carry_safe_headers(call: Caller) -> None:
    answer = call("POST", "/jobs", json=SMALL)
    assert answer.json()["created_at"].endswith("Z")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert call("GET", "/models", headers={"X-Request-Id": "abc"}).headers["x-request-id"] == "abc"


def test_an_evaluation_and_a_verification_answer_at_once(call: Caller) -> None:
    made = call("POST", "/designs", json={"text": placed()}).json()["design_hash"]
    point = call(
        "POST", "/evaluations", json={"design": made, "device": "h100-sxm", "point": {"batch": 64}}
    ).json()
    assert point["point"]["tokens_per_second_per_user"] > 0
    swept = call("POST", "/evaluations", json={"design": made, "device": "h100-sxm", "count": 4}).json()
    assert len(swept["frontier"]) > 3
    asked = {"reference": {"design": made}, "candidate": {"text": placed()}}
    verdict = call("POST", "/verifications", json=asked).json()
    assert verdict["verdict"] == "accepted"
    kept = call.get(f"/certificates/{verdict['certificate']}")
    assert kept["verdict"] == "accepted"
    assert [c["certificate_hash"] for c in call.get("/certificates")["items"]] == [verdict["certificate"]]
    axis = {"design": made, "point": {"batch": 64, "axes": {"zz": 2}}}
    assert (
        "axes must be of the design's meshes"
        in problem(call("POST", "/evaluations", json=axis), 422, "design")["detail"]
    )


def test_a_waiting_job_is_paused_moved_resumed_cloned_and_cancelled(call: Caller) -> None:
    name = call("POST", "/jobs", json=SMALL).json()["id"]
    for action, state in (("pause", "paused"), ("resume", "queued"), ("cancel", "cancelled")):
        assert call("POST", f"/jobs/{name}/{action}").json()["state"] == state
    problem(call("POST", f"/jobs/{name}/resume"), 409, "conflict")
    other = call("POST", f"/jobs/{name}/clone")
    assert other.status_code == 202
    assert other.json()["request"] == call.get(f"/jobs/{name}")["request"]
    moved = call("PUT", f"/jobs/{other.json()['id']}/priority", json={"priority": 9})
    assert moved.json()["priority"] == 9
    assert [j["id"] for j in call.get("/jobs?state=cancelled")["items"]] == [name]
    exported = call("GET", f"/jobs/{name}/export")
    assert "attachment" in exported.headers["content-disposition"]
    problem(call("GET", f"/jobs/{other.json()['id']}/export"), 409, "conflict")


def test_an_uploaded_model_becomes_a_name_of_its_own(call: Caller) -> None:
    text = call("POST", "/designs", json={"model": "llama-3.1-8b"}).json()["text"]
    made = call("POST", "/jobs", json={"text": text, "name": "Mine", "device": "h100-sxm"}).json()
    assert made["model"].startswith("mine-")
    assert made["request"]["text"] is None


def test_events_are_replayed_from_where_a_reader_left(call: Caller) -> None:
    names = [call("POST", "/jobs", json=SMALL).json()["id"] for _ in range(3)]

    def read(**options: Any) -> list[tuple[int, str]]:
        text = call("GET", "/events?seconds=0.01", **options).text
        found = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]
        return [(e["number"], e["subject"]) for e in found]

    assert read() == []
    everything = read(headers={"Last-Event-ID": "0"})
    assert [subject for _, subject in everything] == names
    assert read(headers={"Last-Event-ID": str(everything[0][0])}) == everything[1:]
    listed = call.get(f"/events/log?subject={names[2]}")["items"]
    assert [(e["number"], e["subject"]) for e in listed] == everything[2:]


def test_health_and_metrics(call: Caller) -> None:
    assert call.get("/health/live") == {"status": "ok"}
    assert call.get("/health/ready")["coordinator"] is False
    call("POST", "/jobs", json=SMALL)
    text = call("GET", "/metrics").text
    assert 'seis_jobs{state="queued"} 1.0' in text
    assert "seis_requests_total" in text


def test_a_page_shows_the_document(quiet: Caller) -> None:
    answer = quiet("GET", "/../../api")
    assert answer.status_code == 200
    assert "/api/v1/jobs/{job_id}/cancel" in answer.text
    assert "<script" not in answer.text
    assert "http://" not in answer.text
    assert "https://" not in answer.text


def test_notes_are_kept_once(call: Caller) -> None:
    body = {"text": "links bind", "tags": ["links"], "model": "llama-3.1-8b"}
    first = call("POST", "/notes", json=body)
    assert first.status_code == 201
    assert call("POST", "/notes", json=body).json() == first.json()
    assert call.get("/notes?author=person")["items"] == [first.json()]
    assert call.get("/notes?author=llm")["items"] == []
    assert call.get(first.headers["location"].removeprefix("/api/v1")) == first.json()
