"""Takes secrets out of what is logged: configured ones, tokens, and passwords in URLs."""

from __future__ import annotations

import re
from collections.abc import Mapping, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from pydantic import SecretStr

from server.settings import Settings

HIDDEN = "***"
SHORTEST = 4
_PATTERNS = (
    (re.compile(r"(seis_[0-9a-f]{12}_)[A-Za-z0-9_-]{20,}"), rf"\1{HIDDEN}"),
    (re.compile(r"(?i)\b(bearer\s+)[^\s\"',;]+"), rf"\1{HIDDEN}"),
    (re.compile(r"(?i)(seis_session=)[^\s;\"']+"), rf"\1{HIDDEN}"),
    (re.compile(r"(://[^\s/@:]*:)[^\s/@]+(@)"), rf"\1{HIDDEN}\2"),
    (re.compile(r"\b(sk-)[A-Za-z0-9_-]{16,}"), rf"\1{HIDDEN}"),
)
_NAMES = re.compile(r"(?i)(password|secret|api_?key|authorization|cookie|^token$)")


class Redaction:
    """A processor of structlog, the last one before lines are written."""

    def __init__(self, settings: Settings) -> None:
        self._secrets = tuple(sorted(secrets_of(settings), key=len, reverse=True))

    def __call__(self, logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        for name, value in event.items():
            event[name] = HIDDEN if _NAMES.search(name) and value else self.clean(value)
        return event

    def clean(self, value: Any) -> Any:
        """The value without secrets."""
        if isinstance(value, str):
            for secret in self._secrets:
                value = value.replace(secret, HIDDEN)
            for pattern, by in _PATTERNS:
                value = pattern.sub(by, value)
            return value
        if isinstance(value, Mapping):
            return {k: HIDDEN if _NAMES.search(str(k)) and v else self.clean(v) for k, v in value.items()}
        if isinstance(value, list | tuple):
            return [self.clean(v) for v in value]
        if value is None or isinstance(value, bool | int | float):
            return value
        return self.clean(str(value))


def secrets_of(settings: Settings) -> set[str]:
    """Every secret of the settings; of a URL its password alone, unless all of it is secret."""
    found = set()
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        if not isinstance(value, SecretStr):
            continue
        text = value.get_secret_value()
        if "://" in text and name != "webhook_url":
            try:
                text = urlsplit(text).password or ""
            except ValueError:
                continue
        elif name == "database":
            continue
        if len(text) >= SHORTEST:
            found.add(text)
    return found
