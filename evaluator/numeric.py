"""Symbolic sizes on NumPy arrays: each node once, only on the axes that it depends on.

Values are floats or arrays that broadcast against each other, so a size that does not depend on a grid
axis stays narrow along it. Counts below 2**53 are exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from evaluator.routing import Skew
from rooflang.size import Size

Value: TypeAlias = "float | NDArray[np.float64]"


class Numeric:
    """Evaluates sizes for one set of symbol values under one routing distribution.

    `balanced` gives every rank the mean load, but some rank no less than one whole expert; under `uniform`
    tokens choose experts uniformly and independently; `certain` counts only what any routing must touch; a
    `Skew` has its own statistics, with the symbol `redundant` for further slots of experts on each rank.
    """

    def __init__(self, symbols: Mapping[str, Value], routing: str | Skew) -> None:
        self._symbols = symbols
        self._routing_kind = routing
        self._memo: dict[Size, Value] = {}

    def __call__(self, node: Size) -> Value:
        found = self._memo.get(node)
        if found is None:
            found = self._compute(node)
            self._memo[node] = found
        return found

    def moved(self, name: str, value: Value) -> Numeric:
        """The same with another value of one symbol; what does not depend on it is kept."""
        other = Numeric({**self._symbols, name: value}, self._routing_kind)
        other._memo = {node: v for node, v in self._memo.items() if name not in node.symbols()}
        return other

    def over(self, node: Size, rate: float) -> Value:
        """The value divided by a rate; the division is done on the narrowest factor of a product."""
        if node.kind == "mul":
            return product_of([1.0 / rate, *(self(a) for a in node.arguments)])
        return self(node) / rate

    def _compute(self, node: Size) -> Value:
        match node.kind:
            case "const":
                return float(node.value)
            case "symbol":
                try:
                    return self._symbols[node.value]
                except KeyError:
                    raise KeyError(f"no value was given for {node.value!r}") from None
            case "add":
                return total([self(a) for a in node.arguments])
            case "mul":
                return product_of([self(a) for a in node.arguments])
        a = self(node.arguments[0])
        if node.kind == "call":
            return self._routing(node.value[0], [self(x) for x in node.arguments])
        if node.kind in ("min", "max"):
            pick = np.minimum if node.kind == "min" else np.maximum
            for other in node.arguments[1:]:
                a = pick(a, self(other))
            return a
        b = self(node.arguments[1])
        if node.kind == "ceildiv":
            return np.ceil(a / b)
        if node.kind == "floordiv":
            return np.floor(a / b)
        return a / b

    def _routing(self, function: str, args: list[Value]) -> Value:
        if self._routing_kind == "certain":
            return _certain(function, args)
        if isinstance(self._routing_kind, Skew) and len(args) == 4 and function != "rows":
            return self._routing_kind.statistic(function, args, self._symbols.get("redundant", 0.0))
        match function:
            case "distinct":
                experts, picks, tokens, ranks = args
                hit = -np.expm1(tokens * np.log1p(-np.minimum(picks / experts, 1 - 1e-15)))
                own = experts / ranks
                mean = own * hit
                if self._routing_kind == "balanced":
                    return np.maximum(mean, 1.0)
                # Of R counts with this mean and variance the largest exceeds the mean by about that root.
                most = mean + np.sqrt(2 * np.log(ranks) * mean * (1.0 - hit))
                return np.maximum(np.minimum(most, np.minimum(own, picks * tokens)), 1.0)
            case "copies":
                ranks, experts, picks, tokens = args
                return tokens * chance_of_rank(ranks, experts, picks)
            case "fullest":
                ranks, pairs, *_ = args
                mean = pairs / ranks
                if self._routing_kind != "balanced":
                    mean = mean + np.sqrt(2 * mean * np.log(ranks))
                return np.minimum(pairs, np.maximum(mean, 1.0))
            case _:
                rows, picks, queries, ranks = args
                return np.minimum(rows, picks * queries / ranks)


def chance_of_rank(ranks: Value, experts: Value, picks: Value) -> Value:
    """Chance that a token choosing `picks` of `experts` at random needs one given rank of `ranks`."""
    others = np.asarray(experts - experts / ranks, dtype=float)
    missing: Value = np.ones_like(others)
    for i in range(int(np.max(picks))):
        left = np.maximum(np.asarray(experts) - i, 1.0)  # picks beyond all experts find none left
        missing = missing * np.clip((others - i) / left, 0.0, 1.0)
        if not np.any(missing):
            break
    return 1.0 - missing


def _certain(function: str, args: list[Value]) -> Value:
    """What every routing has in common: all tokens may pick the same experts, on as few ranks as hold them,
    the token's own rank among them; and the same rows of a cache."""
    match function:
        case "distinct":
            experts, picks, _, ranks = args
            return np.maximum(np.minimum(picks, experts) / ranks, 1.0)
        case "copies":
            ranks, experts, picks, tokens = args
            others = np.ceil(picks * ranks / experts) - np.minimum(1.0, ranks - 1.0)
            return tokens * others / ranks
        case "fullest":
            ranks, pairs, *_ = args
            return np.maximum(pairs / ranks, np.minimum(pairs, 1.0))
        case _:
            rows, picks, _, ranks = args
            return np.minimum(rows, picks / ranks)


def total(values: list[Value]) -> Value:
    """Sum, narrow arrays first so that wide ones are touched as seldom as possible."""
    return _fold(np.add, values, 0.0)


def largest(values: list[Value]) -> Value:
    """Element-wise maximum, narrow arrays first."""
    return _fold(np.maximum, values, 0.0)


def product_of(values: list[Value]) -> Value:
    """Product, narrow arrays first."""
    return _fold(np.multiply, values, 1.0)


def times(value: Value, by: Value) -> Value:
    """Product; a factor of one number 1 costs nothing."""
    return value if isinstance(by, float) and by == 1.0 else value * by


def plus(value: Value, more: Value) -> Value:
    """Sum; a term that is the number 0 costs nothing."""
    return value if isinstance(more, float) and more == 0.0 else value + more


def _size(value: Value) -> int:
    return value.size if isinstance(value, np.ndarray) else 1


def _fold(operation: np.ufunc, values: list[Value], empty: float) -> Value:
    if not values:
        return empty
    if len(values) == 1:
        return values[0]
    values = sorted(values, key=_size)
    result = values[0]
    own = False  # whether `result` is ours to overwrite: allocating wide arrays costs more than filling them
    for value in values[1:]:
        if own and isinstance(value, np.ndarray) and value.shape == np.shape(result):
            operation(result, value, out=result)
        else:
            result = operation(result, value)
            own = isinstance(result, np.ndarray) and result.ndim > 0
    return result
