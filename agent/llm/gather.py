"""From what an endpoint sends, whole or in pieces, to a reply; whatever is missing or wrong in it is data."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from agent.llm.reply import Called, CallError, Reply

MOST_CHARACTERS = 400_000
"""Of an answer, reasoning included."""

MOST_CALLS = 32
"""Tools asked for in one answer; more are not read."""


async def from_stream(chunks: AsyncIterator[Any]) -> Reply:
    """The reply of a stream. Raises CallError for one that breaks off or has no end."""
    gathered = _Gathered()
    ended = False
    async for chunk in chunks:
        gathered.usage(_get(chunk, "usage"))
        for choice in _get(chunk, "choices") or ():
            gathered.part(_get(choice, "delta"))
            reason = _get(choice, "finish_reason")
            if reason:
                gathered.finish, ended = str(reason), True
            break  # one answer was asked for
    if not ended:
        if gathered.nothing:
            raise CallError("empty", "the endpoint must send an answer, but its stream held none")
        raise CallError("cut_off", "an answer must have an end, but its stream broke off")
    return gathered.reply()


def from_whole(answer: Any) -> Reply:
    """The reply of an answer in one piece. Raises CallError for what is no answer."""
    choices = _get(answer, "choices")
    if isinstance(answer, str | bytes) or not isinstance(choices, list | tuple):
        raise CallError(
            "not_an_endpoint",
            "the address must be that of an OpenAI-compatible endpoint, but what it sends is no answer of "
            "one; most end with /v1",
        )
    gathered = _Gathered()
    gathered.usage(_get(answer, "usage"))
    if not choices:
        raise CallError("empty", "the endpoint must send an answer, but it sent no choices")
    gathered.part(_get(choices[0], "message"))
    gathered.finish = str(_get(choices[0], "finish_reason") or "")
    return gathered.reply()


class _Gathered:
    """What came so far."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._calls: list[list[str]] = []
        self._latest: dict[int, int] = {}
        self._tokens: tuple[int | None, int | None, int | None] = (None, None, None)
        self._length = 0
        self.finish = ""

    @property
    def nothing(self) -> bool:
        return self._length == 0

    def part(self, delta: Any) -> None:
        """One piece of an answer. Reasoning counts in length and is not kept."""
        for name in ("content", "refusal", "reasoning_content", "reasoning"):
            text = _text(_get(delta, name))
            if text:
                self._count(len(text))
                if name in ("content", "refusal"):
                    (self._text if name == "content" else self._refusal).append(text)
        for place, call in enumerate(_get(delta, "tool_calls") or ()):
            self._call(call, place)

    def _call(self, call: Any, place: int) -> None:
        """A piece of a call: of the one with its index, unless its id says that it begins another one."""
        function = _get(call, "function")
        name, arguments = _get(function, "name"), _get(function, "arguments")
        if isinstance(arguments, dict):  # some endpoints give the object itself in place of its text
            arguments = json.dumps(arguments)
        index, identity = _get(call, "index"), _get(call, "id")
        index = index if isinstance(index, int) else place
        held = self._calls[self._latest[index]] if index in self._latest else None
        if held is None or (identity and held[0] and identity != held[0]):
            if len(self._calls) >= MOST_CALLS:
                return
            held = ["", "", ""]
            self._latest[index] = len(self._calls)
            self._calls.append(held)
        for position, value in enumerate((identity, name, arguments)):
            if isinstance(value, str) and value:
                self._count(len(value))
                held[position] = value if position == 0 else held[position] + value

    def usage(self, usage: Any) -> None:
        """Token counts, where they are counts."""
        if usage is None:
            return
        details = _get(usage, "completion_tokens_details")
        self._tokens = (
            _whole(_get(usage, "prompt_tokens")),
            _whole(_get(usage, "completion_tokens")),
            _whole(_get(details, "reasoning_tokens")),
        )

    def reply(self) -> Reply:
        calls = tuple(
            Called(parts[0] or f"call_{index}", parts[1], parts[2]) for index, parts in enumerate(self._calls)
        )
        return Reply("".join(self._text), calls, self.finish, "".join(self._refusal), *self._tokens)

    def _count(self, length: int) -> None:
        self._length += length
        if self._length > MOST_CHARACTERS:
            raise CallError(
                "too_long", f"an answer must have at most {MOST_CHARACTERS:,} characters, but it has more"
            )


def _get(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)


def _text(value: Any) -> str:
    """Text, or the texts of a list of parts."""
    if isinstance(value, list):
        return "".join(_text(_get(part, "text")) for part in value)
    return value if isinstance(value, str) else ""


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9 else None
