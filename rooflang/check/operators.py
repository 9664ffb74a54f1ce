"""Local operators along one axis: which operands may be cut or partial, and what the result then is."""

from __future__ import annotations

from collections.abc import Iterator

from rooflang.check.problem import Problem
from rooflang.layout import Cell, Partial, Split, cell
from rooflang.lowered import LocalOp, Use
from rooflang.operators import OPERATORS, whole_names

_VIEWS = ("split", "merge", "concat", "slice")
# Operators that act on all of the names that they are given.
_TOGETHER = ("norm", "rope", "topk", "sample", "concat", "slice", "pool")
# Operators that leave absent rows absent although they have no zero to keep.
_ROW_BY_ROW = frozenset(
    ("softmax", "add", "gather", "append", "concat", "norm", "sigmoid", "exp", "softplus", "sqrtsoftplus")
)
_HINT = "reduce it first (all_reduce or reduce_scatter)"


def operator(op: LocalOp, where: str) -> Iterator[Problem]:
    """The broken placement rules of one operator, axis by axis."""
    axes = dict.fromkeys(
        a for t in (op.result, *(u.tensor for u in op.operands)) for a, _ in t.layout
    )  # fmt: skip
    for axis in axes:
        problem = _axis(op, axis)
        if problem:
            yield Problem(problem[0], where, f"{op.operator}: {problem[1]} along {axis}", problem[2])


def _axis(op: LocalOp, axis: str) -> tuple[str, str, str] | None:
    cells = [cell(u.tensor.layout, axis) for u in op.operands]
    made = cell(op.result.layout, axis)
    partial = [c for c in cells if isinstance(c, Partial)]
    picking = any(
        u.index is not None and isinstance(c, Split) and c.dim not in _kept(u)
        for u, c in zip(op.operands, cells, strict=True)
    )
    if partial or picking:
        return _partial(op, cells, made, picking)
    return _cut(op, cells, made)


def _kept(use: Use) -> set[str]:
    """Names of an operand after its index is applied."""
    target = use.index.dtype[6:-1] if use.index is not None else None
    return {d for d in use.tensor.dims if d != target}


def _partial(op: LocalOp, cells: list[Cell], made: Cell, picking: bool) -> tuple[str, str, str] | None:
    kinds = {c.kind for c in cells if isinstance(c, Partial)}
    sums = [c for c in cells if isinstance(c, Partial) and c.kind == "sum"]
    entry = OPERATORS[op.operator]
    if "lse" in kinds:
        return "placement.partial", "a partial log-sum-exp must be combined before it is used", _HINT
    if op.operator == "logsumexp":
        ok = not sums and isinstance(made, Partial) and made.kind == "lse"
        return None if ok else ("placement.partial", "a joint log-sum-exp of parts must be partial(lse)", "")
    if sums:
        if op.operator == "add":
            if len([c for c in cells if isinstance(c, Partial)]) != len(cells):
                return "placement.partial", "both operands must be partial, or neither", _HINT
        elif op.operator in ("einsum", "mul", "scale", *_VIEWS, "rope", "cast"):
            if len(sums) > 1 and op.operator != "concat":
                return "placement.partial", "at most one factor may be partial", _HINT
        else:
            return "placement.partial", f"a partial sum cannot pass through {op.operator}", _HINT
    elif not (entry.zero or op.operator in _ROW_BY_ROW):
        return "placement.partial", f"absent rows cannot pass through {op.operator}", _HINT
    if (sums or picking or kinds) and not isinstance(made, Partial) and op.operator != "append":
        return "placement.partial", "the result of partial operands must be partial", _HINT
    return None


def _inner(op: LocalOp) -> list[str]:
    """The names of a split or merge whose elements lie side by side: their blocks are none of the whole."""
    (use,) = op.operands
    if op.operator == "split":
        return [d for d in op.result.dims if d not in use.tensor.dims][1:]
    parts = [d for d in use.tensor.dims if d not in op.result.dims]
    return [d for d in parts if d != (use.over if use.over in parts else parts[0])]


def _cut(op: LocalOp, cells: list[Cell], made: Cell) -> tuple[str, str, str] | None:
    """No partial operand: every operand with the cut name is cut by it, the others are whole."""
    names = {c.dim for c in cells if isinstance(c, Split)}
    if op.operator in ("split", "merge"):
        ok = (made is None) == (not names) and len(names) <= 1
        if not ok:
            return "placement.dim", "a view must be cut as its operand is", ""
        inner = _inner(op)
        if any(isinstance(c, Split) and c.dim in inner for c in (*cells, made)):
            message = (
                f"only the outer of the names that a view takes apart or joins may be cut, not {inner[0]}"
            )
            return "placement.dim", message, "cut the outer name"
        return None
    if op.operator in ("append", "gather"):
        return None
    if len(names) > 1:
        return (
            "placement.dim",
            f"operands are cut by different names ({', '.join(sorted(names))})",
            "gather one",
        )
    if not names:
        if isinstance(made, Partial) or (
            isinstance(made, Split) and any(made.dim in u.tensor.dims for u in op.operands)
        ):
            return "placement.result", f"whole operands must give a whole result, but it is {made}", ""
        return None
    (dim,) = names
    for use, c in zip(op.operands, cells, strict=True):
        held = _kept(use)
        if dim in held and c is None and use.index is None:
            return (
                "placement.dim",
                f"{use.tensor.name!r} must be cut by {dim} like the other operands",
                "cut it",
            )
        if dim in (use.over, op.attribute("with")) and op.operator in _TOGETHER:
            return "placement.over", f"{dim} must be whole, since the operator acts on all of it", "gather it"
    if op.operator in ("conv", "scan"):
        whole = whole_names(
            op.operator, tuple(u.tensor.dims for u in op.operands), tuple(u.over for u in op.operands)
        )
        if dim in whole:
            return (
                "placement.over",
                f"{dim} must be whole, since all of it takes part in each step",
                "gather it",
            )
    if dim in op.result.dims:
        return (
            None
            if made == Split(dim)
            else ("placement.result", f"the result must be split({dim}), but is {made or 'replicated'}", "")
        )
    wanted = "lse" if op.operator == "logsumexp" else "sum"
    if not (isinstance(made, Partial) and made.kind in (wanted, "one")):
        return (
            "placement.result",
            f"a sum over the cut name {dim} must be partial({wanted}), but is {made or 'replicated'}",
            _HINT,
        )
    return None
