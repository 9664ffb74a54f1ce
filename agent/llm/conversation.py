"""One round with a model: it acts, tools answer, until it is done or something ends it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agent.errors import SearchError
from agent.llm.actions import Action, actions_of
from agent.llm.capabilities import lower_mode
from agent.llm.ledger import worst_prompt
from agent.llm.outside import Outside
from agent.llm.reply import Json, Reply, reply_from
from agent.llm.toolkit import Tool, ToolError, action_schema, run_action

MOST_ACTIONS = 8
"""Tools run for one answer."""

MOST_MUTE = 3
"""Answers without an action in a row; a mode of acting that gives so many is given up for the next one."""

BYTES_PER_TOKEN = 3
"""Of a prompt, for the guess whether it still fits a model's context."""

DESIGN_ERRORS = (
    ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError,
)  # fmt: skip
"""What an odd design can make a tool raise; a database that fails is no such error."""

NO_ACTION = "The answer held no action. Answer with one action."
CUT = "The answer was cut off at its longest length. Answer shorter, with one action."


@dataclass(frozen=True, slots=True)
class Turn:
    """An answer and what its actions returned, as text."""

    reply: Reply
    actions: tuple[Action, ...]
    results: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class End:
    """How a conversation ended: `reason` is finished, turns, context, mute, or the kind of a failure."""

    reason: str
    mode: str
    message: str = ""
    turns: int = 0


@dataclass(frozen=True, slots=True)
class Frame:
    """What is the same in every request of a conversation. `system` makes the first message for a mode."""

    model: str
    temperature: float | None
    max_output_tokens: int
    context_tokens: int
    turns: int
    result_characters: int


class Conversation:
    """Asks, runs tools and asks again. `finished` says whether the tools have all they want."""

    def __init__(
        self, outside: Outside, frame: Frame, tools: Sequence[Tool], prompts: dict[str, str], task: str
    ) -> None:
        self._outside = outside
        self._frame = frame
        self._tools = tools
        self._prompts = prompts
        self._task = task
        self._turns: list[Turn] = []

    def run(self, mode: str, finished: Any) -> End:
        """Talk until the end. No failure of an endpoint or a model is raised."""
        mute = 0
        while len(self._turns) < self._frame.turns:
            request = self._request(mode)
            guess = worst_prompt(request) // BYTES_PER_TOKEN + self._frame.max_output_tokens
            if guess > self._frame.context_tokens:
                return self._end("context", mode, "the conversation fills the model's context")
            answer = self._outside.chat(request, mode)
            if answer["outcome"] == "unsupported" and mode != "text":
                mode = lower_mode(mode)
                continue
            if answer["outcome"] != "answered":
                return self._end(answer["outcome"], mode, answer["message"])
            reply = reply_from(answer["reply"])
            actions = actions_of(reply)
            self._turns.append(self._acted(reply, actions))
            mute = 0 if actions else mute + 1
            if actions and (mode != "tools" or reply.calls):
                self._outside.settle(mode)
            if finished():
                return self._end("finished", mode)
            if mute >= MOST_MUTE:
                if mode == "text":
                    return self._end("mute", mode, reply.refusal[:300] or "the model did not act")
                mode, mute = lower_mode(mode), 0
        return self._end("turns", mode)

    def _end(self, reason: str, mode: str, message: str = "") -> End:
        return End(reason, mode, message, len(self._turns))

    def _acted(self, reply: Reply, actions: Sequence[Action]) -> Turn:
        if not actions:
            return Turn(reply, (), (CUT if reply.finish == "length" else NO_ACTION,))
        return Turn(reply, tuple(actions), tuple(self._run(a, i) for i, a in enumerate(actions)))

    def _run(self, action: Action, place: int) -> str:
        """What a tool returned, as JSON of limited length; what goes wrong is told, whatever it is."""
        try:
            if place >= MOST_ACTIONS:
                raise ToolError(f"at most {MOST_ACTIONS} actions are done for one answer; this one was not")
            found = run_action(self._tools, action)
        except ToolError as error:
            found = {"error": str(error)}
        except SearchError:
            raise
        except DESIGN_ERRORS as error:
            found = {"error": f"{action.tool[:60]} failed: {type(error).__name__}"}
        text = json.dumps(found)
        limit = self._frame.result_characters
        return text if len(text) <= limit else text[:limit] + f" … cut at {limit} of {len(text)} characters"

    def _request(self, mode: str) -> Json:
        messages: list[Json] = [
            {"role": "system", "content": self._prompts[mode]},
            {"role": "user", "content": self._task},
        ]
        for number, turn in enumerate(self._turns):
            messages.extend(_with_tools(turn, number) if mode == "tools" else _in_text(turn))
        request: Json = {
            "model": self._frame.model,
            "messages": messages,
            "max_output_tokens": self._frame.max_output_tokens,
            "temperature": self._frame.temperature,
        }
        if mode == "tools":
            request["tools"] = [t.specification() for t in self._tools]
        if mode == "schema":
            request["response_format"] = action_schema(self._tools)
        return request


def _with_tools(turn: Turn, number: int) -> list[Json]:
    """A turn as calls of tools and their results; one that was written in text stays text."""
    if not turn.reply.calls:
        return _in_text(turn)
    names = [f"call_{number}_{place}" for place in range(len(turn.reply.calls))]
    calls = [
        {
            "id": name,
            "type": "function",
            "function": {"name": _name(a.tool), "arguments": json.dumps(a.arguments)},
        }
        for name, a in zip(names, turn.actions, strict=True)
    ]
    said: Json = {"role": "assistant", "content": turn.reply.text or None, "tool_calls": calls}
    results = [
        {"role": "tool", "tool_call_id": name, "content": text}
        for name, text in zip(names, turn.results, strict=True)
    ]
    return [said, *results]


def _name(tool: str) -> str:
    """A name that every endpoint takes back, also one that a model made up."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", tool)[:60] or "none"


def _in_text(turn: Turn) -> list[Json]:
    """A turn as two messages, which take turns as every chat template wants it."""
    said = turn.reply.text or json.dumps([{"tool": a.tool, "arguments": a.arguments} for a in turn.actions])
    return [{"role": "assistant", "content": said}, {"role": "user", "content": "\n".join(turn.results)}]
