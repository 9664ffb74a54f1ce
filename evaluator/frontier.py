"""Pareto frontiers of interactivity and throughput, and how far one is ahead of another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Point:
    """One operating point of a cluster.

    tokens_per_second_per_user  interactivity
    tokens_per_second_per_gpu   throughput over all devices of the cluster, idle ones included
    batch                       sequences in flight over all devices
    configuration               mesh sizes, replicas, micro-batches, drafted tokens
    design                      hash (or name) of the design that delivers it
    binding                     what sets the step time
    """

    tokens_per_second_per_user: float
    tokens_per_second_per_gpu: float
    batch: int
    configuration: Mapping[str, int] = field(default_factory=dict)
    design: str = ""
    binding: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def pareto(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.intp]:
    """Indices of the points that none beats on both coordinates, by falling x."""
    order = np.lexsort((-y, -x))
    best = np.maximum.accumulate(y[order])
    keep = np.concatenate(([True], y[order][1:] > best[:-1])) if len(order) else np.zeros(0, bool)
    return order[keep]


def front(points: Sequence[Point]) -> tuple[Point, ...]:
    """The Pareto frontier of points, from the most interactive to the most productive."""
    if not points:
        return ()
    x = np.array([p.tokens_per_second_per_user for p in points])
    y = np.array([p.tokens_per_second_per_gpu for p in points])
    return tuple(points[i] for i in pareto(x, y))


def _arrays(points: Sequence[Point]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    x = np.array([p.tokens_per_second_per_user for p in points], dtype=float)
    y = np.array([p.tokens_per_second_per_gpu for p in points], dtype=float)
    return x, y


def simultaneous_gain(old: Sequence[Point], new: Sequence[Point]) -> tuple[float, Point | None, Point | None]:
    """(gain, old point, new point): the largest share by which a new point is better on both axes.

    max over pairs of min(new x / old x, new y / old y) - 1. Zero or less means that none is.
    """
    if not old or not new:
        return 0.0, None, None
    (ox, oy), (nx, ny) = _arrays(old), _arrays(new)
    ratio = np.minimum(nx[None, :] / ox[:, None], ny[None, :] / oy[:, None])
    i, j = np.unravel_index(int(np.argmax(ratio)), ratio.shape)
    return float(ratio[i, j] - 1), old[int(i)], new[int(j)]


def hypervolume(points: Sequence[Point]) -> float:
    """Area under the frontier in log-log scale above (1 token/s/user, 1 token/s/GPU).

    A logarithm makes a gain of 10 % count alike everywhere on a frontier that spans decades.
    """
    kept = front(points)
    area, top = 0.0, 0.0
    for p in kept:
        x, y = np.log(max(p.tokens_per_second_per_user, 1.0)), np.log(max(p.tokens_per_second_per_gpu, 1.0))
        area += x * max(0.0, y - top)
        top = max(top, y)
    return float(area)


def hypervolume_gain(old: Sequence[Point], new: Sequence[Point]) -> float:
    """Relative gain of the joint frontier's hypervolume over the old one's."""
    before = hypervolume(old)
    return hypervolume([*old, *new]) / before - 1 if before else 0.0


def _at(points: Sequence[Point], at: float, by: str, get: str) -> float | None:
    """The best `get` among points whose `by` is at least `at`."""
    found = [getattr(p, get) for p in points if getattr(p, by) >= at]
    return max(found) if found else None


def matched_gains(old: Sequence[Point], new: Sequence[Point]) -> tuple[float, float]:
    """Largest gains of (throughput at matched interactivity, interactivity at matched throughput)."""
    user, gpu = "tokens_per_second_per_user", "tokens_per_second_per_gpu"
    gains = []
    for by, get in ((user, gpu), (gpu, user)):
        best = 0.0
        for p in old:
            reached = _at(new, getattr(p, by), by, get)
            if reached is not None:
                best = max(best, reached / getattr(p, get) - 1)
        gains.append(best)
    return gains[0], gains[1]
