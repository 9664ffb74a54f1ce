"""Prometheus metrics of one server."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from db import Database, DatabaseError
from server.ops.metrics import ServiceCollector


class Metrics:
    """Requests are counted as they come; jobs are counted in the database when asked for."""

    def __init__(self, database: Database) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "seis_requests", "Answered requests.", ("method", "route", "status"), registry=self._registry
        )
        self.seconds = Histogram(
            "seis_request_seconds", "Time to the first byte of an answer.", ("route",),
            registry=self._registry,
        )  # fmt: skip
        self.refused = Counter(
            "seis_refused_callers", "Requests without a valid token or session.", registry=self._registry
        )
        self._registry.register(_Jobs(database))
        self._registry.register(ServiceCollector(database))

    def text(self) -> bytes:
        """The exposition in Prometheus' text format."""
        return generate_latest(self._registry)


class _Jobs(Collector):
    def __init__(self, database: Database) -> None:
        self._database = database

    def collect(self) -> Iterable[Metric]:
        jobs = GaugeMetricFamily("seis_jobs", "Jobs by state.", labels=["state"])
        up = GaugeMetricFamily("seis_database_up", "Whether the database answers.")
        try:
            for state, number in self._database.count_jobs().items():
                jobs.add_metric([state], number)
            up.add_metric([], 1)
        except DatabaseError:
            up.add_metric([], 0)
        yield jobs
        yield up
