"""Tokens: random, shown once, and kept as their hash alone."""

from __future__ import annotations

import hmac
import re
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256

from db import Database, Token, TokenScope

ORDER: tuple[TokenScope, ...] = ("read", "submit", "admin")
"""Each scope holds those before it."""
PATTERN = re.compile(r"seis_([0-9a-f]{12})_([A-Za-z0-9_-]{43})\Z")


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, and what they may do."""

    id: str
    scope: TokenScope

    def may(self, scope: TokenScope) -> bool:
        """Whether the scope is among theirs."""
        return ORDER.index(scope) <= ORDER.index(self.scope)


LOCAL = Caller("local", "admin")
"""Whoever can reach the loopback of this machine, where no token is needed."""


def create_token(
    database: Database, name: str, scope: TokenScope, now: datetime, days: float | None = None
) -> tuple[Token, str]:
    """A new token and its text, which cannot be shown again."""
    identifier, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    text = f"seis_{identifier}_{secret}"
    token = Token(
        id=identifier, token_hash=digest(text), name=name, scope=scope, created_at=now,
        expires_at=None if days is None else now + timedelta(days=days), revoked_at=None, used_at=None,
    )  # fmt: skip
    database.create_token(token)
    return token, text


def check_token(database: Database, text: str, now: datetime) -> Token | None:
    """The token that a text is, if it may be used; it has 256 random bits, so its hash needs no salt."""
    found = PATTERN.match(text)
    if found is None:
        return None
    token = database.find_token(found[1])
    if token is None or not hmac.compare_digest(token.token_hash, digest(text)):
        return None
    return token if is_live(token, now) else None


def is_live(token: Token, now: datetime) -> bool:
    """Whether a token has neither run out nor been revoked."""
    return token.revoked_at is None and (token.expires_at is None or now < token.expires_at)


def digest(text: str) -> str:
    """What is stored of a secret."""
    return sha256(text.encode()).hexdigest()
