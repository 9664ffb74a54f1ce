"""A protected server in this process, and callers with each scope."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from server.access.tokens import create_token
from server.app import create_app
from server.settings import Settings

Serve = Callable[..., TestClient]
HOST = "http://seis.example"


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Start servers with the given settings; by default one that asks for tokens and runs no jobs."""
    monkeypatch.chdir(tmp_path)
    with ExitStack() as stack:

        def start(**given: Any) -> TestClient:
            defaults: dict[str, Any] = {
                "database": str(tmp_path / "seis.db"), "coordinator": False, "first_job": False,
                "require_tokens": True, "allowed_hosts": "seis.example", "compute_seconds": 20,
            }  # fmt: skip
            settings = Settings(**defaults | given)
            app = create_app(settings)
            return stack.enter_context(
                TestClient(app, base_url=HOST, raise_server_exceptions=False, follow_redirects=False)
            )

        yield start


def token(
    client: TestClient, scope: Any = "read", days: float | None = 1, now: datetime | None = None
) -> str:
    """A token of the server's database."""
    database = client.app.state.services.database  # type: ignore[attr-defined]
    return create_token(database, f"a {scope}", scope, now or datetime.now(UTC), days)[1]


def bearer(text: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {text}"}
