"""Which model of which endpoint proposes, and how far it may go."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NoReturn
from urllib.parse import urlsplit

from agent.llm.errors import LlmError
from agent.llm.prices import Price, price_of

HIDDEN: Final = "[key]"

BASE_URL: Final = "https://api.openai.com/v1"
"""Where a model is looked for if no address is given."""


class Secret:
    """A key that shows itself to nobody who does not ask for it by `reveal`."""

    __slots__ = ("_value",)

    def __init__(self, value: str = "") -> None:
        self._value = value

    def reveal(self) -> str:
        """The key itself."""
        return self._value

    def hide(self, text: str) -> str:
        """The text with every occurrence of the key covered: what an endpoint says may repeat it."""
        return text.replace(self._value, HIDDEN) if len(self._value) > 3 else text

    def __bool__(self) -> bool:
        return bool(self._value)

    def __repr__(self) -> str:
        return f"Secret({'***' if self._value else ''})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key must stay in its process, but it was to be copied or pickled")


@dataclass(frozen=True, slots=True)
class Limits:
    """What the calls of one search, and those of one day (UTC) over all searches, may use; None is no limit.

    Cost in dollars, time in seconds spent waiting for answers.
    """

    tokens: int | None = 200_000
    cost: float | None = None
    calls: int | None = 200
    seconds: float | None = 3600.0
    day_tokens: int | None = None
    day_cost: float | None = None
    day_calls: int | None = None
    day_seconds: float | None = None

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise LlmError(f"a limit of {name} must be at least 0, but got {value}; give a larger one")


@dataclass(frozen=True, slots=True)
class Settings:
    """A language model at an OpenAI-compatible endpoint.

    `call_seconds` end one attempt, `exchange_seconds` all attempts at one answer together; `turns` answers
    are asked for per round. Models with a `context_tokens` below 32,768 get a short prompt and short results.
    Raises LlmError for an address that is none, or a limit of cost where the price is not known.
    """

    model: str
    base_url: str = BASE_URL
    key: Secret = field(default_factory=Secret, repr=False)
    limits: Limits = field(default_factory=Limits)
    price: Price | None = None
    stream: bool = True
    temperature: float | None = 0.7
    max_output_tokens: int = 4096
    context_tokens: int = 131_072
    turns: int = 16
    attempts: int = 4
    call_seconds: float = 120.0
    exchange_seconds: float = 300.0

    def __post_init__(self) -> None:
        parts = urlsplit(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise LlmError(
                "the address of a language model must begin with http:// or https://, but got "
                f"{self.key.hide(self.base_url)!r}; give one such as {BASE_URL}"
            )
        if parts.username or parts.password or parts.query or parts.fragment:
            raise LlmError(
                "the address of a language model must hold no user, password or query; "
                "give a key in SEIS_LLM_API_KEY"
            )
        if not self.model.strip():
            raise LlmError("a language model must have a name, but got none; set SEIS_LLM_MODEL")
        for name in ("max_output_tokens", "context_tokens", "turns", "attempts"):
            if getattr(self, name) < 1:
                raise LlmError(f"{name} must be at least 1, but got {getattr(self, name)}; give more")
        if self.price is None:
            free = Price(0.0, 0.0, "an endpoint on this machine") if _is_loopback(parts.hostname) else None
            object.__setattr__(self, "price", price_of(self.model) or free)
        costly = self.limits.cost is not None or self.limits.day_cost is not None
        if costly and self.price is None:
            raise LlmError(
                f"a limit of cost needs the price of {self.model}, which is not known; "
                "name a file of prices in SEIS_LLM_PRICES, or limit tokens"
            )

    def public(self) -> dict[str, Any]:
        """What a replay needs to ask the same again; no key."""
        return {
            "model": self.model,
            "base_url": self.base_url,
            "temperature": self.temperature,
            "max_output_tokens": self.max_output_tokens,
            "context_tokens": self.context_tokens,
            "turns": self.turns,
        }


def settings_from_environment(
    *,
    base_url: str | None = None,
    model: str | None = None,
    limits: Limits | None = None,
    environment: Mapping[str, str] | None = None,
) -> Settings:
    """Settings from `SEIS_LLM_*`, those given first. Raises LlmError if no model is named."""
    values = os.environ if environment is None else environment
    name = model or values.get("SEIS_LLM_MODEL", "")
    if not name:
        raise LlmError(
            "a language model must be named to be asked, but none is; give --llm-model or set SEIS_LLM_MODEL"
        )
    prices = values.get("SEIS_LLM_PRICES", "")
    found = limits or Limits()
    for key in ("day_tokens", "day_cost", "day_calls", "day_seconds"):
        text = values.get(f"SEIS_LLM_{key.upper()}", "")
        if text and getattr(found, key) is None:
            found = replace(found, **{key: _number(f"SEIS_LLM_{key.upper()}", text)})  # type: ignore[arg-type]
    other: dict[str, Any] = {}
    for key in ("max_output_tokens", "context_tokens", "turns"):
        text = values.get(f"SEIS_LLM_{key.upper()}", "")
        if text:
            other[key] = int(_number(f"SEIS_LLM_{key.upper()}", text))
    return Settings(
        model=name,
        base_url=(base_url or values.get("SEIS_LLM_BASE_URL", "") or BASE_URL).rstrip("/"),
        key=Secret(values.get("SEIS_LLM_API_KEY", "")),
        limits=found,
        price=price_of(name, prices) if prices else None,
        stream=values.get("SEIS_LLM_STREAM", "1") not in ("0", "false", "no"),
        **other,
    )


def _number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise LlmError(f"{name} must be a number, but got {text[:40]!r}; correct it") from None
    if value != value or value < 0:
        raise LlmError(f"{name} must be at least 0, but got {text[:40]!r}; correct it")
    return value


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
