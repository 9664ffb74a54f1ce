"""One service with a finished search, and one browser, for all tests of this folder."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.browser.screenshots import get, post
from tests.browser.service import Service, browser, running

JOB = {"model": "llama-3.1-8b", "device": "h100-sxm", "count": 8, "budget": {"structures": 40}}


def wait_for(service: Service, job: str, states: tuple[str, ...], seconds: float = 240.0) -> dict[str, Any]:
    """The job as soon as it is in one of the states."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found: dict[str, Any] = get(f"{service.address}/api/v1/jobs/{job}")
        if found["state"] in states:
            return found
        time.sleep(0.2)
    raise AssertionError(f"job {job} is {found['state']} and not {states}: {found['problem']}")


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A server with one finished search."""
    folder: Path = tmp_path_factory.mktemp("dashboard")
    with running(folder) as found:
        job = post(f"{found.address}/api/v1/jobs", JOB)["id"]
        done = wait_for(found, job, ("done", "failed"))
        assert done["state"] == "done", done["problem"]
        yield found


@pytest.fixture(scope="session")
def chrome() -> Iterator[Any]:
    """The browser."""
    with browser() as found:
        yield found


@dataclass
class Watched:
    """What a page did that it should not have done."""

    errors: list[str] = field(default_factory=list)
    hosts: set[str] = field(default_factory=set)


@pytest.fixture
def page(chrome: Any, service: Service) -> Iterator[Any]:
    """A page that must neither report an error nor ask another host."""
    context = chrome.new_context(base_url=service.address, reduced_motion="reduce")
    found = context.new_page()
    seen = watch(found)
    yield found
    context.close()
    assert not seen.errors
    assert seen.hosts <= {service.address}


def watch(page: Any) -> Watched:
    """Collect errors of a page, and the hosts that it asks."""
    seen = Watched()
    page.on("console", lambda m: seen.errors.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda e: seen.errors.append(str(e)))

    def asked(request: Any) -> None:
        if not request.url.startswith(("data:", "blob:")):
            seen.hosts.add("/".join(request.url.split("/")[:3]))

    page.on("request", asked)
    return seen
