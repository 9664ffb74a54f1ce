"""Who may pass: tokens and sessions, scopes, other sites' forms, rates. Routes see checked requests alone."""

from __future__ import annotations

import hmac
import math
from collections import Counter
from typing import Any
from urllib.parse import parse_qs, quote

from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from db import TokenScope, utc_now
from server.access import sessions
from server.access.rates import Buckets
from server.access.tokens import LOCAL, Caller, check_token
from server.problems import Refusal

PUBLIC = ("/api/v1/health/live", "/api/v1/health/ready", "/login", "/logout", "/api/style.css")
PUBLIC_FOLDERS = ("/static/",)
ADMIN = ("/api/v1/tokens", "/tokens", "/settings")
SAFE = ("GET", "HEAD", "OPTIONS")
SIGN_IN = "/login"
STREAM = "/api/v1/events"
SECRETS_IN_URLS = frozenset({"token", "access_token", "api_key", "apikey", "authorization", "bearer", "key"})
FORM = b"application/x-www-form-urlencoded"


class Access:
    """ASGI middleware inside of `Guard`, which answers the refusals."""

    def __init__(self, app: ASGIApp, state: Any) -> None:
        self._app = app
        self._state = state
        settings = state.settings
        self._rates = Buckets(settings.requests_per_minute)
        self._failures = Buckets(settings.failures_per_minute)
        self._streams: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        address = str((scope.get("client") or ("", 0))[0])
        _check_url(scope["query_string"])
        _check_encoding(headers)
        if scope["method"] not in SAFE:
            _check_origin(headers)
        caller, session = await self._who(headers, address)
        self._limit(caller.id if caller is not None else address)
        state = scope.setdefault("state", {})
        state["caller"] = caller.id if caller is not None else ""
        state["csrf"] = sessions.csrf_token(session) if session else ""
        if not _is_public(scope["path"]):
            if caller is None:
                if _wants_page(scope, headers):
                    await _redirect(scope, headers, send)
                    return
                raise self._unknown(address, headers)
            needed = _needed(scope)
            if not caller.may(needed):
                raise Refusal(
                    "forbidden",
                    f"a token must have the scope {needed} for this, but this one has {caller.scope}; "
                    f"use one with {needed}",
                )
        if session and scope["method"] not in SAFE and scope["path"] != SIGN_IN:
            receive = await _check_form(headers, receive, state["csrf"])
        await self._pass(scope, receive, send, caller.id if caller is not None else address)

    async def _pass(self, scope: Scope, receive: Receive, send: Send, caller: str) -> None:
        if scope["path"] != STREAM:
            await self._app(scope, receive, send)
            return
        most = self._state.settings.streams
        if self._streams[caller] >= most:
            raise Refusal(
                "too_many_requests", f"a caller must hold at most {most} streams open; close one",
                headers={"Retry-After": "5"},
            )  # fmt: skip
        self._streams[caller] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._streams[caller] -= 1
            if not self._streams[caller]:
                del self._streams[caller]

    async def _who(self, headers: dict[bytes, bytes], address: str) -> tuple[Caller | None, str]:
        """The caller, and the session by which it is known, if it is by one."""
        given = headers.get(b"authorization")
        settings = self._state.settings
        if given is not None:
            kind, _, text = given.decode("latin-1").partition(" ")
            token = None
            if kind.lower() == "bearer":
                token = await run_in_threadpool(self._check, check_token, text.strip())
            if token is None:
                raise self._unknown(address, headers)
            return token, ""
        session = sessions.cookie_in(headers.get(b"cookie", b""))
        if session:
            caller = await run_in_threadpool(self._check, sessions.check, session)
            if caller is not None:
                return caller, session
        return (None if settings.protected else LOCAL), ""

    def _check(self, check: Any, text: str) -> Caller | None:
        database = self._state.services.database
        token = check(database, text, utc_now())
        if token is None:
            return None
        database.use_token(token.id)
        return Caller(token.id, token.scope)

    def _limit(self, who: str) -> None:
        wait = self._rates.take(who)
        if wait:
            most = self._state.settings.requests_per_minute
            raise Refusal(
                "too_many_requests", f"a caller must send at most {most} requests a minute; send fewer",
                headers={"Retry-After": str(math.ceil(wait))},
            )  # fmt: skip

    def _unknown(self, address: str, headers: dict[bytes, bytes]) -> Refusal:
        wait = self._failures.take(address) if b"authorization" in headers else 0.0
        services = getattr(self._state, "services", None)
        if services is not None:
            services.metrics.refused.inc()
        if wait:
            return Refusal(
                "too_many_requests", "an address must send fewer wrong tokens; wait",
                headers={"Retry-After": str(math.ceil(wait))},
            )  # fmt: skip
        return Refusal(
            "unauthorized", "a request must carry a valid token, but this one has none; make one with "
            "`seis token create` and send it as 'Authorization: Bearer ...'",
            headers={"WWW-Authenticate": 'Bearer realm="SEIS"'},
        )  # fmt: skip


def _is_public(path: str) -> bool:
    return path in PUBLIC or (path.startswith(PUBLIC_FOLDERS) and "/.." not in path)


def _needed(scope: Scope) -> TokenScope:
    path = scope["path"]
    if any(path == a or path.startswith(f"{a}/") for a in ADMIN):
        return "admin"
    return "read" if scope["method"] in SAFE else "submit"


def _check_url(query: bytes) -> None:
    """A secret in an address ends up in histories and logs."""
    if not query:
        return
    names = {name.lower() for name in parse_qs(query.decode("latin-1"), keep_blank_values=True)}
    if names & SECRETS_IN_URLS:
        raise Refusal(
            "bad_request", "a token must be in the header Authorization and never in an address; "
            "revoke it if it was real, and send another one in the header",
        )  # fmt: skip


def _check_encoding(headers: dict[bytes, bytes]) -> None:
    """Bodies are not unpacked, so none can be larger than it looks."""
    if headers.get(b"content-encoding", b"identity").strip().lower() not in (b"identity", b""):
        raise Refusal("unsupported_media_type", "a request's body must not be compressed; send it as it is")


def _check_origin(headers: dict[bytes, bytes]) -> None:
    """Browsers say from where a request comes; other programs need not."""
    origin = headers.get(b"origin")
    site = headers.get(b"sec-fetch-site", b"none")
    same = origin is None or origin.partition(b"://")[2] == headers.get(b"host", b"")
    if not same or site not in (b"none", b"same-origin"):
        raise Refusal(
            "forbidden", "a change must be asked for by a page of this server, but another site asked; "
            "open the page here",
        )  # fmt: skip


async def _check_form(headers: dict[bytes, bytes], receive: Receive, expected: str) -> Receive:
    """Requests with a cookie carry the session's second secret: in a header, or in a field of a form."""
    given = headers.get(sessions.HEADER, b"").decode("latin-1")
    if not given and headers.get(b"content-type", b"").partition(b";")[0].strip().lower() == FORM:
        body, receive = await _read(receive)
        fields = parse_qs(body.decode("utf-8", "replace"), max_num_fields=1000)
        given = fields.get(sessions.FIELD, [""])[0]
    if not hmac.compare_digest(given.encode(), expected.encode()):
        raise Refusal(
            "forbidden", "a form must carry the secret of its session, but this one did not; "
            "load the page again, then send it",
        )  # fmt: skip
    return receive


async def _read(receive: Receive) -> tuple[bytes, Receive]:
    """The whole body, and a way to receive it again."""
    parts: list[bytes] = []
    more = True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            break
        parts.append(message.get("body", b""))
        more = message.get("more_body", False)
    body = b"".join(parts)
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return waiting.pop() if waiting else await receive()

    return body, again


def _wants_page(scope: Scope, headers: dict[bytes, bytes]) -> bool:
    return (
        scope["method"] == "GET"
        and not scope["path"].startswith("/api/")
        and b"text/html" in headers.get(b"accept", b"")
        and b"authorization" not in headers
    )


async def _redirect(scope: Scope, headers: dict[bytes, bytes], send: Send) -> None:
    query = scope["query_string"].decode("latin-1")
    goal = quote(scope["path"] + (f"?{query}" if query else ""), safe="")
    ended = "ended=true&" if sessions.cookie_in(headers.get(b"cookie", b"")) else ""
    place = f"{SIGN_IN}?{ended}next={goal}".encode()
    await send({"type": "http.response.start", "status": 303, "headers": [(b"location", place)]})
    await send({"type": "http.response.body", "body": b""})
