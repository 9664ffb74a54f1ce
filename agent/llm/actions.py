"""From an answer to actions: which tool with which arguments. Nothing in an answer is run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from agent.llm.reply import Json, Reply

MOST_ARGUMENT_CHARACTERS = 200_000
LOOKED_AT = 200
"""Places in a text at which an object of JSON is looked for."""

_REASONING = re.compile(r"<(think|thinking|reasoning)>.*?(</\1>|\Z)", re.S)


@dataclass(frozen=True, slots=True)
class Action:
    """A tool and its arguments; `problem` says in a sentence why it cannot be done. `id` is the call's."""

    id: str
    tool: str
    arguments: Json = field(default_factory=dict)
    problem: str = ""


def actions_of(reply: Reply) -> list[Action]:
    """What a reply asks for: its calls of tools, else the first action written in its text, else nothing."""
    if reply.calls:
        return [_called(c.id, c.name, c.arguments) for c in reply.calls]
    found = written_action(reply.text)
    return [found] if found is not None else []


def written_action(text: str) -> Action | None:
    """The first object of JSON in a text that names a tool, in a code fence or not."""
    for value in _objects(_REASONING.sub("", text)):
        inner = value.get("action", value)
        if isinstance(inner, str):
            inner = value | {"tool": inner}
        if not isinstance(inner, dict):
            continue
        name = next((inner[k] for k in ("tool", "name", "function") if isinstance(inner.get(k), str)), None)
        if name is None:
            continue
        for key in ("arguments", "parameters", "args"):
            if key in inner:
                return _checked("", name, inner[key])
        rest = {k: v for k, v in inner.items() if k not in ("tool", "name", "function", "action")}
        return _checked("", name, rest)
    return None


def _called(name_of_call: str, name: str, arguments: str) -> Action:
    if len(arguments) > MOST_ARGUMENT_CHARACTERS:
        problem = f"arguments must have at most {MOST_ARGUMENT_CHARACTERS:,} characters, but have more"
        return Action(name_of_call, name, problem=problem)
    try:
        value = json.loads(arguments or "{}")
    except (ValueError, RecursionError) as error:
        return Action(
            name_of_call, name, problem=f"arguments must be one object of JSON, but are not: {error}"[:300]
        )
    return _checked(name_of_call, name, value)


def _checked(name_of_call: str, name: str, value: Any) -> Action:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = None
    if not isinstance(value, dict):
        return Action(name_of_call, name, problem="arguments must be one object of JSON, but are not")
    return Action(name_of_call, name, value)


def _objects(text: str) -> Iterator[Json]:
    decoder = json.JSONDecoder()
    at = text.find("{")
    for _ in range(LOOKED_AT):
        if at < 0:
            return
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at = text.find("{", at + 1)
            continue
        if isinstance(value, dict):
            yield value
        at = text.find("{", end)
