"""What an endpoint said, and how a call can end without an answer."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final, TypeAlias

Json: TypeAlias = dict[str, Any]

RETRIED: Final = frozenset(("busy", "server", "connection", "timeout", "cut_off", "empty"))
"""Kinds of failure that may be gone at the next attempt."""

UNCHARGED: Final = frozenset(("busy", "server", "wrong_key", "no_such_model", "refused", "unsupported"))
"""Kinds in which the endpoint did no work that it could charge; all others count at their worst."""


class CallError(Exception):
    """A call that gave no answer; `kind` is a code, the message one sentence without a key."""

    def __init__(self, kind: str, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class Called:
    """One tool that a model asks for; `arguments` is text, JSON if the model is right."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer. Token counts are None where the endpoint gives none; those of output include reasoning."""

    text: str
    calls: tuple[Called, ...]
    finish: str
    refusal: str
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None

    def to_json(self) -> Json:
        return asdict(self)


def reply_from(values: Json) -> Reply:
    """The recorded reply."""
    return Reply(**{**values, "calls": tuple(Called(**c) for c in values["calls"])})
