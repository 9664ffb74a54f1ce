"""Idempotency-Key: a POST that is sent again under the same key is answered again, not done again."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from hashlib import sha256
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from db import Answer, utc_now
from server.problems import Refusal
from server.services import Services

_KEY = re.compile(r"[\x21-\x7e]{1,255}\Z")
_KEPT = ("content-type", "location", "etag", "retry-after")
NOT_KEPT = ("/api/v1/tokens",)
"""Answers that hold a secret, which must not be stored."""
PENDING_SECONDS = 120.0
"""A request whose answer has not come after so long is taken to have been lost."""
LARGEST_ANSWER = 4_000_000


class Idempotency:
    """ASGI middleware around the routes."""

    def __init__(self, app: ASGIApp, state: Any) -> None:
        self._app = app
        self._state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope.get("headers", ()))
        key = headers.get(b"idempotency-key")
        if scope["type"] != "http" or scope["method"] != "POST" or key is None or scope["path"] in NOT_KEPT:
            await self._app(scope, receive, send)
            return
        text = key.decode("latin-1")
        if not _KEY.match(text):
            raise Refusal("bad_request", "an Idempotency-Key must be 1 to 255 visible ASCII characters")
        body = b"".join([part async for part in _body(receive)])
        whose = str(scope.get("state", {}).get("caller", "")).encode()
        name = sha256(b"\0".join((whose, scope["path"].encode(), key))).hexdigest()
        asked = sha256(b"\0".join((scope["path"].encode(), scope["query_string"], body))).hexdigest()
        services: Services = self._state.services
        known = await run_in_threadpool(_reserve, services, name, asked)
        if known is not None:
            await _replay(known, asked, send)
            return
        await self._record(scope, _again(body, receive), send, services, name)

    async def _record(
        self, scope: Scope, receive: Receive, send: Send, services: Services, name: str
    ) -> None:
        start: Message = {}
        parts: list[bytes] = []

        async def keep(message: Message) -> None:
            if message["type"] == "http.response.start":
                start.update(message)
            elif sum(map(len, parts)) < LARGEST_ANSWER:
                parts.append(message.get("body", b""))
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                await run_in_threadpool(_finish, services, name, start, b"".join(parts))
            await send(message)

        try:
            await self._app(scope, receive, keep)
        except BaseException:
            await run_in_threadpool(services.database.remove_answer, name)
            raise


def _reserve(services: Services, name: str, asked: str) -> Answer | None:
    """None if the request is to be done; else what is known of it."""
    for _ in range(2):
        made = Answer(key=name, request_hash=asked, status=0, headers={}, body="", created_at=utc_now())
        if services.database.save_answer(made):
            return None
        known = services.database.find_answer(name)
        if known is None:
            continue
        if known.status or (utc_now() - known.created_at).total_seconds() < PENDING_SECONDS:
            return known
        services.database.remove_answer(name)
    return services.database.find_answer(name)


def _finish(services: Services, name: str, start: Message, body: bytes) -> None:
    """Keep an answer; one that may be better next time is forgotten."""
    status = int(start["status"])
    if status >= 500 or status in (401, 403, 408, 409, 429) or len(body) >= LARGEST_ANSWER:
        services.database.remove_answer(name)
        return
    headers = {
        k.decode("latin-1").lower(): v.decode("latin-1")
        for k, v in start["headers"]
        if k.decode("latin-1").lower() in _KEPT
    }
    services.database.complete_answer(name, status, headers, body.decode())


async def _replay(known: Answer, asked: str, send: Send) -> None:
    if known.request_hash != asked:
        raise Refusal(
            "key_reused", "an Idempotency-Key must belong to one request, but this one had another body"
        )
    if not known.status:
        raise Refusal(
            "request_in_progress", "a request must be answered before it is sent again; wait a moment",
            headers={"Retry-After": "1"},
        )  # fmt: skip
    body = known.body.encode()
    headers = [(k.encode(), str(v).encode()) for k, v in known.headers.items()]
    headers += [(b"content-length", str(len(body)).encode()), (b"idempotency-replayed", b"true")]
    await send({"type": "http.response.start", "status": known.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _body(receive: Receive) -> AsyncIterator[bytes]:
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        yield message.get("body", b"")
        more = message.get("more_body", False)


def _again(body: bytes, receive: Receive) -> Receive:
    """The same body for whoever reads it next."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
