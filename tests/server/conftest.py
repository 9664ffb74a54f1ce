"""A service in this process, on SQLite and on PostgreSQL."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from server.app import create_app
from server.settings import Settings
from tests.db.conftest import postgres, postgres_url, url

__all__ = ["postgres", "postgres_url", "url"]

SMALL = {"model": "llama-3.1-8b", "device": "h100-sxm", "count": 2, "budget": {"structures": 12}}


class Caller:
    """Calls the application without a socket, from ordinary code; its event loop runs in a thread."""

    def __init__(self, app: FastAPI) -> None:
        self.app = app
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._life: Any = app.router.lifespan_context(app)
        self._wait(self._life.__aenter__())
        self._client = httpx.AsyncClient(
            transport=httpx.ASGITransport(app, raise_app_exceptions=False), base_url="http://127.0.0.1:8000"
        )

    def __call__(self, method: str, path: str, **options: Any) -> httpx.Response:
        found: httpx.Response = self._wait(self._client.request(method, "/api/v1" + path, **options))
        return found

    def get(self, path: str, **options: Any) -> Any:
        """The JSON of an answer that must be a success."""
        answer = self("GET", path, **options)
        assert answer.is_success, answer.text
        return answer.json()

    def close(self) -> None:
        self._wait(self._client.aclose())
        self._wait(self._life.__aexit__(None, None, None))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _wait(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(120)


@contextmanager
def calling(**settings: Any) -> Iterator[Caller]:
    """A service with these settings."""
    given = {"first_job": False, "log_level": "error", **settings}
    caller = Caller(create_app(Settings(_env_file=None, **given)))
    try:
        yield caller
    finally:
        caller.close()


@pytest.fixture
def call(url: str) -> Iterator[Caller]:
    """A service that takes jobs and runs none, so that nothing changes by itself."""
    with calling(database=url, coordinator=False) as caller:
        yield caller


@pytest.fixture
def running(url: str) -> Iterator[Caller]:
    """A service that runs jobs."""
    with calling(database=url, workers=1, lease_seconds=4) as caller:
        yield caller


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """One service for tests that only read or refuse."""
    place: Path = tmp_path_factory.mktemp("quiet") / "a.sqlite"
    with calling(database=str(place), coordinator=False) as caller:
        yield caller


def until(met: Callable[[], Any], events: Any, seconds: float = 90) -> Any:
    """What `met` answers as soon as it is true; looks again whenever an event was recorded."""
    import time

    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = met()
        if found:
            return found
        seen = events.database.last_event()
        pause = threading.Event()
        for _ in range(20):
            if events.database.last_event() != seen:
                break
            pause.wait(0.05)
    pytest.fail(f"this must come true within {seconds} s")
