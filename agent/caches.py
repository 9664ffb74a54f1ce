"""What a long-lived worker forgets from time to time: whole lowered designs, of which each is needed once."""

from __future__ import annotations

from evaluator.plan import plan
from rooflang.lower import lower


def forget() -> None:
    """Drop lowered and compiled designs; their sections, which other designs share, stay."""
    plan.cache_clear()
    lower.cache_clear()
