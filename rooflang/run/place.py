"""Meshes, and how arrays are cut over their axes and put together again.

Blocks are laid out outermost axis first. Rows of caches are dealt out in turn: along one axis of n
ranks local row i of rank c is row i*n + c; with several axes the outermost deals first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rooflang.layout import Layout, Split
from rooflang.run.value import Array, ExecutionError


@dataclass(frozen=True, slots=True)
class Grid:
    """The axes of one pool, outermost first, with their test sizes."""

    axes: tuple[tuple[str, int], ...]

    def position(self, axis: str) -> int:
        for number, (name, _) in enumerate(self.axes):
            if name == axis:
                return number
        raise ExecutionError("execution.axis", f"axis {axis!r} does not belong to the pool")

    def size(self, axis: str) -> int:
        return self.axes[self.position(axis)][1]

    @property
    def rank(self) -> int:
        return len(self.axes)

    def coordinate(self, axis: str) -> Array:
        """Each rank's place along the axis, shaped like the mesh (size 1 along the others)."""
        position = self.position(axis)
        shape = [1] * self.rank
        shape[position] = -1
        return np.arange(self.axes[position][1]).reshape(shape)


def cut(array: Array, mesh: int, dim: int, ranks: int, cyclic: bool) -> Array:
    """Each rank along array axis `mesh` keeps its own part of array axis `dim`."""
    size = array.shape[dim]
    if size % ranks:
        raise ExecutionError(
            "placement.divides", f"a size of {size} must divide by the {ranks} ranks that cut it"
        )
    parts = (size // ranks, ranks) if cyclic else (ranks, size // ranks)
    x = array.reshape(*array.shape[:dim], *parts, *array.shape[dim + 1 :])
    x = np.moveaxis(x, dim + 1 if cyclic else dim, mesh)
    if array.shape[mesh] == 1:
        return x.squeeze(mesh + 1)
    return np.moveaxis(np.diagonal(x, axis1=mesh, axis2=mesh + 1), -1, mesh)


def gather(array: Array, mesh: int, dim: int, ranks: int, cyclic: bool) -> Array:
    """The parts of `dim` along the ranks of axis `mesh`, put together (one copy for all ranks)."""
    if array.shape[mesh] != ranks:
        shape = list(array.shape)
        shape[mesh] = ranks
        array = np.broadcast_to(array, shape)
    x = np.moveaxis(array, mesh, dim if cyclic else dim - 1)
    x = x.reshape(*x.shape[: dim - 1], ranks * array.shape[dim], *x.shape[dim + 1 :])
    return np.expand_dims(x, mesh)


def distribute(
    array: Array, lead: int, names: tuple[str, ...], layout: Layout, grid: Grid, cyclic: frozenset[str]
) -> Array:
    """A global array (lead axes, dims) cut over a mesh: (lead axes, mesh axes, dims)."""
    x = array.reshape(*array.shape[:lead], *(1 for _ in grid.axes), *array.shape[lead:])
    for axis, c in layout:
        if isinstance(c, Split) and c.dim in names:
            position = lead + grid.rank + names.index(c.dim)
            x = cut(x, lead + grid.position(axis), position, grid.size(axis), c.dim in cyclic)
    return x


def collect(
    array: Array, lead: int, names: tuple[str, ...], layout: Layout, grid: Grid, cyclic: frozenset[str]
) -> tuple[Array, bool]:
    """The global array, and whether all replicas agree (the first is taken)."""
    cells = dict(layout)
    agree = True
    x = array
    for axis, ranks in reversed(grid.axes):
        mesh = lead + grid.position(axis)
        c = cells.get(axis)
        if isinstance(c, Split):
            if c.dim in names:
                x = gather(x, mesh, lead + grid.rank + names.index(c.dim), ranks, c.dim in cyclic)
            else:
                x = x.take([0], axis=mesh)
        elif c is not None:
            raise ExecutionError("placement.partial", f"a value that is {c} along {axis} is not whole")
        elif x.shape[mesh] != 1:
            first = x.take([0], axis=mesh)
            agree = agree and bool((x == first).all())
            x = first
    return x.reshape((*x.shape[:lead], *x.shape[lead + grid.rank :])), agree


def owner(
    ids: Array,
    axes: tuple[str, ...],
    grid: Grid,
    size: int,
    cyclic: bool,
    among: tuple[str, ...] | None = None,
) -> tuple[Array, Array]:
    """For global positions `ids` (mesh axes first) of a dim cut over `axes`: whether this rank holds
    them, and where. With `among` only the rank's place along those axes is asked for."""
    held: Array = np.asarray(ids >= 0)
    local = ids
    extra = ids.ndim - grid.rank
    for axis in axes:
        ranks = grid.size(axis)
        here = grid.coordinate(axis)
        here = here.reshape(*here.shape, *([1] * extra))
        size //= ranks
        place, local = (local % ranks, local // ranks) if cyclic else (local // size, local % size)
        if among is None or axis in among:
            held = np.asarray(held & (place == here))
    return held, np.where(held, local, 0)
