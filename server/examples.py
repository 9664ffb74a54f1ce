"""Examples of the OpenAPI document, filled with a small design; they are run as tests."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

MARK = "$PLACED"


def filled(value: Any) -> Any:
    """The document with the mark replaced by the text of a placed design."""
    if isinstance(value, dict):
        return {k: filled(v) for k, v in value.items()}
    if isinstance(value, list):
        return [filled(v) for v in value]
    return placed() if value == MARK else value


@lru_cache(maxsize=1)
def placed() -> str:
    """A small model on two devices."""
    from importlib.resources import files

    return files("server").joinpath("example.roof").read_text(encoding="utf-8")
