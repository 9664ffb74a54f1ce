"""Worker processes for the queue in Redis: `python -m server.executors.worker`, or `seis worker`.

The parent starts each child anew when it ends, since a candidate may kill it; it needs no other supervisor.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from types import FrameType

from agent.caches import forget
from agent.worker import LARGEST_BYTES, resident_bytes

SINGLE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MALLOC_MMAP_THRESHOLD_": "524288"}
TIDY_SECONDS = 5.0
FAST_SECONDS = 1.0
"""A child that ends sooner than this is started again only after as long."""


def supervise(url: str, prefix: str, processes: int, heartbeat_milliseconds: int = 15_000) -> None:
    """Run `processes` children until SIGTERM or Ctrl-C."""
    stopping = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:
        stopping.set()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    children: list[tuple[float, subprocess.Popen[bytes]]] = []
    while not stopping.is_set():
        children = [(t, c) for t, c in children if c.poll() is None]
        while len(children) < processes:
            children.append((time.monotonic(), _start(url, prefix, heartbeat_milliseconds)))
        stopping.wait(0.2)
        if any(c.poll() is not None and time.monotonic() - t < FAST_SECONDS for t, c in children):
            stopping.wait(FAST_SECONDS)
    for _, child in children:
        child.terminate()
    for _, child in children:
        try:
            child.wait(8.0)
        except subprocess.TimeoutExpired:
            child.kill()


def _start(url: str, prefix: str, heartbeat_milliseconds: int) -> subprocess.Popen[bytes]:
    path = os.pathsep.join(p or os.getcwd() for p in sys.path)
    own = {
        "SEIS_WORKER_REDIS": url, "SEIS_WORKER_PREFIX": prefix,
        "SEIS_WORKER_HEARTBEAT": str(heartbeat_milliseconds),
    }  # fmt: skip
    return subprocess.Popen(
        [sys.executable, "-m", "server.executors.worker"], stdin=subprocess.PIPE, start_new_session=True,
        env={**os.environ, **SINGLE, **own, "PYTHONPATH": path},
    )  # fmt: skip


def main() -> None:
    """One child: one thread that does chunks, until it is told to stop or its parent is gone."""
    from dramatiq import Worker

    from server.executors.broker import make_broker

    environment = os.environ
    broker = make_broker(
        environment["SEIS_WORKER_REDIS"], environment["SEIS_WORKER_PREFIX"],
        int(environment["SEIS_WORKER_HEARTBEAT"]),
    )  # fmt: skip
    stopping = threading.Event()

    def orphaned() -> None:
        while os.read(0, 4096):
            pass
        stopping.set()

    threading.Thread(target=orphaned, daemon=True).start()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    worker = Worker(broker, worker_threads=1, worker_timeout=200)
    worker.start()
    while not stopping.wait(TIDY_SECONDS):
        forget()
        if resident_bytes() > LARGEST_BYTES:
            break  # the parent starts a fresh one
    worker.stop(timeout=5_000)
    broker.close()


if __name__ == "__main__":
    main()
