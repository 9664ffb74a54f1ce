"""A coordinator's side of the process that runs one job."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from db import Job
from server.settings import Settings

AWAY = ("database", "busy")
"""Problems that pass when the database is back."""
GRACE_SECONDS = 1.0
"""Time between the wish to end and the end by force."""


class Run:
    """One job in its process; what it says is kept until it is taken."""

    def __init__(self, job: Job, settings: Settings, heard: Callable[[], None]) -> None:
        self.job_id = job.id
        self.attempts = job.attempts
        self._first_round: int | None = None
        self.before = job.spent_seconds
        self.started = time.monotonic()
        self.search_id = job.search_id
        self.progress: dict[str, Any] | None = None
        self.result: dict[str, Any] | None = None
        self.problem: dict[str, Any] | None = None
        self._heard = heard
        path = os.pathsep.join(p or os.getcwd() for p in sys.path)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "server.jobs.runner"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path}, start_new_session=True,
        )  # fmt: skip
        order = {
            "request": job.request, "spent_seconds": job.spent_seconds, "database": settings.database_url,
            "executor": settings.executor, "workers": settings.workers, "redis": settings.redis,
            "queue_prefix": settings.queue_prefix, "llm": settings.language_model,
            "started_at": (job.started_at or job.created_at).isoformat(),
        }  # fmt: skip
        with contextlib.suppress(OSError):
            self._stdin.write(json.dumps(order).encode() + b"\n")
            self._stdin.flush()
        self._reader = threading.Thread(target=self._read, name=f"seis-job-{job.id[:8]}", daemon=True)
        self._reader.start()

    @property
    def _stdin(self) -> Any:
        return self._process.stdin

    @property
    def spent_seconds(self) -> float:
        """Time of this and all earlier runs of the job."""
        return self.before + time.monotonic() - self.started

    @property
    def over(self) -> bool:
        """Whether the process has ended and all that it said was read."""
        return self._process.poll() is not None and not self._reader.is_alive()

    @property
    def broken(self) -> bool:
        """Whether it ended by no fault of its own: by a signal of somebody else, or without a database."""
        if self.problem is not None:
            return self.problem.get("code") in AWAY
        return self.result is None and (self.code or 0) < 0

    @property
    def code(self) -> int | None:
        """The exit code of the process."""
        return self._process.returncode

    def stop(self, seconds: float = GRACE_SECONDS) -> None:
        """End the process: asked first, then by force."""
        with contextlib.suppress(OSError):
            self._process.terminate()
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(1.0)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def _count_attempts(self) -> None:
        """A run that has stored a round is no failed attempt, whatever becomes of it."""
        number = (self.progress or {}).get("round")
        if self._first_round is None:
            self._first_round = number
        elif number is not None and number > self._first_round:
            self.attempts = 1

    def _read(self) -> None:
        for line in self._process.stdout or ():
            try:
                message = json.loads(line)
            except ValueError:
                continue
            self.search_id = message.get("search") or self.search_id
            self.progress = message.get("progress", self.progress)
            self._count_attempts()
            self.result = message.get("result", self.result)
            self.problem = message.get("problem", self.problem)
            if self.result is not None or self.problem is not None:
                self._heard()
        with contextlib.suppress(Exception):
            self._process.wait(5)
        self._heard()
