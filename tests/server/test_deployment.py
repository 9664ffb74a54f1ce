"""The compose file says what the programs understand, and its processes do a job without containers."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from typer.main import get_command

from seis.cli.main import app
from seis.client import Client
from server.settings import Settings
from tests.docs.pages import ROOT
from tests.redis_server import redis_server
from tests.server.conftest import SMALL

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
OURS = ("server", "worker")


@pytest.mark.parametrize("name", OURS)
def test_the_compose_file_names_settings_and_commands_that_there_are(name: str) -> None:
    service = COMPOSE["services"][name]
    for variable in service["environment"]:
        assert variable.removeprefix("SEIS_").lower() in Settings.model_fields, variable
    program, command, *_ = service["command"]
    assert program == "seis"
    assert command in get_command(app).commands  # type: ignore[attr-defined]
    assert set(service["depends_on"]) <= set(COMPOSE["services"])


def test_the_compose_file_publishes_to_this_machine_alone() -> None:
    ports = [p for s in COMPOSE["services"].values() for p in s.get("ports", ())]
    assert ports == ["127.0.0.1:8000:8000"]


def test_the_image_has_every_package() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    for package in project["tool"]["setuptools"]["packages"]["find"]["include"]:
        name = package.removesuffix("*")
        assert f"COPY {name} {name}\n" in text


def begin(service: Mapping[str, Any], **own: str) -> subprocess.Popen[str]:
    """One of the file's processes, with what is elsewhere here."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    environment |= {k: str(v) for k, v in service["environment"].items()} | own
    return subprocess.Popen(
        [sys.executable, "-c", "from seis.cli.main import main; main()", *service["command"][1:]],
        env=environment, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def address_of(process: subprocess.Popen[str]) -> str:
    """Where a server serves; what else it says passes through."""
    found: queue.SimpleQueue[str] = queue.SimpleQueue()

    def read() -> None:
        with process.stderr or open(os.devnull) as lines:
            for line in lines:
                if line.startswith("SEIS serves at "):
                    found.put(line.split()[3])

    threading.Thread(target=read, daemon=True).start()
    return found.get(timeout=60)


@pytest.mark.postgres
@pytest.mark.redis
def test_server_and_workers_do_a_job_over_postgresql_and_redis(postgres_url: str) -> None:
    with redis_server() as url:
        own = {"SEIS_DATABASE": postgres_url, "SEIS_REDIS_URL": url, "SEIS_HOST": "127.0.0.1",
               "SEIS_PORT": "0", "SEIS_FIRST_JOB": "false", "SEIS_LOG_LEVEL": "error"}  # fmt: skip
        processes = [begin(COMPOSE["services"][name], **own) for name in OURS]
        try:
            with Client(address_of(processes[0])) as client:
                job = client.submit(structures=20, **{k: v for k, v in SMALL.items() if k != "budget"})
                kinds = [e.kind for e in client.follow(job.id)]
                done = client.job(job.id)
            assert done.state == "done", done.problem
            assert done.result is not None
            assert done.result["structures"] == 20
            assert kinds[-1] == "job.done"
        finally:
            for process in processes:
                process.send_signal(signal.SIGTERM)
            for process in processes:
                process.wait(20)
                if process.stderr is not None:
                    process.stderr.close()
