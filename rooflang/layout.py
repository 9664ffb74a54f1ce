"""Placement types: where a value lives along each axis of its pool's mesh.

Along one axis a value is replicated (no entry), split by a dimension, or partial. A partial value is
whole only after its ranks are combined:

    sum   the ranks' values add up
    lse   the ranks hold logarithms of sums: their exponentials add up
    one   each entry is held by exactly one rank, the others hold an absent (zero, invisible) entry
    any   each row is held by every rank that was chosen for it (tokens sent to their experts)

`routed` names the expert or row choice that decides which rank holds what.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Split:
    """The axis cuts this dimension into equal blocks; rows of a cache are dealt out in turn."""

    dim: str

    def __str__(self) -> str:
        return f"split({self.dim})"


@dataclass(frozen=True, slots=True)
class Partial:
    kind: str
    routed: str | None = None

    def __str__(self) -> str:
        return f"partial({self.kind}{', ' + self.routed if self.routed else ''})"


Cell: TypeAlias = "Split | Partial | None"
Layout: TypeAlias = "tuple[tuple[str, Split | Partial], ...]"

REPLICATED: Layout = ()


def cell(layout: Layout, axis: str) -> Cell:
    """What the layout says along one axis; None is replicated."""
    for name, value in layout:
        if name == axis:
            return value
    return None


def layout_of(cells: Mapping[str, Cell], axes: Iterable[str]) -> Layout:
    """The layout with these cells, in mesh order."""
    return tuple((a, c) for a in axes if (c := cells.get(a)) is not None)


def axes_of(layout: Layout, dim: str) -> tuple[str, ...]:
    """The axes that split `dim`, outermost first."""
    return tuple(a for a, c in layout if isinstance(c, Split) and c.dim == dim)


def partial_axes(layout: Layout) -> tuple[str, ...]:
    return tuple(a for a, c in layout if isinstance(c, Partial))


def show(layout: Layout) -> str:
    return " ".join(f"{a}:{c}" for a, c in layout) or "replicated"
