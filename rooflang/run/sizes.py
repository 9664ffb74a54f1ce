"""The sizes at which a lowered program is executed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rooflang.run.place import Grid
from rooflang.run.value import ExecutionError


@dataclass(frozen=True)
class Sizes:
    """Sizes of dims and mesh axes, and of the literals of operators and states.

    `literals` maps (kind, real value) to a test value; kinds are window, every, last, start, block,
    groups and keep. A literal that is not listed stands for itself. `rows` are the dims of cache rows,
    `spans` the tokens for each of which there is one row, for rows that are not a window.
    """

    dims: Mapping[str, int]
    meshes: Mapping[str, tuple[tuple[str, int], ...]] = field(default_factory=dict)
    rows: frozenset[str] = frozenset()
    literals: Mapping[tuple[str, int], int] = field(default_factory=dict)
    spans: Mapping[str, int] = field(default_factory=dict)

    def dim(self, name: str) -> int:
        size = self.dims.get(name)
        if size is None:
            raise ExecutionError("graph.undefined", f"dimension {name!r} has no size")
        return size

    def literal(self, kind: str, value: int) -> int:
        return self.literals.get((kind, value), value)

    def grid(self, pool: str) -> Grid:
        return Grid(self.meshes.get(pool, ()))
