"""Everything that the routes of one server share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, cast

from fastapi import Depends, Request

from db import Database
from server.compute import Compute
from server.events import Bus, EventLog, bus_for
from server.jobs.coordinator import Coordinator
from server.metrics import Metrics
from server.ops.retention import Retention
from server.schedules.scheduler import Scheduler
from server.schedules.webhook import webhook_of
from server.settings import Settings


@dataclass
class Services:
    """Made once per server; `close` ends what runs."""

    settings: Settings
    database: Database
    bus: Bus
    events: EventLog
    compute: Compute
    metrics: Metrics
    coordinator: Coordinator | None = None
    scheduler: Scheduler | None = None
    stopping: bool = field(default=False)

    @classmethod
    def start(cls, settings: Settings) -> Services:
        """Open the database and begin to run jobs."""
        database = Database.open(settings.database_url)
        bus = bus_for(settings)
        events = EventLog(database, bus)
        compute = Compute(settings.compute_processes, settings.compute_seconds, settings.compute_queue)
        made = cls(settings, database, bus, events, compute, Metrics(database))
        if settings.coordinator:
            made.coordinator = Coordinator(database, events, settings)
            made.coordinator.start()
        made.scheduler = Scheduler(
            database, events, webhook=webhook_of(settings), notify=made.notify,
            tidy=Retention(database, settings),
        )  # fmt: skip
        made.scheduler.start()
        return made

    def notify(self) -> None:
        """Tell the coordinator of this server, if it has one, that jobs have changed."""
        if self.coordinator is not None:
            self.coordinator.notify()

    def close(self) -> None:
        """Stop the coordinator and let go of everything."""
        self.stopping = True
        if self.scheduler is not None:
            self.scheduler.stop()
        if self.coordinator is not None:
            self.coordinator.stop()
        self.compute.close()
        self.bus.close()
        self.database.close()


def services(request: Request) -> Services:
    """Those of the running application."""
    return cast(Services, request.app.state.services)


Here = Annotated[Services, Depends(services)]
