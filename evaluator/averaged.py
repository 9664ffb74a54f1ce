"""Sizes averaged over contexts: what a step costs when its sequences stand at different contexts.

The work of a step is a sum over sequences, so its expectation is that of every amount: each size that
depends on the context is averaged on its own, never taken at the mean context.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from evaluator.numeric import Numeric, Value, product_of, total
from evaluator.routing import Skew
from rooflang.size import Size


class Averaged(Numeric):
    """A Numeric whose context `S` and queries `Q` may vary along a leading axis, with weights that sum to 1.

    Every value it gives has been averaged over that axis, which is left at size 1.
    """

    def __init__(
        self, symbols: Mapping[str, Value], routing: str | Skew, weights: NDArray[np.float64]
    ) -> None:
        super().__init__(symbols, routing)
        self._each = Numeric(symbols, routing)
        self._weights = weights
        # The leading axis stands before those of the grid, which the queries of decode steps may have.
        ndim = np.ndim(symbols["S"])
        self._names = {"S"} | ({"Q"} if np.ndim(symbols["Q"]) == ndim else set())

    def moved(self, name: str, value: Value) -> Numeric:
        return Averaged({**self._symbols, name: value}, self._routing_kind, self._weights)

    def over(self, node: Size, rate: float) -> Value:
        return self(node) / rate

    def _compute(self, node: Size) -> Value:
        if self._names.isdisjoint(node.symbols()):
            return self._each(node)
        if node.kind == "add":
            return total([self(a) for a in node.arguments])
        if node.kind == "mul":
            moving = [a for a in node.arguments if not self._names.isdisjoint(a.symbols())]
            if len(moving) == 1:
                # The average is taken before the product widens it.
                fixed = [self._each(a) for a in node.arguments if a is not moving[0]]
                return product_of([self(moving[0]), *fixed])
        each = np.asarray(self._each(node))
        found: NDArray[np.float64] = np.tensordot(self._weights, each, axes=(0, 0))[None]
        return found
