"""A connection that does not wait for ever for the head of a request."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol


def connection_class(header_seconds: float) -> type[asyncio.Protocol]:
    """A class of connections for uvicorn, whose own time-outs begin after the first request."""

    class Connection(H11Protocol):
        """Closed where no whole head has come after `header_seconds`."""

        _late: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._wait()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.cycle is not None and not self.cycle.response_complete:
                self._done()
            elif self._late is None:
                self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            self._done()
            super().connection_lost(exc)

        def _wait(self) -> None:
            self._late = self.loop.call_later(header_seconds, self.transport.close)

        def _done(self) -> None:
            if self._late is not None:
                self._late.cancel()
                self._late = None

    return Connection
