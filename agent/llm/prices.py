"""What tokens cost: a table with sources, and a user's own in its form."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from agent.llm.errors import LlmError


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars per million tokens of prompts and of answers; reasoning is paid like an answer."""

    prompt: float
    output: float
    source: str

    def of(self, prompt_tokens: int, output_tokens: int) -> float:
        """Dollars of one call."""
        return (prompt_tokens * self.prompt + output_tokens * self.output) / 1e6


def price_of(model: str, path: str = "") -> Price | None:
    """The price of a model, a user's file before the table. A name also stands for its dated versions.

    Raises LlmError for a file that cannot be read.
    """
    tables = [_read_file(path)] if path else []
    for table in [*tables, _table()]:
        names = [
            n for n in table if model == n or (model.startswith(n + "-") and model[len(n) + 1].isdigit())
        ]
        if names:
            return table[max(names, key=len)]
    return None


@cache
def _table() -> dict[str, Price]:
    return _read(files("agent.llm").joinpath("prices.yaml").read_text(encoding="utf-8"), "prices.yaml")


def _read_file(path: str) -> dict[str, Price]:
    try:
        return _read(Path(path).read_text(encoding="utf-8"), path)
    except (OSError, UnicodeDecodeError) as error:
        raise LlmError(
            f"a file of prices must be readable, but {path} is not ({error}); correct it"
        ) from None


def _read(text: str, path: str) -> dict[str, Price]:
    try:
        found: Any = yaml.safe_load(text)
        prices = {
            str(name): Price(float(p["prompt"]), float(p["output"]), str(p["source"]))
            for name, p in found.items()
        }
    except (yaml.YAMLError, AttributeError, KeyError, TypeError, ValueError):
        prices = {}
    good = all(0 <= p.prompt < 1e6 and 0 <= p.output < 1e6 for p in prices.values())
    if not prices or not good:
        raise LlmError(
            "a file of prices must give each model prompt and output (dollars per million tokens) and "
            f"source, but {path} does not; correct it"
        )
    return prices
