"""A Redis of the tests' own, on a port that nobody uses."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import redis


def free_port() -> int:
    """A port of the loopback that is free now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def redis_server() -> Iterator[str]:
    """Its URL, while it runs."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.fail("these tests need redis-server, but there is none: install it", pytrace=False)
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder],
            stdout=subprocess.DEVNULL,
        )
        try:
            url = f"redis://127.0.0.1:{port}/0"
            await_redis(url, process)
            yield url
        finally:
            process.terminate()
            process.wait()


def await_redis(url: str, process: subprocess.Popen[bytes]) -> None:
    """Return when it answers."""
    with redis.Redis.from_url(url) as client:
        until = time.monotonic() + 30
        while time.monotonic() < until and process.poll() is None:
            try:
                client.ping()
            except redis.ConnectionError:
                time.sleep(0.02)
            else:
                return
    pytest.fail("redis-server must start, but did not")


@contextmanager
def redis_workers(
    url: str, prefix: str, processes: int = 2, heartbeat_milliseconds: int = 1000
) -> Iterator[None]:
    """Workers for the queue, as `seis worker` starts them."""
    program = (
        "from server.executors.worker import supervise;"
        f"supervise({url!r}, {prefix!r}, {processes}, {heartbeat_milliseconds})"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    )
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()
