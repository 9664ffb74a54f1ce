"""What the command-line library found wrong with the arguments, in SEIS's own words."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, Final

LONGEST: Final = 40

# What a value must be, by the beginning of the kind of a failed conversion.
_MUST_BE: Final = (
    ("int", "a whole number"),
    ("float", "a number"),
    ("finite", "a number"),
    ("path", "a path"),
    ("string", "a text of UTF-8"),
)


def of_usage(error: Any) -> str:
    """One sentence: what must hold, what was given, and what to do."""
    kind = type(error).__name__
    if kind == "BadParameter":
        found = _bad_value(error)
        if found:
            return found
    if kind == "MissingParameter":
        return f"{_name(error.param)} must be given{_see_help(error)}"
    if kind == "NoSuchOption":
        close = error.possibilities
        hint = f" (did you mean {listed(close)}?)" if close else _see_help(error)
        return f"an option must be one that the command knows, but got {quoted(error.option_name)}{hint}"
    text = str(error.format_message()).strip().removesuffix(".")
    if text.startswith("No such command"):
        given, _, hint = text.removeprefix("No such command ").partition(". Did you mean ")
        hint = f" (did you mean {hint.strip('?')}?)" if hint else "; `seis --help` lists them"
        return f"a command must be one that seis knows, but got {given}{hint}"
    if kind == "BadOptionUsage" and text.endswith("requires an argument"):
        return f"{error.option_name} must be followed by a value; add one or leave it out"
    if kind == "BadOptionUsage" and text.endswith("does not take a value"):
        return f"{error.option_name} must stand alone, without a value; leave the value out"
    if "unexpected extra argument" in text:
        given = text[text.rfind("(") + 1 :].removesuffix(")")
        return f"the command takes fewer arguments: it cannot use {given}{_see_help(error)}"
    return text[:1].lower() + text[1:]


def quoted(value: object) -> str:
    """A given value as a message repeats it: in quotes, and no longer than a line can bear."""
    text = repr(str(value))
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 2]}…{text[0]}"


def listed(names: Sequence[str]) -> str:
    """As a sentence has them: a, b or c."""
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _bad_value(error: Any) -> str:
    """Of an option or argument whose text cannot be converted; empty where the cause is not known."""
    param, cause = error.param, error.__cause__
    problems = cause.errors() if hasattr(cause, "errors") else ()
    if param is None or not problems:
        return ""
    name = _name(param)
    given = quoted(problems[0].get("input"))
    wanted = getattr(getattr(param, "type_descriptor", None), "annotation", None)
    if isinstance(wanted, type) and issubclass(wanted, Enum):
        return f"{name} must be {listed([str(choice.value) for choice in wanted])}, but got {given}"
    for beginning, what in _MUST_BE:
        if str(problems[0].get("type")).startswith(beginning):
            return f"{name} must be {what}, but got {given}"
    return f"{name} cannot be {given}{_see_help(error)}"


def _name(param: Any) -> str:
    """Of an option as it is typed, of an argument as the help shows it."""
    return str(param.opts[0] if param.opts[0].startswith("-") else param.name.upper())


def _see_help(error: Any) -> str:
    context = getattr(error, "ctx", None)
    return f"; see `{context.command_path if context else 'seis'} --help`"
