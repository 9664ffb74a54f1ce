"""One step in time: which tokens exist, where they stand, and which cache rows they see."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from rooflang.layout import Layout, Split
from rooflang.run.place import Grid, distribute
from rooflang.run.value import Array, Mask, RowRule


@dataclass(frozen=True, slots=True)
class Step:
    """`start[b]` tokens are cached before the step; sequence b adds `valid[b]` of `queries` slots."""

    start: tuple[int, ...]
    valid: tuple[int, ...]
    queries: int

    @property
    def batch(self) -> int:
        return len(self.start)

    @property
    def end(self) -> tuple[int, ...]:
        return tuple(s + v for s, v in zip(self.start, self.valid, strict=True))

    @property
    def exists(self) -> Array:
        """(B, Q): slots that hold a token."""
        return np.arange(self.queries) < np.array(self.valid)[:, None]


def sees(rule: RowRule, rows: Array, positions: Array) -> Array:
    """Whether a query at a position sees a row (arrays that broadcast)."""
    if rule.rows == "every":
        return (rows + 1) * rule.span <= positions + 1
    if rule.rows == "window":
        return (rows <= positions) & (rows > positions - rule.span)
    seen: Array = rows <= positions
    return seen


@dataclass(slots=True)
class Tokens:
    """Positions and visibility on one pool's mesh, computed once per step and layout."""

    step: Step
    grid: Grid
    cyclic: frozenset[str]
    _made: dict[object, Array] = field(default_factory=dict)

    def _cut(self, key: object, array: Array, names: tuple[str, ...], layout: Layout) -> Array:
        cells = tuple((a, c) for a, c in layout if isinstance(c, Split) and c.dim in names)
        found = self._made.get((key, cells))
        if found is None:
            found = distribute(array, 0, names, cells, self.grid, self.cyclic)
            self._made[key, cells] = found
        return found

    def positions(self, layout: Layout) -> Array:
        """(mesh, B, Q): the position of every slot."""
        array = np.array(self.step.start)[:, None] + np.arange(self.step.queries)
        return self._cut("positions", array, ("B", "Q"), layout)

    def exists(self, layout: Layout) -> Array:
        return self._cut("exists", self.step.exists, ("B", "Q"), layout)

    def starts(self, layout: Layout) -> Array:
        return self._cut("starts", np.array(self.step.start), ("B",), layout)

    def valid(self, layout: Layout) -> Array:
        return self._cut("valid", np.array(self.step.valid), ("B",), layout)

    def written(self, rule: RowRule, layout: Layout) -> Array:
        """(mesh, B): how many rows have been written when the step reads."""
        tokens = np.array(self.step.end if rule.fresh else self.step.start)
        count = tokens // rule.span if rule.rows == "every" else tokens
        return self._cut(("written", rule.rows, rule.span, rule.fresh), count, ("B",), layout)

    def rows(self, dim: str, size: int, layout: Layout) -> Array:
        """(mesh, rows): the global number of every local row."""
        return self._cut(("rows", dim, size), np.arange(size), (dim,), layout)

    def mask(self, rule: RowRule, size: int, layout: Layout, queries: bool) -> Mask:
        """The rule as a mask over (B, Q, rows), or over (B, rows) of rows that are written."""
        cells = tuple((a, c) for a, c in layout if isinstance(c, Split) and c.dim in ("B", "Q", rule.dim))
        key = ("mask", rule, size, cells, queries)
        found = self._made.get(key)
        rows = self.rows(rule.dim, size, layout)
        if found is None:
            exists = rows[..., None, :] < self.written(rule, layout)[..., None]
            if queries:
                seen = sees(rule, rows[..., None, None, :], self.positions(layout)[..., None])
                found = seen & exists[..., None, :]
            else:
                found = exists
            self._made[key] = found
        return Mask(("B", "Q", rule.dim) if queries else ("B", rule.dim), found)
