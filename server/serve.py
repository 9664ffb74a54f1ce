"""Runs one server until it is told to stop."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable

import uvicorn

from db import Database, utc_now
from server.access.connection import connection_class
from server.access.tokens import is_live
from server.app import create_app
from server.logs import set_up
from server.settings import Settings


class NotProtectedError(ValueError):
    """Tokens are needed, and there is none that could be used."""


class _Server(uvicorn.Server):
    """Says where it listens, and ends streams of events when it stops, which would last for ever."""

    started_at: Callable[[str], None] = print

    async def startup(self, sockets: object = None) -> None:
        await super().startup(sockets)  # type: ignore[arg-type]
        for server in getattr(self, "servers", ()):
            for socket in server.sockets:
                name = socket.getsockname()
                host = f"[{name[0]}]" if ":" in name[0] else name[0]
                self.started_at(f"http://{host}:{name[1]}")
                return

    async def shutdown(self, sockets: object = None) -> None:
        services = getattr(getattr(self.config.app, "state", None), "services", None)
        if services is not None:
            services.stopping = True
            services.bus.announce()
        await super().shutdown(sockets)  # type: ignore[arg-type]


def serve(settings: Settings, started: Callable[[str], None] | None = None) -> None:
    """Serve until SIGTERM or Ctrl-C; running jobs are queued again within `shutdown_seconds`.

    Raises NotProtectedError where tokens are needed and the database has none that is valid, and
    DatabaseError.
    """
    if settings.protected:
        _need_token(settings)
    set_up(settings)
    config = uvicorn.Config(
        create_app(settings), host=settings.host, port=settings.port, log_level="warning", lifespan="on",
        access_log=False, server_header=False, timeout_keep_alive=15, h11_max_incomplete_event_size=65_536,
        http=connection_class(settings.header_seconds), limit_concurrency=settings.connections,
        timeout_graceful_shutdown=max(1, round(settings.shutdown_seconds / 2)),
    )  # fmt: skip
    server = _Server(config)
    server.started_at = started or _say
    asyncio.run(server.serve())
    if not server.started:
        sys.exit(1)


def _need_token(settings: Settings) -> None:
    with Database.open(settings.database_url) as database:
        if not any(is_live(t, utc_now()) for t in database.list_tokens()):
            raise NotProtectedError(
                f"a server on {settings.host} must have a token to ask for, but the database has no valid "
                "one; make one with `seis token create NAME`, or listen on 127.0.0.1"
            )


def _say(address: str) -> None:
    print(f"SEIS serves at {address} (API: {address}/api); Ctrl-C stops it.", file=sys.stderr, flush=True)
