"""What operators see: doctor, metrics, retention, a shutdown in order."""

from __future__ import annotations

import re
import socket
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from db import Database
from server.access.tokens import create_token
from server.metrics import Metrics
from server.ops.doctor import examine
from server.ops.retention import Retention
from server.settings import Settings
from tests.docs.pages import ROOT, table

NOW = datetime.now(UTC)


def checks(tmp_path: Path, **given: Any) -> dict[str, tuple[str, str]]:
    settings = Settings(**{"database": str(tmp_path / "seis.db"), "port": 0} | given)
    return {c.name: (c.state, c.found + c.fix) for c in examine(settings)}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_good_set_up_is_healthy(tmp_path: Path) -> None:
    assert {s for s, _ in checks(tmp_path).values()} <= {"ok", "warning"}
    Database.open(tmp_path / "seis.db").close()
    (tmp_path / "seis.db").chmod(0o600)
    found = checks(tmp_path)
    assert found["database"][0] == "ok"
    assert "permissions" not in found


def test_every_fault_of_a_set_up_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "seis.db").write_bytes(b"no database at all" * 100)
    (tmp_path / ".env").write_text("")
    (tmp_path / ".env").chmod(0o644)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        found = checks(
            tmp_path, port=taken.getsockname()[1], require_tokens=True, executor="dramatiq",
            redis_url="redis://:hidden-pass@127.0.0.1:1/0", webhook_url="https://localhost/x",
            webhook_secret="0123456789abcdef",
        )  # fmt: skip
    assert found["database"][0] == "problem"
    assert "restore" in found["database"][1]
    assert found["port"][0] == "warning"
    assert found["redis"][0] == "problem"
    assert found["webhook"][0] == "problem"
    assert found["access"] == (
        "problem",
        "tokens are needed, and there is no valid onemake one with `seis token create NAME --scope admin`",
    )
    assert found["permissions"][0] == "warning"
    assert "hidden-pass" not in str(found)


def test_tokens_make_access_healthy(tmp_path: Path) -> None:
    with Database.open(tmp_path / "seis.db") as database:
        create_token(database, "old", "admin", NOW - timedelta(days=9), 1)
        assert checks(tmp_path, require_tokens=True)["access"][0] == "problem"
        create_token(database, "new", "admin", NOW, 1)
    assert checks(tmp_path, require_tokens=True)["access"][0] == "ok"
    assert checks(tmp_path, host="0.0.0.0")["https"][0] == "warning"


def test_metrics_are_those_that_the_page_lists(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    listed = {row[0].strip("`"): row[1] for row in table(page, "metric")}
    with Database.open(tmp_path / "seis.db") as database:
        families = text_string_to_metric_families(Metrics(database).text().decode())
        found = {f.name: f.type for f in families if not f.name.endswith("_created")}
    assert found == listed


def test_settings_are_those_that_the_page_lists() -> None:
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(SEIS_[A-Z_]+)`", page))
    known = {f"SEIS_{n.upper()}" for n in Settings.model_fields}
    assert named <= known | {"SEIS_TRACEBACK", "SEIS_SERVER"}


def test_retention_removes_what_is_old_and_no_results(tmp_path: Path) -> None:
    now = [NOW - timedelta(days=100)]
    with Database.open(tmp_path / "seis.db", now=lambda: now[0]) as database:
        job = database.create_job(kind="search", subject="a", request={})
        database.ask_job(job.id, "cancel")
        waiting = database.create_job(kind="search", subject="b", request={})
        token, _ = create_token(database, "x", "read", now[0])
        database.create_session("0" * 64, token.id, now[0] + timedelta(hours=1))
        now[0] = NOW
        tidy = Retention(database, Settings(job_days=30))
        assert tidy.tidy() == {"sessions": 1, "runs": 0, "jobs": 1}
        assert [j.id for j in database.list_jobs()] == [waiting.id]
        assert Retention(database, Settings()).tidy() == {"sessions": 0, "runs": 0}
