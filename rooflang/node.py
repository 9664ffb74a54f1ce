"""Frozen values that are hashed once.

Designs and lowered programs are trees of small values that share most of their parts with the design that
they were made from. Whoever keeps results by such a value pays for its new parts alone: the hash of every
part is kept in it, and equal parts are mostly one object.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


class Node:
    """The place where a value keeps its hash. It is no field: it is neither compared nor pickled."""

    __slots__ = ("_hash",)
    _hash: int


@dataclass_transform(frozen_default=True)
def node(cls: type[T]) -> type[T]:
    """A frozen slotted dataclass (of a subclass of Node) whose hash is computed when first asked for."""
    made = dataclass(frozen=True, slots=True)(cls)
    of_fields = made.__hash__

    def once(self: Node) -> int:
        try:
            return self._hash
        except AttributeError:
            value = of_fields(self)
            object.__setattr__(self, "_hash", value)
            return value

    made.__hash__ = once  # type: ignore[assignment]
    return made
