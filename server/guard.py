"""Limits of every request, before any route: host, size and speed of the body; headers of every answer."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import time
from typing import Any

import structlog
from fastapi import Request
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.dashboard.render import refused, wants_page
from server.problems import MEDIA_TYPE, Refusal, http_refusal

log = structlog.get_logger("server.requests")

_ID = re.compile(r"[A-Za-z0-9._-]{1,64}\Z")

HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),  # with none, browsers send forms with "Origin: null"
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=(), payment=(), usb=()"),
    (b"cache-control", b"no-store"),
)
POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; "
    b"connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)


class Guard:
    """ASGI middleware around everything."""

    def __init__(self, app: ASGIApp, state: Any) -> None:
        self._app = app
        self._state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        given = headers.get(b"x-request-id", b"").decode("latin-1")
        name = given if _ID.match(given) else secrets.token_hex(8)
        began, status = time.perf_counter(), 0
        scope.setdefault("state", {})["request_id"] = name
        settings = self._state.settings

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                own = {k.lower() for k, _ in message["headers"]}
                more = [*HEADERS, (b"x-request-id", name.encode()), (b"content-security-policy", POLICY)]
                if settings.https:
                    more.append((b"strict-transport-security", b"max-age=31536000"))
                message["headers"] = [*message["headers"], *(h for h in more if h[0] not in own)]
                self._count(scope, status, time.perf_counter() - began)
            await send(message)

        try:
            with structlog.contextvars.bound_contextvars(request=name):
                self._check_host(headers, settings.hosts)
                limited = _Body(receive, settings.max_body_bytes, settings.body_seconds)
                limited.announced(headers.get(b"content-length"))
                await self._app(scope, limited, answer)
        except (Refusal, HTTPException) as error:
            if status:
                raise
            refusal = http_refusal(error) if isinstance(error, HTTPException) else error
            await _refuse(refusal, scope, receive, answer)

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "none")
        services = getattr(self._state, "services", None)
        if services is not None:
            services.metrics.requests.labels(scope["method"], route, str(status)).inc()
            services.metrics.seconds.labels(route).observe(seconds)
        log.debug("request", method=scope["method"], route=route, status=status, ms=round(seconds * 1e3, 1))

    @staticmethod
    def _check_host(headers: dict[bytes, bytes], known: frozenset[str]) -> None:
        host = headers.get(b"host", b"").decode("latin-1")
        name = host.rpartition(":")[0] if re.search(r":\d*\Z", host) else host
        if known and name.strip("[]").lower() not in known:
            raise Refusal(
                "bad_host",
                "a request must call this server by a name that it knows, but called it otherwise; "
                "add the name to SEIS_ALLOWED_HOSTS",
            )


class _Body:
    """Receives a body of limited size, in limited time."""

    def __init__(self, receive: Receive, most: int, seconds: float) -> None:
        self._receive = receive
        self._most = most
        self._got = 0
        self._until = time.monotonic() + seconds
        self._ended = False

    def announced(self, length: bytes | None) -> None:
        """Refuse by the length that the caller states."""
        if length is not None and length.isdigit() and int(length) > self._most:
            raise self._too_large()

    async def __call__(self) -> Message:
        if self._ended:
            return await self._receive()
        try:
            message = await asyncio.wait_for(self._receive(), max(0.01, self._until - time.monotonic()))
        except TimeoutError:
            raise HTTPException(408, "a request's body must come in time; send it faster") from None
        if message["type"] == "http.request":
            self._got += len(message.get("body", b""))
            self._ended = not message.get("more_body", False)
            if self._got > self._most:
                raise self._too_large()
        return message

    def _too_large(self) -> HTTPException:
        # Routes let this kind of error through where they read a body.
        return HTTPException(413, f"a request's body must have at most {self._most} bytes; send less")


async def _refuse(refusal: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
    request = Request(scope)
    if wants_page(request):
        await refused(request, refusal)(scope, receive, send)
        return
    body = json.dumps(refusal.document(scope["path"])).encode()
    headers = [(b"content-type", MEDIA_TYPE.encode()), (b"content-length", str(len(body)).encode())]
    headers += [(k.lower().encode(), v.encode()) for k, v in refusal.headers.items()]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
