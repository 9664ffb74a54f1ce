"""A step: one rule at one site, by their names."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """One rule applied at one site."""

    rule: str
    site: str
