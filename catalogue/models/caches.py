"""Storage of KV caches: `bf16` as computed, or `served` as engines store it."""

from __future__ import annotations

from typing import Literal, TypeAlias

from catalogue.models.blocks import Block

Kv: TypeAlias = Literal["served", "bf16"]


def stored(b: Block, value: str, over: str, dtype: str, block: int) -> str:
    """The value as its cache keeps it: rounded per block where the format is narrower than bf16."""
    if dtype == "bf16":
        return value
    return b.let(f"{value}_q: {dtype}", f"quantize({value} over {over})", block=block)
