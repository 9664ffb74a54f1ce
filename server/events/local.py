"""Announcements within one process."""

from __future__ import annotations

import asyncio
import contextlib
import threading


class LocalBus:
    """Wakes the readers of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiters: set[LocalWaiter] = set()

    def announce(self) -> None:
        with self._lock:
            waiters = list(self._waiters)
        for waiter in waiters:
            waiter.wake()

    def listen(self) -> LocalWaiter:
        waiter = LocalWaiter(self)
        with self._lock:
            self._waiters.add(waiter)
        return waiter

    def forget(self, waiter: LocalWaiter) -> None:
        """Wake a reader no more."""
        with self._lock:
            self._waiters.discard(waiter)

    def close(self) -> None:
        self.announce()


class LocalWaiter:
    """An ear in one event loop."""

    def __init__(self, bus: LocalBus) -> None:
        self._bus = bus
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()

    def wake(self) -> None:
        """From any thread."""
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._event.set)

    async def wait(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self._event.wait(), seconds)
        except TimeoutError:
            return False
        self._event.clear()
        return True

    def close(self) -> None:
        self._bus.forget(self)
