"""Units with one thing changed: an operator, a tensor, what stands between two operators."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from rooflang.design import Attribute
from rooflang.layout import Layout
from rooflang.lowered import LocalOp, Tensor, Unit, Use

# What takes the place of an operator: operators of which the last gives its result, or a value in its stead.
Change = Callable[[LocalOp], "tuple[LocalOp, ...] | Tensor"]


def rebuilt(unit: Unit, at: int, change: Change) -> Unit:
    """The unit with its operator number `at` changed; what follows reads the new result."""
    names: dict[str, Tensor] = {}
    ops: list[LocalOp] = []
    for number, op in enumerate(unit.ops):
        now = replace(op, operands=tuple(_renamed(u, names) for u in op.operands)) if names else op
        if number != at:
            ops.append(now)
            continue
        made = change(now)
        if isinstance(made, Tensor):
            names[op.result.name] = made
            continue
        ops.extend(made)
        if made[-1].result != op.result:
            names[op.result.name] = made[-1].result
    outputs = tuple((n, names.get(t.name, t)) for n, t in unit.outputs)
    return replace(unit, ops=tuple(ops), outputs=outputs)


def put(unit: Unit, at: int, instead: LocalOp | Tensor) -> Unit:
    """The unit with another operator, or a value that is at hand, in place of operator number `at`."""
    return rebuilt(unit, at, lambda _: instead if isinstance(instead, Tensor) else (instead,))


def _renamed(use: Use, names: dict[str, Tensor]) -> Use:
    index = use.index
    if index is not None:
        index = names.get(index.name, index)
    return Use(names.get(use.tensor.name, use.tensor), index, use.over)


def retensored(unit: Unit, old: Tensor, change: Callable[[Tensor], Tensor]) -> Unit:
    """The unit with a weight or state declared otherwise, its versions and uses included."""
    same = {old.name}
    for op in unit.ops:
        if op.operator == "append" and op.operands[0].tensor.name in same:
            same.add(op.result.name)

    def now(t: Tensor) -> Tensor:
        return change(t) if t.name in same else t

    ops = tuple(
        replace(
            op,
            result=now(op.result),
            operands=tuple(
                Use(now(u.tensor), None if u.index is None else now(u.index), u.over) for u in op.operands
            ),
        )
        for op in unit.ops
    )
    return replace(
        unit,
        ops=ops,
        weights=tuple(map(now, unit.weights)),
        states=tuple(map(now, unit.states)),
        outputs=tuple((n, now(t)) for n, t in unit.outputs),
    )


def with_attribute(op: LocalOp, key: str, value: Attribute) -> LocalOp:
    """The operator with one attribute of another value, in the same place."""
    return replace(op, attributes=tuple((k, value if k == key else v) for k, v in op.attributes))


def with_operand(op: LocalOp, position: int, use: Use | Tensor) -> LocalOp:
    """The operator with another operand; a tensor keeps the operand's index and axis."""
    uses = list(op.operands)
    uses[position] = replace(uses[position], tensor=use) if isinstance(use, Tensor) else use
    return replace(op, operands=tuple(uses))


def after(op: LocalOp, operator: str, suffix: str, **attributes: Attribute) -> LocalOp:
    """An element-wise operator on the result of `op`, under a new name."""
    result = replace(op.result, name=f"{op.result.name}@{suffix}")
    return LocalOp(
        operator,
        result,
        (Use(op.result),),
        tuple(attributes.items()),
        () if op.is_collective else op.sharding,
        (),
        op.section,
    )


def on(source: Tensor, like: LocalOp, operator: str, suffix: str, **attributes: Attribute) -> LocalOp:
    """An element-wise operator on `source`, in the section of `like`."""
    result = replace(source, name=f"{source.name}@{suffix}", kind="value")
    cut: dict[str, tuple[str, ...]] = {}
    for axis, c in source.layout:
        dim = getattr(c, "dim", None)
        if dim is not None:
            cut[dim] = (*cut.get(dim, ()), axis)
    return LocalOp(
        operator, result, (Use(source),), tuple(attributes.items()), tuple(cut.items()), (), like.section
    )


def known_before(unit: Unit, at: int) -> Iterator[Tensor]:
    """Every tensor that operator number `at` could read, latest first."""
    for op in reversed(unit.ops[:at]):
        yield op.result
    yield from (t for _, t in unit.inputs)
    yield from unit.weights
    yield from unit.states


def alike(a: Tensor, b: Tensor) -> bool:
    """Whether one may stand for the other: dims, format, pool and layout."""
    return (a.dims, a.dtype, a.pool, a.layout, a.every) == (b.dims, b.dtype, b.pool, b.layout, b.every)


def without(layout: Layout, axis: str) -> Layout:
    """The layout without its entry of one axis."""
    return tuple((a, c) for a, c in layout if a != axis)
