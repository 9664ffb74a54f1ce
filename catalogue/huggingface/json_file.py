"""Reading a stranger's JSON file: bounded in bytes and nesting, each key once, an object at the top."""

from __future__ import annotations

import json
import stat
from pathlib import Path

from catalogue.huggingface.errors import ConfigError

MAXIMUM_BYTES = 2_000_000
MAXIMUM_DEPTH = 24


def read_json(path: Path) -> dict[str, object]:
    """The object of a JSON file.

    NaN and Infinity are read as numbers, since published files hold them in keys that do not matter here;
    the view refuses them where they do. Raises ConfigError for anything but one JSON object within limits.
    """
    data = _bytes(path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} must be UTF-8 text, but byte {error.start} is not; is it JSON?") from error
    return parse_json(text, str(path))


def parse_json(text: str, where: str) -> dict[str, object]:
    """The object that the text holds. Raises ConfigError as `read_json` does."""
    if not text.strip():
        raise ConfigError(f"{where} must hold a JSON object, but it is empty; download it again")
    try:
        content: object = json.loads(text, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        raise ConfigError(
            f"{where} must be JSON, but line {error.lineno}, column {error.colno} is not: "
            f"{error.msg.lower()}; is the file complete?"
        ) from error
    except RecursionError as error:
        raise ConfigError(_too_deep(where)) from error
    except _TwiceError as error:
        raise ConfigError(f"{where} must give each key once, but got {error} twice; keep one") from error
    except ValueError as error:
        raise ConfigError(
            f"{where} must hold numbers of at most 4,300 digits, but has a longer one"
        ) from error
    if not isinstance(content, dict):
        raise ConfigError(
            f"{where} must hold a JSON object, but got {_kind(content)}; a config.json begins with {{"
        )
    _check_depth(content, where)
    return content


class _TwiceError(ValueError):
    """A key is given twice; the text is the key."""


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _TwiceError(repr(key[:60]))
            seen.add(key)
    return made


def _bytes(path: Path) -> bytes:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise ConfigError(f"{path} must be a file, but it is none; name a config.json")
        with path.open("rb") as file:
            data = file.read(MAXIMUM_BYTES + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, ConfigError):
            raise
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise ConfigError(
            f"{path} must be a readable file, but got: {reason.lower()}; check the path"
        ) from error
    if len(data) > MAXIMUM_BYTES:
        raise ConfigError(
            f"{path} must hold at most {MAXIMUM_BYTES} bytes, but holds more; is it a config.json?"
        )
    return data


def _check_depth(content: object, where: str) -> None:
    level: list[object] = [content]
    for _ in range(MAXIMUM_DEPTH):
        below: list[object] = []
        for value in level:
            if isinstance(value, dict):
                below.extend(value.values())
            elif isinstance(value, list):
                below.extend(v for v in value if isinstance(v, dict | list))
        if not below:
            return
        level = below
    raise ConfigError(_too_deep(where))


def _too_deep(where: str) -> str:
    return f"{where} must nest at most {MAXIMUM_DEPTH} levels, but nests more; is it a config.json?"


def _kind(value: object) -> str:
    names = {list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number"}
    return names.get(type(value), "null")
