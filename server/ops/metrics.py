"""Metrics of schedules, queue and database; read when they are asked for. `docs/operations.md` lists them."""

from __future__ import annotations

import platform
from collections.abc import Iterable

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from agent.versions import evaluator_version, verifier_version
from db import HEAD, Database, DatabaseError, utc_now

LEASE = "schedules"
RUN_STATES = ("waiting", "running", "paused", "done", "failed", "cancelled", "skipped", "missed")


class ServiceCollector(Collector):
    """Nothing of it is sampled while the database does not answer; `seis_database_up` says so."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def collect(self) -> Iterable[Metric]:
        about = {"evaluator": evaluator_version(), "verifier": verifier_version(), "database": HEAD,
                 "python": platform.python_version()}  # fmt: skip
        build = GaugeMetricFamily("seis_build_info", "Versions; always 1.", labels=list(about))
        build.add_metric(list(about.values()), 1)
        yield build
        try:
            yield from self._read()
        except DatabaseError:
            return

    def _read(self) -> Iterable[Metric]:
        now = utc_now()
        runs = GaugeMetricFamily("seis_runs", "Runs of schedules by state.", labels=["state"])
        counts = self._database.count_runs()
        for state in RUN_STATES:
            runs.add_metric([state], counts.get(state, 0))
        yield runs
        due = [s.next_fire_at for s in self._database.list_schedules() if s.enabled and s.next_fire_at]
        late = max((max(0.0, (now - d).total_seconds()) for d in due), default=0.0)
        yield GaugeMetricFamily("seis_schedules_enabled", "Schedules that will fire.", value=len(due))
        yield GaugeMetricFamily("seis_schedule_lag_seconds", "How late the latest due fire is.", value=late)
        lease = self._database.find_lease(LEASE)
        yield GaugeMetricFamily("seis_schedules_led", "Whether a server leads.", value=int(lease is not None))
        waiting = self._database.undelivered_runs()
        yield GaugeMetricFamily("seis_reports_unsent", "Reports that wait to be sent.", value=len(waiting))
        queued = self._database.list_jobs(state="queued")
        oldest = max(((now - j.created_at).total_seconds() for j in queued), default=0.0)
        yield GaugeMetricFamily("seis_oldest_queued_seconds", "Age of the oldest queued job.", value=oldest)
