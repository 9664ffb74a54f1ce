"""Trying to get in: each test is a way that must not lead in, beside the one that does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient

from server.access.pages import local
from server.access.rates import Buckets
from tests.server.access.conftest import HOST, Serve, bearer, token

JOB = {"kind": "baseline", "model": "llama-3.1-8b", "device": "h100-sxm", "count": 8}
OPEN = {"/api/v1/health/live", "/api/v1/health/ready", "/login", "/logout", "/api/style.css"}


def routes(client: TestClient) -> list[tuple[str, str]]:
    """Every method and path of the application."""
    paths = client.app.openapi()["paths"]  # type: ignore[attr-defined]
    found = [(m.upper(), p) for p, operations in paths.items() for m in operations]
    own = [r for r in client.app.routes if isinstance(r, APIRoute)]  # type: ignore[attr-defined]
    found += [(m, r.path) for r in own for m in r.methods or ()]
    return sorted({(m, p.replace("{", "").replace("}", "")) for m, p in found})


def test_without_a_token_nothing_but_health_and_sign_in_answers(serve: Serve) -> None:
    client = serve()
    assert len(routes(client)) > 40
    for method, path in routes(client):
        answer = client.request(method, path)
        if path in OPEN:
            assert answer.status_code != 401, path
            continue
        assert answer.status_code == 401, (method, path)
        assert answer.json()["code"] == "unauthorized"
        assert answer.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    "path", ["/api/v1/health/live/../../jobs", "/static/../api/v1/jobs", "/api/v1/jobs/", "//api/v1/jobs",
             "/API/V1/jobs", "/api/v1/health/live%2f..%2fjobs", "/static/%2e%2e/%2e%2e/etc/passwd",
             "/static/..%2f..%2fserver/settings.py", "/login/../api/v1/tokens"],
)  # fmt: skip
def test_no_spelling_of_a_path_leads_in(serve: Serve, path: str) -> None:
    answer = serve().get(path)
    assert answer.status_code in (401, 404)
    assert "root:" not in answer.text


def test_a_token_does_what_its_scope_says(serve: Serve) -> None:
    client = serve()
    read, submit, admin = (bearer(token(client, s)) for s in ("read", "submit", "admin"))
    assert client.get("/api/v1/jobs", headers=read).status_code == 200
    refused = client.post("/api/v1/jobs", json=JOB, headers=read)
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    assert "submit" in refused.json()["what_to_do"]
    job = client.post("/api/v1/jobs", json=JOB, headers=submit)
    assert job.status_code == 202
    assert client.post(f"/api/v1/jobs/{job.json()['id']}/cancel", headers=read).status_code == 403
    for caller in (read, submit):
        assert client.get("/api/v1/tokens", headers=caller).status_code == 403
        made = client.post("/api/v1/tokens", json={"name": "x", "scope": "admin"}, headers=caller)
        assert made.status_code == 403
    assert client.get("/api/v1/tokens", headers=admin).status_code == 200


def test_wrong_expired_and_revoked_tokens(serve: Serve) -> None:
    client = serve()
    admin = bearer(token(client, "admin"))
    old = token(client, now=datetime.now(UTC) - timedelta(days=2))
    good = token(client)
    assert client.get("/api/v1/jobs", headers=bearer(good)).status_code == 200
    gone = client.delete(f"/api/v1/tokens/{good.split('_')[1]}", headers=admin)
    assert gone.json()["valid"] is False
    alive = token(client)
    other = token(client)
    mixed = alive[:18] + other[18:]  # the name of one, the secret of another
    for text in (old, good, mixed, alive[:-1], alive + "x", alive.upper(), "", "x" * 5000, "seis__", "null"):
        assert client.get("/api/v1/jobs", headers=bearer(text)).status_code in (401, 429), text
    for header in (alive, f"Basic {alive}", f"Token {alive}", "Bearer", f"Bearer {alive} {alive}"):
        answer = client.get("/api/v1/jobs", headers={"Authorization": header})
        assert answer.status_code in (401, 429), header
    assert client.get("/api/v1/jobs", headers=bearer(alive)).status_code == 200


def test_a_token_in_an_address_is_refused_even_if_it_is_right(serve: Serve) -> None:
    client = serve()
    text = token(client, "admin")
    for name in ("token", "access_token", "Token", "api_key"):
        answer = client.get("/api/v1/jobs", params={name: text}, headers=bearer(text))
        assert answer.status_code == 400
        assert text not in answer.text
        assert "header" in answer.json()["what_to_do"]


def test_a_tokens_text_is_shown_once_and_never_stored(serve: Serve, tmp_path: Any) -> None:
    client = serve()
    admin = bearer(token(client, "admin"))
    key = {"Idempotency-Key": "once"}  # under which other answers are kept
    made = client.post("/api/v1/tokens", json={"name": "ci", "scope": "read"}, headers=admin | key).json()
    listed = client.get("/api/v1/tokens", headers=admin)
    assert made["token"] not in listed.text
    assert "hash" not in listed.text
    client.get("/api/v1/jobs", headers=bearer(made["token"]))
    stored = b"".join(p.read_bytes() for p in tmp_path.glob("seis.db*"))
    assert made["token"].encode() not in stored
    assert made["token"].split("_", 2)[-1].encode() not in stored


def test_a_wrong_token_is_refused_where_none_is_needed(serve: Serve) -> None:
    client = serve(require_tokens=False)
    assert client.get("/api/v1/jobs").status_code == 200
    assert client.get("/api/v1/jobs", headers=bearer("seis_no")).status_code == 401
    assert client.post("/api/v1/jobs", json=JOB, headers=bearer(token(client))).status_code == 403


def test_guessing_is_slowed_and_valid_tokens_are_not(serve: Serve) -> None:
    client = serve(failures_per_minute=5)
    good = token(client)
    codes = [client.get("/api/v1/jobs", headers=bearer("guess")).status_code for _ in range(8)]
    assert codes == [401] * 5 + [429] * 3
    assert client.get("/api/v1/jobs", headers=bearer(good)).status_code == 200


def test_requests_beyond_the_rate_wait(serve: Serve) -> None:
    client = serve(requests_per_minute=10)
    one, two = bearer(token(client)), bearer(token(client))
    answers = [client.get("/api/v1/rules", headers=one) for _ in range(12)]
    assert [a.status_code for a in answers] == [200] * 10 + [429] * 2
    assert int(answers[-1].headers["retry-after"]) >= 1
    assert client.get("/api/v1/rules", headers=two).status_code == 200


def test_buckets_fill_steadily_and_forget_the_unused() -> None:
    now = [0.0]
    buckets = Buckets(60, lambda: now[0])
    assert [buckets.take("a") for _ in range(60)] == [0.0] * 60
    assert buckets.take("a") == pytest.approx(1.0)
    now[0] = 1.0
    assert buckets.take("a") == 0.0
    for caller in range(20_000):
        buckets.take(str(caller))
    assert len(buckets._level) <= 10_000


class TestBrowsers:
    """Sessions, forms and other sites."""

    def sign_in(self, client: TestClient, scope: str = "submit") -> str:
        answer = client.post("/login", data={"token": token(client, scope), "next": "/api"})
        assert answer.status_code == 303
        assert answer.headers["location"] == "/api"
        marks = answer.headers["set-cookie"]
        assert "HttpOnly" in marks
        assert "SameSite=Strict" in marks
        from server.access.sessions import csrf_token

        return csrf_token(client.cookies["seis_session"])

    def test_pages_lead_to_sign_in_and_a_session_leads_in(self, serve: Serve) -> None:
        client = serve()
        page = client.get("/anything", headers={"Accept": "text/html"})
        assert page.headers["location"] == "/login?next=%2Fanything"
        self.sign_in(client)
        assert client.get("/api/v1/jobs").status_code == 200

    def test_a_change_with_the_cookie_alone_is_refused(self, serve: Serve) -> None:
        client = serve()
        secret = self.sign_in(client)
        assert client.post("/api/v1/jobs", json=JOB).status_code == 403
        assert client.post("/api/v1/jobs", json=JOB, headers={"X-CSRF-Token": "0" * 64}).status_code == 403
        assert client.post("/logout", data={"csrf_token": "wrong"}).status_code == 403
        assert client.post("/api/v1/jobs", json=JOB, headers={"X-CSRF-Token": secret}).status_code == 202
        assert client.post("/logout", data={"csrf_token": secret}).status_code == 303

    def test_the_secret_of_another_session_is_refused(self, serve: Serve) -> None:
        client = serve()
        first = self.sign_in(client)
        second = self.sign_in(client)
        assert first != second
        assert client.post("/api/v1/jobs", json=JOB, headers={"X-CSRF-Token": first}).status_code == 403

    @pytest.mark.parametrize("protected", [True, False])
    @pytest.mark.parametrize(
        "headers", [{"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"},
                    {"Sec-Fetch-Site": "same-site"}, {"Origin": f"{HOST}.evil.example"}],
    )  # fmt: skip
    def test_another_site_cannot_ask_for_changes(
        self, serve: Serve, headers: dict[str, str], protected: bool
    ) -> None:
        client = serve(require_tokens=protected)
        if protected:
            headers = headers | {"X-CSRF-Token": self.sign_in(client)}
        assert client.post("/api/v1/jobs", json=JOB, headers=headers).status_code == 403
        assert client.get("/api/v1/jobs", headers=headers).status_code == 200
        own = headers | {"Origin": HOST, "Sec-Fetch-Site": "same-origin"}
        assert client.post("/api/v1/jobs", json=JOB, headers=own).status_code == 202

    def test_signing_out_and_revoking_end_a_session(self, serve: Serve) -> None:
        client = serve()
        secret = self.sign_in(client)
        kept = dict(client.cookies)
        client.post("/logout", headers={"X-CSRF-Token": secret})
        client.cookies.update(kept)  # somebody has copied the cookie
        assert client.get("/api/v1/jobs").status_code == 401
        client.cookies.clear()
        self.sign_in(client)
        database = client.app.state.services.database  # type: ignore[attr-defined]
        for known in database.list_tokens():
            database.revoke_token(known.id)
        assert client.get("/api/v1/jobs").status_code == 401

    def test_a_session_ends_with_its_token(self, serve: Serve) -> None:
        client = serve()
        text = token(client, days=1e-9)
        assert client.post("/login", data={"token": text}).status_code == 401
        assert client.post("/login", data={"token": "x"}).status_code == 401
        assert "seis_session" not in client.cookies

    def test_cookies_are_kept_to_https_where_there_is_https(self, serve: Serve) -> None:
        client = serve(https=True)
        answer = client.post("/login", data={"token": token(client)})
        assert "; Secure" in answer.headers["set-cookie"]
        assert "max-age" in answer.headers["strict-transport-security"]

    @pytest.mark.parametrize(
        "place", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)", "/a\nb",
                  "/a\\b", "", "/é", "\t//evil.example"],
    )  # fmt: skip
    def test_signing_in_leads_nowhere_else(self, place: str) -> None:
        assert local(place) == "/"
        assert local("/jobs?state=done") == "/jobs?state=done"

    def test_text_in_the_form_is_text(self, serve: Serve) -> None:
        text = serve().get("/login", params={"next": '/"><script>alert(1)</script>'}).text
        assert "<script>" not in text
        assert "alert(1)&lt;" in text or "&lt;script&gt;" in text

    def test_headers_of_every_answer(self, serve: Serve) -> None:
        client = serve()
        for path in ("/login", "/api/v1/jobs", "/nowhere", "/api/v1/health/live"):
            headers = client.get(path).headers
            policy = headers["content-security-policy"]
            assert "unsafe" not in policy
            assert "default-src 'none'" in policy
            assert "frame-ancestors 'none'" in policy
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "same-origin"
            assert "server" not in headers


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "169.254.169.254", ""])
def test_names_that_a_stranger_gave_the_loopback(serve: Serve, host: str) -> None:
    """A page of another site whose name was made to point here (DNS rebinding)."""
    client = serve(require_tokens=False)
    for method in ("GET", "POST"):
        answer = client.request(method, "/api/v1/jobs", headers={"Host": host})
        assert (answer.status_code, answer.json()["code"]) == (400, "bad_host")
