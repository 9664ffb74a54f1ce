"""A value on simulated devices, and how arrays with named dimensions line up.

The data of a value has one leading axis per arithmetic level, then one axis per mesh axis of its pool,
then its local dims. A mesh axis has the mesh's size, or size 1 when every rank along it holds the same
data because it was computed from the same data; collectives and comparisons treat both alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Mask:
    """Which entries exist: a bool array over the mesh axes and over `names`."""

    names: tuple[str, ...]
    array: Array


@dataclass(frozen=True, slots=True)
class RowRule:
    """Which rows of a cache a query sees; it becomes a mask where rows meet queries.

    `fresh` says that the rows of this step have been written.
    """

    dim: str
    rows: str
    span: int
    fresh: bool


@dataclass(frozen=True, slots=True)
class Value:
    """`names` are the dims of `data` after the level and mesh axes. Entries that the mask leaves out
    are zero (-1 for an index). A `carrier` holds a log-sum-exp by its exponential."""

    names: tuple[str, ...]
    data: Array
    mask: Mask | None = None
    rules: tuple[RowRule, ...] = ()
    carrier: bool = False
    index: bool = False


class ExecutionError(ValueError):
    """A lowered program that cannot be executed; `code` names the rule that it breaks."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


def align(array: Array, lead: int, names: tuple[str, ...], target: tuple[str, ...]) -> Array:
    """The array with its dims in the order of `target`, size 1 for names that it lacks."""
    if names == target:
        return array
    order = [names.index(n) for n in target if n in names]
    if len(order) != len(names):
        lost = next(n for n in names if n not in target)
        raise ExecutionError("execution.names", f"dimension {lost} is not one of [{', '.join(target)}]")
    moved = array.transpose(*range(lead), *(lead + o for o in order)) if order != sorted(order) else array
    sizes = iter(moved.shape[lead:])
    shape = [next(sizes) if n in names else 1 for n in target]
    return moved.reshape(*moved.shape[:lead], *shape)


def union(*names: tuple[str, ...]) -> tuple[str, ...]:
    """Names in order of first appearance."""
    return tuple(dict.fromkeys(n for group in names for n in group))


def both(first: Mask | None, second: Mask | None, lead: int) -> Mask | None:
    """Entries that exist in both."""
    if first is None or second is None:
        return second if first is None else first
    if first is second:
        return first
    names = union(first.names, second.names)
    return Mask(
        names, align(first.array, lead, first.names, names) & align(second.array, lead, second.names, names)
    )


def zeroed(data: Array, names: tuple[str, ...], mask: Mask | None, lead: int, fill: int = 0) -> Array:
    """The data with entries that do not exist set to zero."""
    if mask is None:
        return data
    held = align(mask.array, lead, mask.names, names)[None]
    if fill == 0 and data.dtype != np.bool_:
        return data * held
    return np.where(held, data, fill)
