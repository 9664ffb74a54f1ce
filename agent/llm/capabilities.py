"""What a model at an endpoint can do. Found out by trying, remembered per endpoint and model."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

MODES: Final = ("tools", "schema", "text")
"""How a model says what it wants done, best first: calls of tools, JSON of a schema, JSON in its text."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """`output_limit` names the parameter that bounds an answer; the others say what may be sent at all."""

    mode: str = "tools"
    output_limit: str = "max_tokens"
    temperature: bool = True
    usage: bool = True
    stream: bool = True

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any] | None) -> Capabilities:
        """What was stored; what is not understood falls back to trying."""
        values = values or {}
        found = cls(**{k: v for k, v in values.items() if k in cls.__slots__})
        return found if found.mode in MODES else replace(found, mode="tools")


_NAMED: Final = (
    ("usage", re.compile(r"stream_options|include_usage")),
    ("output_limit", re.compile(r"max_tokens|max_completion_tokens")),
    ("temperature", re.compile(r"temperature")),
    ("stream", re.compile(r"\bstream(ing)?\b")),
)
_TOOLS: Final = re.compile(r"tool|function", re.I)
_SCHEMA: Final = re.compile(r"response_format|json_schema|schema|grammar", re.I)


def adapted(capabilities: Capabilities, message: str) -> Capabilities | None:
    """What to try after a refused request; None if the message names nothing that may be left out."""
    for name, pattern in _NAMED:
        if not pattern.search(message):
            continue
        if name == "output_limit":
            if capabilities.output_limit == "max_tokens":
                return replace(capabilities, output_limit="max_completion_tokens")
        elif getattr(capabilities, name):
            return replace(capabilities, **{name: False})  # type: ignore[arg-type]
    return None


def blames_mode(mode: str, message: str) -> bool:
    """Whether a refusal is about the way in which a model was to say what it wants done."""
    return (mode == "tools" and bool(_TOOLS.search(message))) or (
        mode == "schema" and bool(_SCHEMA.search(message))
    )


def lower_mode(mode: str) -> str:
    """The next mode down; text stays text."""
    return MODES[min(MODES.index(mode) + 1, len(MODES) - 1)]
