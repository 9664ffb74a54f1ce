"""The bus: tells waiting readers, in this process or on other machines, that there are new events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from server.settings import Settings


class Waiter(Protocol):
    """One reader's ear; announcements made while it does not wait are kept as one."""

    async def wait(self, seconds: float) -> bool:
        """Return when something was announced since the last call (True), or after so long (False)."""

    def close(self) -> None:
        """Stop listening."""


class Bus(Protocol):
    """Announcements; every implementation passes one suite of tests."""

    def announce(self) -> None:
        """Say that there are new events; from any thread, never blocking for long, never raising."""

    def listen(self) -> Waiter:
        """A new ear, in the running event loop."""

    def close(self) -> None:
        """Let go of connections and threads; waiting readers return."""


def bus_for(settings: Settings) -> Bus:
    """The bus that the settings name."""
    if settings.events == "redis":
        from server.events.remote import RedisBus

        return RedisBus(settings.redis, settings.queue_prefix)
    from server.events.local import LocalBus

    return LocalBus()
