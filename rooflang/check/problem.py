"""One broken rule."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """`where` names section and value; `hint` says what to do instead."""

    code: str
    where: str
    message: str
    hint: str = ""
