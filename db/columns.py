"""Column types that store the same value, or refuse it, on SQLite and on PostgreSQL.

Left alone the two differ: SQLite drops time zones, turns NaN into NULL, and keeps text in integer
columns; PostgreSQL refuses NUL characters. Each type here
raises InvalidValueError before a driver sees such a value.
"""

from __future__ import annotations

import json
import math
import string
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import BigInteger, DateTime, Dialect, Float, String, Text
from sqlalchemy.types import TypeDecorator

from db.errors import InvalidValueError

_HEX = frozenset(string.digits + "abcdef")


def utc_now() -> datetime:
    """The current time, in UTC."""
    return datetime.now(UTC)


def write_json(value: Any) -> str:
    """One value as compact JSON; numbers that JSON lacks (NaN, infinity) raise InvalidValueError."""
    try:
        return json.dumps(value, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidValueError(
            f"a stored value must be plain JSON with finite numbers, but got {type(value).__name__}: {error}"
        ) from None


class UtcTime(TypeDecorator[datetime]):
    """An aware time, stored and returned in UTC."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise InvalidValueError(f"a stored time must carry a time zone, but got {value!r}; use UTC")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class PlainText(TypeDecorator[str]):
    """Text of any length that every database can hold: no NUL character, valid Unicode."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        if value is None:
            return None
        if not isinstance(value, str):
            raise InvalidValueError(f"stored text must be a string, but got {value!r}")
        if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
            raise InvalidValueError(
                f"stored text must be valid Unicode without NUL characters, but got {value[:80]!r}"
            )
        return str(value)


class Sha256(TypeDecorator[str]):
    """A SHA-256 digest: 64 lower-case hexadecimal digits."""

    impl = String(64)
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        if value is None:
            return None
        if not isinstance(value, str) or len(value) != 64 or not _HEX.issuperset(value):
            raise InvalidValueError(
                f"a hash must be 64 lower-case hexadecimal digits (SHA-256), but got {value!r}"
            )
        return value


class Finite(TypeDecorator[float]):
    """A finite number in double precision."""

    impl = Float(53)
    cache_ok = True

    def process_bind_param(self, value: float | None, dialect: Dialect) -> float | None:
        if value is None:
            return None
        if not isinstance(value, int | float) or not math.isfinite(value):
            raise InvalidValueError(f"a stored number must be finite, but got {value!r}")
        return float(value)


class Whole(TypeDecorator[int]):
    """A whole number of at most 64 bits."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: int | None, dialect: Dialect) -> int | None:
        if value is None:
            return None
        if not isinstance(value, int) or not -(2**63) <= value < 2**63:
            raise InvalidValueError(f"a stored count must be a whole number of 64 bits, but got {value!r}")
        return int(value)


def is_hex(text: str) -> bool:
    """Whether the text has lower-case hexadecimal digits alone."""
    return _HEX.issuperset(text)
