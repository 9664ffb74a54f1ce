"""What is removed when it is old; the leader does it from time to time."""

from __future__ import annotations

import time

import structlog

from db import Database
from server.settings import Settings

log = structlog.get_logger(__name__)

EVERY_SECONDS = 600.0
DAY = 86_400.0


class Retention:
    """Call it as often as you like."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self._database = database
        self._settings = settings
        self._last = -EVERY_SECONDS

    def __call__(self) -> None:
        now = time.monotonic()
        if now - self._last < EVERY_SECONDS:
            return
        self._last = now
        gone = self.tidy()
        if any(gone.values()):
            log.info("tidied", **gone)

    def tidy(self) -> dict[str, int]:
        """Remove what is old; how many of each. Designs, results and certificates always stay."""
        gone = {"sessions": self._database.forget_sessions()}
        if self._settings.run_days:
            gone["runs"] = self._database.forget_runs(self._settings.run_days * DAY)
        if self._settings.job_days:
            gone["jobs"] = self._database.forget_jobs(self._settings.job_days * DAY)
        return gone
