"""Local extents: how many elements of a value one rank of its pool holds (the fullest rank)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType

from rooflang.dtype import format_of
from rooflang.layout import Layout, Partial, Split
from rooflang.lowered import LocalOp, Routing, Tensor
from rooflang.size import ONE, Size, ceildiv, mul, routing, symbol
from rooflang.work.ragged import mean_seen


@dataclass(frozen=True)
class Extents:
    """Sizes of the program's dims and the routings of one unit."""

    sizes: Mapping[str, Size]
    routings: Mapping[str, Routing]
    _elements: dict[Tensor, Size] = field(default_factory=dict, repr=False, compare=False)
    _points: dict[tuple[object, ...], Size] = field(default_factory=dict, repr=False, compare=False)

    def dim(self, name: str, axes: tuple[str, ...]) -> Size:
        """The share of a dimension that the fullest rank of these axes holds."""
        size = self.sizes[name]
        return ceildiv(size, product(axes)) if axes else size

    def seen(self, name: str, axes: tuple[str, ...], queries: Size) -> Size:
        """The share of a dimension that a token of the step sees on the fullest rank: the mean over the last
        `queries` tokens of a sequence, where the dimension grows with the context."""
        return mean_seen(self.dim(name, axes), queries)

    def queries(self, cuts: Mapping[str, tuple[str, ...]]) -> Size:
        """Query tokens of a sequence on one rank."""
        return self.dim("Q", cuts.get("Q", ()))

    def elements(self, tensor: Tensor) -> Size:
        """Elements on the fullest rank: choices that spread rows over ranks are taken at their load."""
        found = self._elements.get(tensor)
        if found is None:
            found = self._count(tensor.dims, cuts_of(tensor), routed_axes(tensor), tensor.every)
            self._elements[tensor] = found
        return found

    def bytes(self, tensor: Tensor) -> Size:
        return mul(self.elements(tensor), format_of(tensor.dtype).bytes)

    def iteration(self, op: LocalOp, names: tuple[str, ...]) -> Size:
        """Points of an operator's iteration space on the fullest rank."""
        key = (op.result, op.operands, op.sharding, names)
        found = self._points.get(key)
        if found is None:
            found = self._points[key] = self._iteration(op, names)
        return found

    def _iteration(self, op: LocalOp, names: tuple[str, ...]) -> Size:
        cuts = dict(op.sharding)
        spread: dict[str, tuple[str, tuple[str, ...]]] = {}
        for tensor in (op.result, *(u.tensor for u in op.operands)):
            for tag, (kind, axes) in routed_axes(tensor).items():
                if tag not in spread or kind == "one":
                    spread[tag] = ("one" if _has_picks(self, tag, names) else kind, axes)
        for tensor in (op.result, *(u.tensor for u in op.operands)):
            for d, axes in cuts_of(tensor).items():
                if d in names and d not in cuts and tensor.kind == "value":
                    cuts[d] = axes
        every = max((u.tensor.every for u in op.operands), default=1)
        return self._count(names, cuts, spread, every)

    def tokens(self, cuts: Mapping[str, tuple[str, ...]]) -> Size:
        """Query tokens of a step on one rank (or over the ranks that share them)."""
        return mul(self.dim("B", cuts.get("B", ())), self.queries(cuts))

    def _count(
        self,
        names: tuple[str, ...],
        cuts: Mapping[str, tuple[str, ...]],
        spread: Mapping[str, tuple[str, tuple[str, ...]]],
        every: int,
    ) -> Size:
        factors: list[Size] = []
        taken: set[str] = set()
        for tag, (kind, axes) in spread.items():
            route = self.routings.get(tag)
            if route is None or not axes or "B" not in names:
                continue
            tokens = self.tokens(cuts)
            picks = self.picks(route, self.queries(cuts))
            ranks = product(axes)
            if kind == "one" and all(p in names for p in route.picks) and route.picks:
                choice = () if route.of_state else (self.sizes[route.target], picks)
                factors.append(routing("fullest", ranks, mul(tokens, picks), *choice, tag=tag))
                taken.update(("B", "Q", *route.picks))
            elif not route.of_state and route.picks:
                factors.append(routing("copies", ranks, self.sizes[route.target], picks, tokens, tag=tag))
                taken.update(("B", "Q"))
        # Rows that no token sees do not exist in a space of tokens: its growing axes are ragged.
        last = self.queries(cuts) if "Q" in names else ONE
        factors.extend(self.seen(n, cuts.get(n, ()), last) for n in names if n not in taken)
        if every > 1 and "Q" in names:
            return mul(*factors, Fraction(1, every))
        return mul(*factors) if factors else ONE

    def picks(self, route: Routing, queries: Size = ONE) -> Size:
        """What a token chooses, on average over the last `queries` tokens of a sequence."""
        return mul(*(self.seen(p, (), queries) for p in route.picks)) if route.picks else ONE


@lru_cache(maxsize=512)
def extents_of(sizes: tuple[tuple[str, Size], ...], routings: tuple[Routing, ...]) -> Extents:
    """One object for all units of these sizes and routings, so that what it finds is found once."""
    return Extents(dict(sizes), {r.tag: r for r in routings})


def _has_picks(extents: Extents, tag: str, names: tuple[str, ...]) -> bool:
    route = extents.routings.get(tag)
    return route is not None and bool(route.picks) and all(p in names for p in route.picks)


def product(axes: tuple[str, ...]) -> Size:
    """The number of ranks of these axes."""
    return mul(*(symbol(a) for a in axes)) if axes else ONE


def cuts_of(tensor: Tensor) -> Mapping[str, tuple[str, ...]]:
    """By dimension: the axes that cut it, outermost first."""
    return _cuts(tensor.layout)


@lru_cache(maxsize=65536)
def _cuts(layout: Layout) -> Mapping[str, tuple[str, ...]]:
    cuts: dict[str, tuple[str, ...]] = {}
    for axis, c in layout:
        if isinstance(c, Split):
            cuts[c.dim] = (*cuts.get(c.dim, ()), axis)
    return MappingProxyType(cuts)


def routed_axes(tensor: Tensor) -> Mapping[str, tuple[str, tuple[str, ...]]]:
    """By choice: how a value is partial under it and over which axes."""
    return _routed(tensor.layout)


@lru_cache(maxsize=65536)
def _routed(layout: Layout) -> Mapping[str, tuple[str, tuple[str, ...]]]:
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for axis, c in layout:
        if isinstance(c, Partial) and c.routed:
            kind, axes = found.get(c.routed, (c.kind, ()))
            found[c.routed] = (kind, (*axes, axis))
    return MappingProxyType(found)
