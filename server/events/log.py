"""What writes events: the database first, then the bus."""

from __future__ import annotations

from typing import Any

from db import Database, Event
from server.events.bus import Bus


class EventLog:
    """Records events and announces them; from any thread."""

    def __init__(self, database: Database, bus: Bus) -> None:
        self.database = database
        self.bus = bus

    def record(self, kind: str, subject: str = "", **data: Any) -> Event:
        """Append an event of a subject."""
        event = self.database.record_event(kind, subject, data)
        self.bus.announce()
        return event
