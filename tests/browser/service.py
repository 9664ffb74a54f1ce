"""A real server in a process of its own over a private database, and the system's Chromium."""

from __future__ import annotations

import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ARGUMENTS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
)  # fmt: skip
SERVE = """
from server.serve import serve
from server.settings import Settings
serve(Settings(), started=lambda address: print(address, flush=True))
"""


class Service:
    """Starts, ends and starts again at the same address."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder = folder
        self.port = "0"
        self.address = ""
        self._settings = settings
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        environment = {
            **os.environ, "PYTHONPATH": str(ROOT), "SEIS_PORT": self.port, "SEIS_FIRST_JOB": "false",
            "SEIS_DATABASE": str(self.folder / "seis.db"), "SEIS_WORKERS": "1", "SEIS_EXECUTOR": "inline",
            "SEIS_REQUESTS_PER_MINUTE": "60000", **self._settings,
        }  # fmt: skip
        with (self.folder / "server.log").open("a") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-c", SERVE], cwd=self.folder, env=environment, stdout=subprocess.PIPE,
                stderr=log, text=True,
            )  # fmt: skip
        said: queue.Queue[str] = queue.Queue()
        stream = self._process.stdout
        threading.Thread(target=lambda: said.put(stream.readline() if stream else ""), daemon=True).start()
        self.address = said.get(timeout=90).strip()
        if not self.address:
            raise RuntimeError((self.folder / "server.log").read_text()[-2000:])
        self.port = self.address.rpartition(":")[2]

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            if self._process.stdout is not None:
                self._process.stdout.close()
            self._process = None


@contextmanager
def running(folder: Path, **settings: str) -> Iterator[Service]:
    """A service that is stopped afterwards."""
    found = Service(folder, **settings)
    found.start()
    try:
        yield found
    finally:
        found.stop()


def chromium() -> str:
    """The system's browser. Raises where there is none: these tests need one."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        found = shutil.which(name)
        if found:
            return found
    raise RuntimeError("a browser must be installed to test the dashboard; install chromium")


@contextmanager
def browser() -> Iterator[Any]:
    """Chromium without a display."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=chromium(), args=list(ARGUMENTS))
        try:
            yield found
        finally:
            found.close()
