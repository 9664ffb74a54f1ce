"""Conversions between layouts: the collectives that a placement implies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from rooflang.errors import LoweringError
from rooflang.layout import Cell, Layout, Partial, Split, axes_of, cell, layout_of
from rooflang.lowered import LocalOp, Tensor, Use


@dataclass(frozen=True, slots=True)
class Step:
    """One collective: what it does, over which axes, and the layout after it."""

    operator: str
    axes: tuple[str, ...]
    dim: str | None
    layout: Layout
    to: str | None = None
    routed: str | None = None


def _move(have: Cell, want: Cell, where: str) -> tuple[str, str | None, str | None]:
    """(operator, dim, second dim) that turns one cell into another."""
    if isinstance(have, Split):
        if want is None:
            return "all_gather", have.dim, None
        if isinstance(want, Split):
            return "all_to_all", have.dim, want.dim
        if want.kind == "any":
            return "dispatch", have.dim, None
        if want.kind == "one":
            return "keep", have.dim, None
    elif have is None:
        if isinstance(want, Split):
            return "cut", want.dim, None
        if isinstance(want, Partial):
            return "keep", None, None
    else:
        if want is None:
            return "all_reduce", None, None
        if isinstance(want, Split):
            return ("combine" if have.routed and want.dim == "B" else "reduce_scatter"), want.dim, None
    raise LoweringError(f"a value that is {have} cannot become {want}", where)


_ORDER = {
    "cut": 0, "keep": 1, "reduce_scatter": 2, "all_reduce": 3, "combine": 4, "all_to_all": 5, "all_gather": 6,
    "dispatch": 7,
}  # fmt: skip


def plan(tensor: Tensor, want: Mapping[str, Cell], axes: tuple[str, ...], where: str) -> tuple[Step, ...]:
    """The collectives that bring a tensor from its layout to `want`, axes of one kind joined.

    Blocks are laid out outermost axis first, so the axes that cut one dimension are joined to it from
    the outside in, and leave it from the inside out; an axis that is in the way is gathered first.
    """
    cells: dict[str, Cell] = {a: cell(tensor.layout, a) for a in axes}
    wanted: dict[str, Cell] = {a: want.get(a) for a in axes}
    steps: list[Step] = []
    while cells != wanted:
        groups: dict[tuple[str, str | None, str | None, str | None], list[str]] = {}
        for a in axes:
            have, goal = cells[a], wanted[a]
            if have == goal:
                continue
            operator, dim, to = _move(have, goal, where)
            routed = (
                have.routed
                if isinstance(have, Partial)
                else goal.routed
                if isinstance(goal, Partial)
                else None
            )
            if operator == "keep" and isinstance(have, Split):
                routed = None
            groups.setdefault((operator, dim, to, routed), []).append(a)
        ready = [(key, able) for key, joined in groups.items() if (able := _able(joined, cells, wanted))]
        if not ready:
            inner = _in_the_way([a for joined in groups.values() for a in joined], cells, wanted)
            split = cells[inner]
            cells[inner] = None
            dim = split.dim if isinstance(split, Split) else None
            steps.append(Step("all_gather", (inner,), dim, layout_of(cells, axes)))
            continue
        (operator, dim, to, routed), able = min(ready, key=lambda r: (_ORDER[r[0][0]], r[1]))
        for a in able:
            cells[a] = wanted[a]
        steps.append(Step(operator, tuple(able), dim, layout_of(cells, axes), to, routed))
    return tuple(steps)


def _cutting(value: Cell, cells: Mapping[str, Cell]) -> list[str]:
    """The axes that cut the dimension of a split, outermost first."""
    return [a for a, c in cells.items() if c == value] if isinstance(value, Split) else []


def _able(joined: list[str], cells: Mapping[str, Cell], wanted: Mapping[str, Cell]) -> list[str]:
    """Those of the axes that may move now: the innermost that leave, the outermost that join."""
    have, goal = cells[joined[0]], wanted[joined[0]]
    leaving, present = _cutting(have, cells), _cutting(goal, cells)
    if any(wanted[a] != goal for a in present):
        return []
    order = list(cells)
    able = [a for a in joined if all(order.index(p) < order.index(a) for p in present)]
    while able:
        pending = [order.index(a) for a in _cutting(goal, wanted) if a not in present and a not in able]
        kept = [
            a for a in able
            if all(order.index(a) < p for p in pending)
            and all(other in able for other in leaving if order.index(other) > order.index(a))
        ]  # fmt: skip
        if kept == able:
            break
        able = kept
    return able


def _in_the_way(waiting: list[str], cells: Mapping[str, Cell], wanted: Mapping[str, Cell]) -> str:
    """An axis to be gathered so that one of the waiting can move: it cuts, further inside, what that
    axis leaves or joins; else one of two that wait for each other."""
    order = list(cells)
    for axis in waiting:
        for cutting in (_cutting(cells[axis], cells), _cutting(wanted[axis], cells)):
            if cutting and order.index(cutting[-1]) > order.index(axis):
                return cutting[-1]
    return next(a for a in reversed(order) if a in waiting and isinstance(cells[a], Split))


def apply(
    tensor: Tensor, want: Mapping[str, Cell], axes: tuple[str, ...], section: str, suffix: str
) -> tuple[list[LocalOp], Tensor]:
    """The collective operators and the converted tensor."""
    ops: list[LocalOp] = []
    current = tensor
    for number, step in enumerate(plan(tensor, want, axes, section)):
        result = replace(
            current, name=f"{tensor.name}{suffix}{number or ''}", kind="value", layout=step.layout
        )
        ops.append(_collective(step, current, result, section))
        current = result
    return ops, current


def _collective(step: Step, source: Tensor, result: Tensor, section: str) -> LocalOp:
    attributes: list[tuple[str, str]] = []
    if step.dim is not None:
        attributes.append(("dim", step.dim))
    if step.to is not None:
        attributes.append(("to", step.to))
    if step.routed is not None:
        attributes.append(("routed", step.routed))
    kinds = {c.kind for a, c in source.layout if a in step.axes and isinstance(c, Partial)}
    if kinds:
        attributes.append(("partial", "lse" if "lse" in kinds else "sum"))
    return LocalOp(
        step.operator, result, (Use(source),), tuple(attributes), axes=step.axes, section=section,
        kernel=_message(step.operator, step.routed, section, result),
    )  # fmt: skip


def _message(operator: str, routed: str | None, section: str, result: Tensor) -> str:
    """What is dispatched by one choice (tokens, their picks and weights) travels as one message."""
    return f"{section}:dispatch {routed}" if operator == "dispatch" and routed else f"{section}:{result.name}"


def send(
    tensor: Tensor, want: Mapping[str, Cell], pool: str, axes: tuple[str, ...], section: str, suffix: str
) -> tuple[list[LocalOp], Tensor]:
    """Move a value to another pool in the layout wanted there.

    Rows for chosen experts are dispatched to their ranks directly, and sums of routed rows are combined
    on their way back; any other partial value is first made whole on its own pool.
    """
    ops: list[LocalOp] = []
    source = tensor
    partial = [(a, c) for a, c in tensor.layout if isinstance(c, Partial)]
    back = bool(partial) and all(c.kind == "sum" and c.routed for _, c in partial)
    if partial and not back:
        own = tuple(a for a, _ in tensor.layout)
        ops, source = apply(
            tensor, {a: c for a, c in tensor.layout if isinstance(c, Split)}, own, section, "!"
        )
    layout = layout_of(want, axes)
    routed = [c for _, c in layout if isinstance(c, Partial)]
    result = replace(source, name=f"{tensor.name}{suffix}", kind="value", layout=layout, pool=pool)
    attributes: list[tuple[str, str]] = [("from", source.pool), ("to", pool)]
    operator = "send"
    if routed:
        operator = "dispatch"
        attributes.append(("routed", routed[0].routed or ""))
    elif back:
        operator = "combine"
        attributes.append(("routed", partial[0][1].routed or ""))
        attributes.append(("partial", "sum"))
    if axes_of(layout, "B"):
        attributes.append(("dim", "B"))
    ops.append(
        LocalOp(operator, result, (Use(source),), tuple(attributes), axes=tuple(a for a, _ in layout),
                section=section, kernel=_message(operator, dict(attributes).get("routed"), section, result))
    )  # fmt: skip
    return ops, result
