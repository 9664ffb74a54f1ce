"""How one operator is cut along one mesh axis: what it needs of its operands, and what it gives.

The order of preference: the operator goes where its weight or cache lives; else the section's lines
decide; else activations stay cut as they are. The rules follow GSPMD and DTensor, with two additions:
operands that are indexed by a choice (experts, top-k rows), and partial log-sum-exp.
"""

from __future__ import annotations

from dataclasses import dataclass

from rooflang.layout import Cell, Layout, Partial, Split, cell
from rooflang.lower.rules import Rules
from rooflang.lowered import Tensor
from rooflang.operators import OPERATORS, whole_names


@dataclass(frozen=True, slots=True)
class Argument:
    """An operand as the decision sees it. `dims` are those after indexing; a foreign operand still
    lives on another pool and can arrive in any layout. `ids` is the layout of the index, None if that is
    foreign."""

    tensor: Tensor
    dims: tuple[str, ...]
    target: str | None = None  # the indexed name
    picks: tuple[str, ...] = ()  # the names of the index
    tag: str | None = None
    over: str | None = None
    foreign: bool = False
    ids: Layout | None = None

    @property
    def stationary(self) -> bool:
        return self.tensor.kind in ("weight", "state") and not self.foreign

    def cell(self, axis: str) -> Cell:
        return None if self.foreign else cell(self.tensor.layout, axis)


@dataclass(frozen=True, slots=True)
class Decision:
    """Required cells per operand (and per index), the result's cell, and the name cut in the operator."""

    needs: tuple[Cell, ...]
    index_needs: tuple[Cell, ...]
    result: Cell
    shard: str | None


def _blocked(
    operator: str, arguments: tuple[Argument, ...], result_dims: tuple[str, ...], second: str | None
) -> frozenset[str]:
    """Names that this operator must see whole."""
    over = {a.over for a in arguments if a.over}
    match operator:
        case "norm" | "rope" | "topk" | "sample":
            return frozenset(over | {second} if second else over)
        case "pool":
            return frozenset({*over, "Z"})
        case "conv" | "scan":
            return whole_names(operator, tuple(a.dims for a in arguments), tuple(a.over for a in arguments))
        case "append":
            # A rank that keeps a row must see the token that writes it.
            return frozenset({"Q"})
        case "concat" | "slice":
            return frozenset(over | (set(arguments[0].dims) ^ set(result_dims)))
        case "split" | "merge":
            # Only the outer of the two names may be cut: H = G·J is cut by G.
            whole = arguments[0].over
            parts = (
                [d for d in result_dims if d not in arguments[0].dims]
                if operator == "split"
                else [d for d in arguments[0].dims if d not in result_dims]
            )
            return frozenset(parts[1:]) - {whole}
        case _:
            return frozenset()


def decide(
    operator: str,
    axis: str,
    arguments: tuple[Argument, ...],
    result_dims: tuple[str, ...],
    rules: Rules,
    second: str | None,
) -> Decision:
    """The decision for one operator along one axis. `second` is a further name that it acts on as a whole."""
    if operator == "logsumexp":
        special = _logsumexp(axis, arguments)
        if special is not None:
            return special
    routed = _routed(operator, axis, arguments, result_dims)
    if routed is not None:
        return routed
    partial = _carry_partial(operator, axis, arguments) or _deferred(operator, axis, arguments)
    if partial is not None:
        return partial
    shard = _choose(operator, axis, arguments, result_dims, rules, second)
    return _cut(operator, arguments, result_dims, shard)


def _all(arguments: tuple[Argument, ...], value: Cell) -> tuple[Cell, ...]:
    return tuple(value for _ in arguments)


def _choose(
    operator: str,
    axis: str,
    arguments: tuple[Argument, ...],
    result_dims: tuple[str, ...],
    rules: Rules,
    second: str | None,
) -> str | None:
    blocked = _blocked(operator, arguments, result_dims, second)
    names: set[str] = set(result_dims)
    for a in arguments:
        names.update(a.dims)
    names -= blocked
    for a in arguments:
        c = a.cell(axis)
        if a.stationary and isinstance(c, Split) and c.dim in names:
            return c.dim
    fixed = {d for a in arguments if a.stationary for d in a.dims}
    for dim, axes in rules:
        if axis in axes and dim in names and (dim not in fixed or dim in ("B", "Q")):
            return dim
    for a in arguments:
        c = a.cell(axis)
        if not a.stationary and isinstance(c, Split) and c.dim in names and c.dim not in fixed:
            return c.dim
    return None


def _cut(
    operator: str, arguments: tuple[Argument, ...], result_dims: tuple[str, ...], shard: str | None
) -> Decision:
    if operator in ("split", "merge") and shard is not None and shard not in arguments[0].dims:
        # A line that names what the view makes cuts what it looks at: the whole, or its outer part.
        parts = [d for d in arguments[0].dims if d not in result_dims]
        shard = arguments[0].over if arguments[0].over in parts else parts[0]
    renamed = shard
    if operator in ("split", "merge") and shard is not None:
        renamed = _renamed(operator, arguments[0], result_dims, shard)
    needs: list[Cell] = []
    index_needs: list[Cell] = []
    for a in arguments:
        has = shard is not None and shard in (a.tensor.dims if a.stationary else a.dims)
        # An indexed cache keeps its own B; the index tensor follows its own names.
        if has and a.target is not None and shard in a.picks and shard not in a.tensor.dims:
            has = False
        needs.append(Split(shard) if has and shard else None)
        index_needs.append(Split(shard) if shard is not None and shard in a.picks else None)
    if operator == "append":
        return Decision(
            tuple(needs),
            tuple(index_needs),
            Split(shard) if shard in arguments[0].dims and shard else None,
            shard,
        )
    if shard is None:
        return Decision(tuple(needs), tuple(index_needs), None, None)
    result: Cell
    result = Split(renamed) if renamed in result_dims and renamed is not None else Partial("sum")
    return Decision(tuple(needs), tuple(index_needs), result, shard)


def _renamed(operator: str, argument: Argument, result_dims: tuple[str, ...], shard: str) -> str:
    if operator == "split":
        if shard not in result_dims:
            return next(d for d in result_dims if d not in argument.dims)
        return shard
    parts = [d for d in argument.dims if d not in result_dims]
    if shard in parts:
        return next(d for d in result_dims if d not in argument.dims)
    return shard


def _routed(
    operator: str, axis: str, arguments: tuple[Argument, ...], result_dims: tuple[str, ...]
) -> Decision | None:
    """An operand whose chosen rows are spread over this axis, or values that already are."""
    spread = None
    for a in arguments:
        c = a.cell(axis)
        if a.target is not None and isinstance(c, Split) and c.dim == a.target:
            spread = a
    tag = spread.tag if spread else None
    held = [c for a in arguments if isinstance(c := a.cell(axis), Partial) and c.kind in ("one", "any")]
    if spread is None:
        if not held or any(a.stationary and isinstance(a.cell(axis), Split) for a in arguments):
            return None  # a weight or state that is cut otherwise decides
        entry = OPERATORS[operator]
        if not (entry.zero or operator in ("softmax", "add")) or operator == "rope":
            return None
        tag = held[0].routed
    if operator in ("append", "topk"):
        return None
    if operator == "add" and (spread is None or not all(_chosen_alike(a, axis, tag) for a in arguments)):
        return None
    picks = spread.picks if spread else ()
    # Where every rank knows the choice, or has the values, nothing is dispatched. A choice of cache rows that
    # is made on another pool is sent to every rank.
    known = spread is not None and (
        cell(spread.ids, axis) is None if spread.ids is not None else spread.tensor.kind == "state"
    )
    whole = known or any(
        not a.stationary and not a.foreign and a.cell(axis) is None and "B" in a.dims and a is not spread
        for a in arguments
    )
    needs: list[Cell] = []
    index_needs: list[Cell] = []
    for a in arguments:
        c = a.cell(axis)
        if a is spread:
            needs.append(c)
            index_needs.append(None if whole else Partial("any", tag))
            continue
        index_needs.append(None)
        if a.stationary:
            needs.append(
                None
                if not isinstance(c, Split)
                else c
                if c.dim == (spread.target if spread else None)
                else None
            )
        elif isinstance(c, Partial) and c.kind in ("one", "any"):
            needs.append(c)
        elif spread is None or whole or "B" not in a.dims:
            needs.append(None)
        elif (isinstance(c, Split) and c.dim in picks) or a.foreign:
            needs.append(Partial("any", tag))
        else:
            needs.append(None)
    inner = [d for d in picks if d not in ("B", "Q")]
    if spread is None:
        inner_in_result = all(
            d in result_dims
            for a in arguments
            if isinstance(a.cell(axis), Partial)
            for d in a.dims
            if d not in ("B", "Q")
        )
        kind = held[0].kind if operator != "einsum" else "one" if inner_in_result else "sum"
    else:
        kind = "one" if all(d in result_dims for d in inner) else "sum"
    return Decision(tuple(needs), tuple(index_needs), Partial(kind, tag), spread.target if spread else None)


def _chosen_alike(argument: Argument, axis: str, tag: str | None) -> bool:
    """Whether a rank holds exactly the rows of its own part of this choice."""
    c = argument.cell(axis)
    if isinstance(c, Split):
        return argument.tag == tag and c.dim == argument.target
    return isinstance(c, Partial) and c.kind == "one" and c.routed == tag


def _carry_partial(operator: str, axis: str, arguments: tuple[Argument, ...]) -> Decision | None:
    """Sums of partial sums, views and scalings of a partial sum stay partial; all else resolves it."""
    cells = [a.cell(axis) for a in arguments]
    sums = [c for c in cells if isinstance(c, Partial) and c.kind in ("sum", "one")]
    if not sums or len(sums) != len(cells):
        return None
    if operator == "add":
        routed = sums[0].routed if all(c.routed == sums[0].routed for c in sums) else None
        # Entries of one choice are held by the same ranks, and so are their sums.
        alike = routed is not None and all(c.kind == "one" for c in sums)
        return Decision(tuple(cells), _all(arguments, None), Partial("one" if alike else "sum", routed), None)
    if operator in ("scale", "split", "merge") and sums[0].kind == "sum":
        return Decision(tuple(cells), _all(arguments, None), cells[0], None)
    return None


# Operators that are linear in each operand and read all of it: a sum of their results is that of the sum.
_LINEAR = frozenset(("einsum", "mul", "scale", "rope", "slice", "split", "merge"))


def _deferred(operator: str, axis: str, arguments: tuple[Argument, ...]) -> Decision | None:
    """A partial sum that is written to be finished later passes through one linear operator as it is."""
    cells = [a.cell(axis) for a in arguments]
    held = [i for i, a in enumerate(arguments) if axis in a.tensor.deferred and isinstance(cells[i], Partial)]
    if len(held) != 1 or operator not in _LINEAR or arguments[held[0]].target is not None:
        return None
    if any(a.stationary and isinstance(c, Split) for a, c in zip(arguments, cells, strict=True)):
        return None
    needs = tuple(c if i == held[0] else None for i, c in enumerate(cells))
    return Decision(needs, _all(arguments, None), Partial("sum"), None)


def _logsumexp(axis: str, arguments: tuple[Argument, ...]) -> Decision | None:
    """Scores cut along the summed rows give a partial log-sum-exp; every other part is kept once."""
    cut = None
    for a in arguments:
        c = a.cell(axis)
        if a.over and (isinstance(c, Partial) or (isinstance(c, Split) and c.dim == a.over)):
            cut = a
    if cut is None:
        return None
    needs: list[Cell] = []
    for a in arguments:
        c = a.cell(axis)
        if (a.over and isinstance(c, Split) and c.dim == a.over) or (
            isinstance(c, Partial) and c.kind == "one"
        ):
            needs.append(c)
        else:
            needs.append(Partial("one"))
    c = cut.cell(axis)
    shard = c.dim if isinstance(c, Split) else None
    return Decision(tuple(needs), _all(arguments, None), Partial("lse"), shard)
