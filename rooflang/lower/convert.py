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
    "cut": 0, "keep": 1, "all_reduce": 2, "reduce_scatter": 3, "combine": 4, "all_to_all": 5, "all_gather": 6,
    "dispatch": 7,
}  # fmt: skip


def plan(tensor: Tensor, want: Mapping[str, Cell], axes: tuple[str, ...], where: str) -> tuple[Step, ...]:
    """The collectives that bring a tensor from its layout to `want`, axes of one kind joined."""
    cells: dict[str, Cell] = {a: cell(tensor.layout, a) for a in axes}
    wanted: dict[str, Cell] = {a: want.get(a) for a in axes}
    # Blocks are laid out outermost axis first: an outer axis cannot be gathered around an inner one.
    for a in axes:
        have = cells[a]
        if isinstance(have, Split) and wanted[a] != have:
            for inner in axes[axes.index(a) + 1 :]:
                if cells[inner] == have and wanted[inner] == have:
                    steps = plan(tensor, {**wanted, inner: None}, axes, where)
                    middle = replace(tensor, layout=steps[-1].layout)
                    return (*steps, *plan(middle, wanted, axes, where))
    groups: dict[tuple[str, str | None, str | None, str | None], list[str]] = {}
    for a in axes:
        have, goal = cells[a], wanted[a]
        if have == goal:
            continue
        operator, dim, to = _move(have, goal, where)
        routed = have.routed if isinstance(have, Partial) else goal.routed if isinstance(goal, Partial) else None
        if operator == "keep" and isinstance(have, Split):
            routed = None
        groups.setdefault((operator, dim, to, routed), []).append(a)
    steps: list[Step] = []
    for (operator, dim, to, routed), joined in sorted(groups.items(), key=lambda g: (_ORDER[g[0][0]], g[1])):
        for a in joined:
            cells[a] = wanted[a]
        steps.append(Step(operator, tuple(joined), dim, layout_of(cells, axes), to, routed))
    return tuple(steps)


def apply(
    tensor: Tensor, want: Mapping[str, Cell], axes: tuple[str, ...], section: str, suffix: str
) -> tuple[list[LocalOp], Tensor]:
    """The collective operators and the converted tensor."""
    ops: list[LocalOp] = []
    current = tensor
    for number, step in enumerate(plan(tensor, want, axes, section)):
        result = replace(current, name=f"{tensor.name}{suffix}{number or ''}", kind="value", layout=step.layout)
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
        kernel=f"{section}:{result.name}",
    )  # fmt: skip


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
        ops, source = apply(tensor, {a: c for a, c in tensor.layout if isinstance(c, Split)}, own, section, "!")
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
                section=section, kernel=f"{section}:{result.name}")
    )  # fmt: skip
    return ops, result
