"""Faults of wiring: another operand, another weight, one left out, the wrong order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mutations.faults.edit import alike, known_before, put, rebuilt, with_operand
from mutations.faults.fault import Fault, Meshes
from rooflang.dtype import index_dim
from rooflang.lowered import LocalOp, Tensor, Unit

_UNARY = ("norm", "rope", "silu", "relu", "sigmoid", "exp", "softplus", "sqrtsoftplus", "quantize", "scale")


def _local(unit: Unit) -> Iterator[tuple[int, LocalOp]]:
    return ((i, op) for i, op in enumerate(unit.ops) if not op.is_collective)


def rewired(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    for i, op in _local(unit):
        for position, use in enumerate(op.operands):
            if use.tensor.kind == "weight" or (op.operator == "append" and position == 0):
                continue
            taken = {u.tensor.name for u in op.operands}
            for other in known_before(unit, i):
                if other.name not in taken and alike(other, use.tensor):
                    yield (
                        op.result.name,
                        put(unit, i, with_operand(op, position, other)),
                    )
                    break


def other_weight(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    """Two products of different weights are taken for products of one."""
    for i, op in _local(unit):
        for position, use in enumerate(op.operands):
            for other in unit.weights if use.tensor.kind == "weight" else ():
                if other.name != use.tensor.name and alike(other, use.tensor):
                    yield (
                        op.result.name,
                        put(unit, i, with_operand(op, position, other)),
                    )
                    break


def swapped(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    for i, op in _local(unit):
        if op.operator in ("swiglu", "concat", "softmax", "scan", "pool", "conv") and len(op.operands) > 1:
            one, two = (1, 2) if op.operator == "scan" else (0, 1)

            def turned(o: LocalOp, one: int = one, two: int = two) -> tuple[LocalOp, ...]:
                uses = list(o.operands)
                uses[one], uses[two] = uses[two], uses[one]
                return (replace(o, operands=tuple(uses)),)

            yield op.result.name, rebuilt(unit, i, turned)


def operator_dropped(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    """A norm, rotation, activation, rounding or scale is left out."""
    for i, op in _local(unit):
        if op.operator not in _UNARY or op.operands[0].tensor.dims != op.result.dims:
            continue

        def plain(o: LocalOp) -> tuple[LocalOp, ...]:
            return (
                replace(o, operator="cast", operands=(replace(o.operands[0], over=None),), attributes=()),
            )

        yield op.result.name, rebuilt(unit, i, plain)


def product_dropped(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    """One factor of a product, or a whole product whose input has the result's dims, is left out."""
    for i, op in _local(unit):
        if op.operator in ("mul", "einsum"):
            for use in op.operands:
                if use.index is None and use.tensor.dims == op.result.dims and use.tensor.kind == "value":
                    t = use.tensor
                    if t.layout == op.result.layout:
                        yield op.result.name, put(unit, i, t)
                        break
        if op.operator == "einsum" and len(op.operands) > 2:
            for position, use in enumerate(op.operands):
                others = {d for j, u in enumerate(op.operands) if j != position for d in _names(u.tensor)}
                if set(op.result.dims) <= others and use.index is None:

                    def less(o: LocalOp, position: int = position) -> tuple[LocalOp, ...]:
                        uses = tuple(u for j, u in enumerate(o.operands) if j != position)
                        return (replace(o, operands=uses),)

                    yield op.result.name, rebuilt(unit, i, less)


def _names(t: Tensor) -> set[str]:
    return set(t.dims)


def summand_dropped(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    """A residual, a bias, a shared expert, a second branch is left out."""
    for i, op in _local(unit):
        if op.operator != "add":
            continue
        for use in op.operands:
            t = use.tensor
            if use.index is None and t.dims == op.result.dims and t.layout == op.result.layout:
                yield op.result.name, put(unit, i, t)


def summand_doubled(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    for i, op in _local(unit):
        if op.operator == "add":

            def again(o: LocalOp) -> tuple[LocalOp, ...]:
                more = replace(o.result, name=f"{o.result.name}@again")
                return o, replace(
                    o,
                    result=more,
                    operands=(replace(o.operands[0], tensor=o.result, index=None), o.operands[1]),
                )

            yield op.result.name, rebuilt(unit, i, again)


def over_batch(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    """A value is taken from all sequences of the batch, so that no micro-batch stands alone."""
    for i, op in _local(unit):
        dims = op.result.dims
        if op.operator != "einsum" or "B" not in dims or op.result.every > 1 or len(dims) < 3:
            continue
        if index_dim(op.result.dtype) is not None or any(
            getattr(c, "dim", "") == "B" for _, c in op.result.layout
        ):
            continue

        def mixed(o: LocalOp) -> tuple[LocalOp, ...]:
            less = tuple(d for d in o.result.dims if d != "B")
            total = replace(o.result, name=f"{o.result.name}@sum", dims=less)
            cut = tuple((d, a) for d, a in o.sharding if d in less)
            use = replace(o.operands[0], tensor=o.result, index=None, over=None)
            plain = replace(o, result=total, operands=(use,), attributes=(), sharding=cut)
            more = replace(o.result, name=f"{o.result.name}@mixed")
            add = replace(
                plain,
                operator="add",
                result=more,
                operands=(use, replace(use, tensor=total)),
            )
            return o, plain, add

        yield op.result.name, rebuilt(unit, i, mixed)


FAULTS = (
    Fault("operand rewired", "another value of the same shape is read", rewired),
    Fault("wrong weight", "the product of another weight is taken", other_weight),
    Fault("operands swapped", "operands are read in the other order", swapped),
    Fault(
        "operator dropped", "a norm, rotation, activation, rounding or scale is left out", operator_dropped
    ),
    Fault("product dropped", "a matrix product or factor is left out", product_dropped),
    Fault("summand dropped", "a residual, bias or branch is left out", summand_dropped),
    Fault("summand doubled", "a residual, bias or branch is added twice", summand_doubled),
    Fault("sequences mixed", "a sum runs over the batch", over_batch),
)
