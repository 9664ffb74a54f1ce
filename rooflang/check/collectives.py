"""Collectives: each is legal only on the layout that it expects, and gives the layout that it says."""

from __future__ import annotations

from collections.abc import Iterator

from rooflang.check.problem import Problem
from rooflang.layout import Cell, Partial, Split, cell
from rooflang.lowered import LocalOp


def collective(op: LocalOp, where: str) -> Iterator[Problem]:
    """What is wrong with one collective."""
    source = op.operands[0].tensor
    if source.dims != op.result.dims or source.dtype != op.result.dtype:
        yield Problem("type.dims", where, f"{op.operator} must keep dims and format of {source.name!r}")
    if source.pool != op.result.pool:
        yield from _crossing(op, where)
        return
    if op.operator == "gather_top" and any(isinstance(c, Partial) for _, c in source.layout):
        message = f"{source.name!r} must be whole scores before the best are picked, but is partial"
        yield Problem("placement.partial", where, message, "reduce it first")
    axes = dict.fromkeys([*(a for t in (source, op.result) for a, _ in t.layout), *op.axes])
    for axis in axes:
        have, made = cell(source.layout, axis), cell(op.result.layout, axis)
        if axis not in op.axes:
            if have != made:
                over = " ".join(op.axes)
                message = f"{op.operator} over {over} must leave {axis} as it is ({have}), but gives {made}"
                yield Problem("placement.collective", where, message)
        elif not _legal(op, have, made):
            message = (
                f"{op.operator} cannot turn {have or 'replicated'} into {made or 'replicated'} along {axis}"
            )
            yield Problem(
                "placement.collective", where, message, "use the collective that the layouts ask for"
            )


def _legal(op: LocalOp, have: Cell, made: Cell) -> bool:
    dim = op.attribute("dim")
    match op.operator:
        case "all_reduce":
            return isinstance(have, Partial) and have.kind != "any" and made is None
        case "reduce_scatter":
            return isinstance(have, Partial) and have.kind != "any" and made == Split(str(dim))
        case "combine":
            return isinstance(have, Partial) and have.kind in ("sum", "one") and made == Split(str(dim))
        case "all_gather" | "gather_top":
            return have == Split(str(dim)) and made is None
        case "all_to_all":
            return have == Split(str(dim)) and made == Split(str(op.attribute("to")))
        case "cut":
            return have is None and made == Split(str(dim))
        case "keep":
            return (
                not isinstance(have, Partial)
                and isinstance(made, Partial)
                and made.kind in ("one", "sum", "any")
            )
        case "dispatch":
            return (
                (have is None or have == Split(str(dim))) and isinstance(made, Partial) and made.kind == "any"
            )
    return False


def _crossing(op: LocalOp, where: str) -> Iterator[Problem]:
    source = op.operands[0].tensor
    arriving = tuple(a for a, _ in op.result.layout)
    if op.axes != arriving:
        message = (
            f"{op.operator} to {op.result.pool!r} must reach the axes ({' '.join(arriving)}), "
            f"but names ({' '.join(op.axes)})"
        )
        yield Problem("placement.collective", where, message, "name the axes of the result's layout")
    if (op.attribute("dim") == "B") != any(c == Split("B") for _, c in op.result.layout):
        message = f"{op.operator} must say that it cuts B where it does, but says {op.attribute('dim')!r}"
        yield Problem("placement.collective", where, message, "name the dimension that is cut")
    partial = [c for _, c in source.layout if isinstance(c, Partial)]
    if op.operator == "combine":
        if not partial or any(c.kind != "sum" for c in partial):
            yield Problem(
                "placement.collective", where, "combine must bring back partial sums of routed rows"
            )
    elif partial:
        message = f"{source.name!r} must be whole before it is sent, but is partial"
        yield Problem("placement.partial", where, message, "reduce it first")
    routed = [c for _, c in op.result.layout if isinstance(c, Partial)]
    if routed and (op.operator != "dispatch" or any(c.kind != "any" for c in routed)):
        yield Problem("placement.collective", where, f"{op.operator} must give a whole value or chosen rows")
