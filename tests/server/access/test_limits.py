"""Too much, too deep, too slow, in disguise: refused with a sentence, and the server goes on."""

from __future__ import annotations

import gzip
import io
import json
import logging
import socket
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import Any

import pytest
import structlog
import uvicorn
from fastapi.testclient import TestClient
from pydantic import ValidationError

from server.access.connection import connection_class
from server.app import create_app
from server.logs import set_up
from server.ops.redaction import Redaction
from server.settings import Settings
from tests.server.access.conftest import HOST, Serve, bearer, token

HEAD = 'design "d" program { dims D=8 S=S input x: bf16[B, D] '
BOMBS = {
    "brackets": HEAD + "y = " + "(" * 400_000,
    "calls": HEAD + "y = " + "silu(" * 3000 + "x" + ")" * 3000 + "}",
    "a number": HEAD.replace("D=8", "D=" + "9" * 300_000) + "}",
    "a product": HEAD.replace("D=8", "D=" + "*".join(["1000000000000000"] * 100)) + "}",
    "sums": HEAD + "y = " + "+".join(["x"] * 100_000) + "}",
    "repeats": HEAD + "".join(f"repeat 1000000000 as a{i} {{" for i in range(60)) + "}" * 61,
    "commas": HEAD + "," * 400_000,
    "an open string": 'design "' + "a" * 400_000,
}


def alive(client: TestClient) -> None:
    assert client.get("/api/v1/health/ready").json()["status"] == "ok"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """One server for all that must leave it unharmed, called by an administrator."""
    folder = tmp_path_factory.mktemp("limits")
    settings = Settings(
        database=str(folder / "seis.db"), coordinator=False, first_job=False, require_tokens=True,  # type: ignore[arg-type]
        allowed_hosts="seis.example", compute_seconds=20,
    )  # fmt: skip
    with TestClient(create_app(settings), base_url=HOST, raise_server_exceptions=False) as found:
        found.headers.update(bearer(token(found, "admin")))
        yield found


def test_an_oversized_body(client: TestClient) -> None:
    body = b'{"text": "' + b"a" * 3_000_000 + b'"}'
    answer = client.post("/api/v1/designs", content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")

    def parts() -> Iterator[bytes]:  # without a stated length
        for _ in range(300):
            yield b" " * 10_000

    answer = client.post("/api/v1/designs", content=parts(), headers={"Content-Type": "application/json"})
    assert answer.status_code == 413
    alive(client)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "GZIP", "gzip, gzip", "zstd"])
def test_a_bomb_of_compressed_bytes(client: TestClient, encoding: str) -> None:
    pack = zlib.compress if encoding == "deflate" else gzip.compress
    packed = pack(b"0" * 5_000_000)
    answer = client.post(
        "/api/v1/designs", content=packed,
        headers={"Content-Type": "application/json", "Content-Encoding": encoding},
    )  # fmt: skip
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")


@pytest.mark.parametrize(
    "body", [b"[" * 500_000, b'{"config":' * 100_000, b'{"config": {"a":' + b"[" * 900 + b"]" * 900 + b"}}",
             b'{"budget": {"structures": ' + b"9" * 100_000 + b"}}", b'{"model": "\\ud800"}', b"\xff\xfe",
             b'{"seed": NaN}', b'{"seed": 1e999}', b"null", b"", b'"' + b"\\u0000" * 1000 + b'"'],
    ids=lambda b: b[:16].decode("latin-1"),
)  # fmt: skip
@pytest.mark.parametrize("path", ["/api/v1/jobs", "/api/v1/designs", "/api/v1/schedules", "/api/v1/tokens"])
def test_deep_and_broken_json(client: TestClient, path: str, body: bytes) -> None:
    answer = client.post(path, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 413, 422), answer.text
    assert answer.json()["code"] != "fault"
    assert len(answer.content) < 20_000


@pytest.mark.parametrize("name", BOMBS)
def test_texts_made_to_explode(client: TestClient, name: str) -> None:
    for path, body in (
        ("/api/v1/designs", {"text": BOMBS[name]}),
        ("/api/v1/jobs", {"text": BOMBS[name]}),
        ("/api/v1/schedules", {"name": "x", "cron": "0 0 * * *", "job": {"text": BOMBS[name]}}),
    ):
        answer = client.post(path, json=body)
        assert answer.status_code == 422, (path, answer.text)
        assert answer.json()["code"] in ("syntax", "design"), answer.json()
    alive(client)


EVIL = (
    "'; DROP TABLE schedules; --", '" OR 1=1 --', "{{ 7*7 }}", "{% raise %}", "${jndi:ldap://x}", "%n%n%s",
    "<script>alert(1)</script>", "](javascript:alert(1))", "| a | b |", "a\u202eb", "../../etc/passwd",
)  # fmt: skip


@pytest.mark.parametrize("text", EVIL)
def test_text_stays_text(client: TestClient, text: str) -> None:
    job = {"kind": "baseline", "model": "llama-3.1-8b", "device": "h100-sxm", "count": 8}
    made = client.post("/api/v1/schedules", json={"name": text, "cron": "0 0 * * *", "job": job})
    assert made.status_code == 201, made.text
    assert made.json()["name"] == text
    assert text in [s["name"] for s in client.get("/api/v1/schedules").json()["items"]]
    label = client.post("/api/v1/tokens", json={"name": text, "scope": "read"})
    assert label.status_code in (201, 422)  # marks that cannot be seen are refused
    if label.status_code == 201:
        assert label.json()["name"] == text
    for path in ("/api/v1/jobs", "/api/v1/runs", "/api/v1/models", "/api/v1/designs", "/api/v1/frontiers"):
        for field in ("state", "schedule", "cursor", "model", "limit", text):
            answer = client.get(path, params={field: text})
            assert answer.status_code in (200, 422), (path, field, answer.text)
            assert "49" not in answer.json().get("detail", "")
    for field in ("model", "device", "name"):
        answer = client.post("/api/v1/jobs", json=job | {field: text})
        assert answer.status_code in (202, 422), answer.text
    alive(client)
    assert client.delete(f"/api/v1/schedules/{made.json()['id']}").status_code == 204


@pytest.mark.parametrize(
    "extra", [{"endpoint": "http://169.254.169.254/"}, {"base_url": "http://127.0.0.1:1/"},
              {"webhook": "http://10.0.0.1/"}, {"webhook_url": "https://evil.example"}, {"callback": "file:///"}],
)  # fmt: skip
def test_requests_cannot_name_an_address_to_be_called(client: TestClient, extra: dict[str, str]) -> None:
    job = {"kind": "baseline", "model": "llama-3.1-8b"}
    plan = {"name": "x", "cron": "0 0 * * *", "job": job}
    for path, body in (("/api/v1/jobs", job | extra), ("/api/v1/schedules", plan | extra),
                       ("/api/v1/schedules", plan | {"job": job | extra})):  # fmt: skip
        assert client.post(path, json=body).status_code == 422


@pytest.mark.parametrize(
    "name", ["../../../etc/passwd", "/etc/passwd", "..%2f..%2fsecret", "a.yaml", "\\\\host\\x"]
)
def test_names_are_no_paths(client: TestClient, name: str) -> None:
    for path in ("models", "devices", "systems", "designs", "jobs", "reports", "schedules"):
        answer = client.get(f"/api/v1/{path}/{name}")
        assert answer.status_code in (400, 404, 422), (path, answer.text)
        assert "root:" not in answer.text
    assert client.post("/api/v1/jobs", json={"device": name}).status_code == 422


def test_a_caller_holds_so_many_streams(serve: Serve) -> None:
    client = serve(streams=1)
    access = _access(client)
    access._streams["local"] = 0
    caller = token(client)
    access._streams[caller.split("_")[1]] = 1
    answer = client.get("/api/v1/events", params={"seconds": 0.1}, headers=bearer(caller))
    assert answer.status_code == 429
    access._streams.clear()
    answer = client.get("/api/v1/events", params={"seconds": 0.1}, headers=bearer(caller))
    assert answer.status_code == 200
    assert not access._streams


def _access(client: TestClient) -> Any:
    from server.access.middleware import Access

    layer: Any = client.app.middleware_stack  # type: ignore[attr-defined]
    while not isinstance(layer, Access):
        layer = getattr(layer, "app", None) or layer._app
    return layer


@contextmanager
def listening(settings: Settings) -> Iterator[tuple[str, int]]:
    """A real server on a free port."""
    place = socket.socket()
    place.bind(("127.0.0.1", 0))
    place.listen()
    config = uvicorn.Config(
        create_app(settings), log_level="critical", http=connection_class(settings.header_seconds),
        limit_concurrency=settings.connections,
    )  # fmt: skip
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([place],))
    thread.start()
    try:
        yield place.getsockname()
    finally:
        server.should_exit = True
        thread.join()
        place.close()


def test_slow_clients_are_let_go_and_others_are_served(tmp_path: Path) -> None:
    settings = Settings(
        database=str(tmp_path / "seis.db"), coordinator=False, first_job=False,  # type: ignore[arg-type]
        header_seconds=0.5, body_seconds=0.5, port=0,
    )  # fmt: skip
    with listening(settings) as place:
        slow = []
        for start in (b"", b"GET / HT", b"POST /api/v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\n"):
            connection = socket.create_connection(place, timeout=30)
            connection.sendall(start)
            slow.append(connection)
        body = socket.create_connection(place, timeout=30)
        body.sendall(
            b"POST /api/v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            b"Content-Length: 100\r\n\r\n{"
        )
        quick = socket.create_connection(place, timeout=30)
        quick.sendall(b"GET /api/v1/health/live HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        assert quick.makefile("rb").readline().startswith(b"HTTP/1.1 200")
        assert body.makefile("rb").readline().startswith(b"HTTP/1.1 408")
        for connection in slow:
            assert connection.recv(100) in (b"",)
            connection.close()
        for connection in (quick, body):
            connection.close()


SECRETS = ("webhook-secret-0123456789", "redis-password-77", "db-password-55")


def test_no_secret_in_logs_and_answers(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is logged, requests go wrong in many ways, and a fault of our own happens."""
    client = serve()
    secret = token(client, "admin")
    settings = Settings(
        database=f"postgresql://user:{SECRETS[2]}@db.example/x", redis_url=f"redis://:{SECRETS[1]}@r.example",  # type: ignore[arg-type]
        webhook_url="https://hooks.example/T0/B0/very-secret-path", webhook_secret=SECRETS[0],  # type: ignore[arg-type]
        log_level="debug", log_format="json",
    )  # fmt: skip
    wanted = [secret, *SECRETS, "very-secret-path"]
    out = io.StringIO()
    answers = ""
    with redirect_stderr(out):
        set_up(settings)
        try:
            for headers in (bearer(secret), {"Authorization": f"Basic {secret}"}, {"X-Token": secret}):
                for path in (f"jobs?token={secret}", f"jobs?cursor={secret}", f"jobs?model={secret[:30]}"):
                    answers += client.get(f"/api/v1/{path}", headers=headers).text
            monkeypatch.setattr("db.Database.list_jobs", _fail(f"{secret} postgresql://u:{SECRETS[2]}@h"))
            answers += client.get("/api/v1/jobs", headers=bearer(secret)).text
            log = structlog.get_logger()
            log.info(
                "settings",
                settings=settings,
                url=f"redis://:{SECRETS[1]}@r.example",
                header=f"Bearer {secret}",
            )
            log.warning("nested", data={"password": SECRETS[2], "more": [settings.webhook_url, SECRETS[0]]})
            log.info("plain", text=f"seis_session={secret}; key sk-{'a' * 30}")
        finally:
            structlog.reset_defaults()
            logging.getLogger().handlers.clear()
    logged = out.getvalue()
    assert "fault" in logged
    assert "sk-a" not in logged
    for text in wanted:
        assert text not in logged, text
        assert text.split("_", 2)[-1] not in logged, text
        assert text not in answers, text
    for line in logged.splitlines():
        json.loads(line)


def _fail(text: str) -> Any:
    def failing(*_: Any, **__: Any) -> None:
        raise RuntimeError(text)

    return failing


def test_settings_do_not_show_their_secrets() -> None:
    settings = Settings(webhook_url="https://h.example/abc-path", webhook_secret=SECRETS[0])  # type: ignore[arg-type]
    assert SECRETS[0] not in repr(settings) + str(settings.model_dump())
    with pytest.raises(ValidationError) as found:
        Settings(webhook_secret="tiny-secret", webhook_url="https://h.example")  # type: ignore[arg-type]
    assert "tiny-secret" not in str(found.value)


def test_redaction_keeps_what_is_no_secret() -> None:
    clean = Redaction(Settings()).clean
    kept = {"job": "a" * 32, "ms": 1.5, "url": "http://127.0.0.1:8000/api", "list": [1, None, True]}
    assert clean(kept) == kept
