"""What a tool is: a name, what it does in a sentence, typed parameters, and the function behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agent.llm.actions import Action
from agent.llm.reply import Json

TEXT: Final[Json] = {"type": "string"}
EDITS: Final[Json] = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"find": {"type": "string"}, "replace": {"type": "string"}},
        "required": ["find", "replace"],
        "additionalProperties": False,
    },
}


class ToolError(Exception):
    """A tool that cannot do what it was asked; the message goes to the model."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool. Every parameter is required, since constrained decoding wants that."""

    name: str
    does: str
    parameters: dict[str, Json]
    run: Callable[..., Any]

    def specification(self) -> Json:
        """As `tools` of a request."""
        return {
            "type": "function",
            "function": {"name": self.name, "description": self.does, "parameters": self.schema()},
        }

    def schema(self) -> Json:
        """JSON schema of the arguments."""
        return {
            "type": "object",
            "properties": self.parameters,
            "required": list(self.parameters),
            "additionalProperties": False,
        }


def action_schema(tools: Sequence[Tool]) -> Json:
    """`response_format` under which an answer is one action; its root is an object, as OpenAI wants it."""
    choices = [
        {
            "type": "object",
            "properties": {"tool": {"type": "string", "enum": [t.name]}, "arguments": t.schema()},
            "required": ["tool", "arguments"],
            "additionalProperties": False,
        }
        for t in tools
    ]
    schema = {
        "type": "object",
        "properties": {"action": {"anyOf": choices}},
        "required": ["action"],
        "additionalProperties": False,
    }
    return {"type": "json_schema", "json_schema": {"name": "action", "strict": True, "schema": schema}}


def run_action(tools: Sequence[Tool], action: Action) -> Any:
    """What a tool answers. Raises ToolError for an unknown one, and for arguments of a wrong kind."""
    if action.problem:
        raise ToolError(action.problem)
    tool = next((t for t in tools if t.name == action.tool), None)
    if tool is None:
        names = ", ".join(t.name for t in tools)
        raise ToolError(f"a tool must be one of {names}, but got {action.tool[:60]!r}")
    arguments: Json = {}
    for name, schema in tool.parameters.items():
        if name not in action.arguments:
            raise ToolError(f"{tool.name} needs the argument {name}, but got none")
        arguments[name] = _typed(tool.name, name, schema, action.arguments[name])
    return tool.run(**arguments)


def _typed(tool: str, name: str, schema: Json, value: Any) -> Any:
    if schema["type"] == "string":
        if isinstance(value, bool | int | float):
            value = str(value)
        if not isinstance(value, str):
            raise ToolError(f"{name} of {tool} must be a text, but got {type(value).__name__}")
        return value.encode("utf-8", "replace").decode().replace("\0", "")
    if not isinstance(value, list) or not value or len(value) > 64:
        raise ToolError(f"{name} of {tool} must be a list of 1 to 64 edits, but is not")
    for item in value:
        if not isinstance(item, dict) or not all(isinstance(item.get(k), str) for k in ("find", "replace")):
            raise ToolError(f"every one of {name} must have the texts find and replace, but one has not")
    return value
