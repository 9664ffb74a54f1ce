"""A full disk and a database that can only be read: said clearly, nothing half written, then over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import event

from server.app import create_app
from server.schedules.scheduler import LEASE_SECONDS
from server.settings import Settings

JOB = {"kind": "baseline", "model": "llama-3.1-8b", "device": "h100-sxm", "count": 2}
FULL = "PRAGMA max_page_count = 1"  # as few as there are
READ_ONLY = "PRAGMA query_only = ON"


class Service:
    """A service whose connections can be made to fail."""

    def __init__(self, client: TestClient) -> None:
        self.client = client
        self.services: Any = client.app.state.services  # type: ignore[attr-defined]
        self.services.scheduler.stop()  # the test looks by itself
        self._engine = self.services.database._engine
        self._now: list[str] = []
        event.listen(self._engine, "connect", self._prepare)

    def _prepare(self, connection: Any, _: object) -> None:
        for statement in self._now:
            connection.execute(statement)

    def fail(self, *statements: str) -> None:
        """From now on every connection has these limits."""
        self._now = list(statements)
        self._engine.dispose()

    def look(self) -> None:
        """One look of the scheduler, as its loop does it, after the lease has to be renewed."""
        from db import DatabaseError

        scheduler = self.services.scheduler
        try:
            self.services.database.drop_lease("schedules", scheduler.owner)
            scheduler.tick()
            scheduler.trouble = ""
        except DatabaseError as error:
            scheduler.trouble = str(error)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    settings = Settings(
        database=str(tmp_path / "seis.db"),  # type: ignore[arg-type]
        coordinator=False,
        first_job=False,
    )
    app = create_app(settings)
    with TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False) as client:
        yield Service(client)


@pytest.mark.parametrize(
    ("limit", "words"), [(FULL, "free space"), (READ_ONLY, "writable")], ids=["full", "read-only"]
)
def test_what_cannot_be_written_is_said_and_works_again_afterwards(
    service: Service, limit: str, words: str
) -> None:
    client = service.client
    assert LEASE_SECONDS < 60
    kept = [client.post("/api/v1/jobs", json=JOB).json()["id"]]
    service.fail(limit)
    refused = None
    for seed in range(300):  # some room is left in the last pages
        answer = client.post("/api/v1/jobs", json=JOB | {"seed": seed})
        if answer.status_code != 202:
            refused = answer
            break
        kept.append(answer.json()["id"])
    assert refused is not None
    assert (refused.status_code, refused.json()["code"]) == (503, "database")
    assert words in refused.json()["detail"] + refused.json()["what_to_do"].lower()
    assert int(refused.headers["retry-after"]) >= 1
    service.look()
    ready = client.get("/api/v1/health/ready")
    if limit == READ_ONLY:  # a full disk may still take what fits into a page
        assert (ready.status_code, ready.json()["code"]) == (503, "database")
    assert client.get("/api/v1/health/live").status_code == 200
    assert client.get(f"/api/v1/jobs/{kept[0]}").status_code == 200
    assert b"seis_database_up 1" in client.get("/api/v1/metrics").content
    service.fail()
    service.look()
    assert client.get("/api/v1/health/ready").status_code == 200
    kept.append(client.post("/api/v1/jobs", json=JOB).json()["id"])
    stored = {j.id for j in service.services.database.list_jobs()}
    assert stored == set(kept)  # what was refused was not half written
