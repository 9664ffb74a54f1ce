"""Sessions of browsers: a cookie in place of a token, and a second secret that forms must carry."""

from __future__ import annotations

import hmac
import secrets
from datetime import datetime, timedelta
from http.cookies import CookieError, SimpleCookie

from db import Database, Token
from server.access.tokens import digest, is_live

COOKIE = "seis_session"
FIELD = "csrf_token"
HEADER = b"x-csrf-token"
LONGEST = 200


def begin(database: Database, token: Token, now: datetime, hours: float) -> str:
    """A new session of a token; the text of its cookie."""
    text = secrets.token_urlsafe(32)
    until = now + timedelta(hours=hours)
    if token.expires_at is not None:
        until = min(until, token.expires_at)
    database.create_session(digest(text), token.id, until)
    return text


def check(database: Database, text: str, now: datetime) -> Token | None:
    """The token of a session that may be used."""
    token = database.find_session(digest(text))
    return token if token is not None and is_live(token, now) else None


def end(database: Database, text: str) -> None:
    """Sign out."""
    database.remove_session(digest(text))


def cookie_in(header: bytes) -> str:
    """The session's text in a Cookie header, or nothing."""
    try:
        found = SimpleCookie(header.decode("latin-1")).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found is not None and len(found.value) <= LONGEST else ""


def csrf_token(session: str) -> str:
    """What forms of a session must carry: another site can make a browser send the cookie, but not this."""
    return hmac.new(session.encode(), b"csrf", "sha256").hexdigest()


def set_cookie(session: str, hours: float, secure: bool) -> str:
    """The value of Set-Cookie; an empty session removes it."""
    age = int(hours * 3600) if session else 0
    marks = "; Secure" if secure else ""
    return f"{COOKIE}={session}; Path=/; HttpOnly; SameSite=Strict; Max-Age={age}{marks}"
