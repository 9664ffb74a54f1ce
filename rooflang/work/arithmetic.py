"""Arithmetic of local operators: matrix FLOPs by rate, element operations, exponentials."""

from __future__ import annotations

from typing import Final

from rooflang.dtype import index_dim, product_rate
from rooflang.lowered import LocalOp, Use
from rooflang.operators import union
from rooflang.size import ZERO, Size, div, mul
from rooflang.work.extent import Extents

# Element operations and exponentials per element of the iteration space. An exponential stands for any
# evaluation of the special-function unit; a division counts as one element operation.
_PER_ELEMENT: Final[dict[str, tuple[int, int]]] = {
    "add": (1, 0), "mul": (1, 0), "scale": (1, 0), "cast": (1, 0), "silu": (2, 1), "sigmoid": (2, 1),
    "relu": (1, 0), "exp": (1, 1), "softplus": (2, 2), "sqrtsoftplus": (2, 3), "swiglu": (4, 1),
    "norm": (4, 0), "logsumexp": (3, 1), "softmax": (1, 0), "quantize": (3, 0), "topk": (2, 0),
    "sample": (2, 0), "rope": (4, 0), "pool": (3, 1), "conv": (2, 0), "scan": (3, 0),
}  # fmt: skip


def use_dims(use: Use) -> tuple[str, ...]:
    """The names of an operand after its index is applied."""
    if use.index is None:
        return use.tensor.dims
    target = index_dim(use.index.dtype)
    rest = tuple(d for d in use.tensor.dims if d != target and d not in use.index.dims)
    return (*use.index.dims, *rest)


def space(op: LocalOp) -> tuple[str, ...]:
    """Names of the iteration space."""
    return union(*(use_dims(u) for u in op.operands), op.result.dims)


def arithmetic(op: LocalOp, extents: Extents) -> tuple[dict[str, Size], Size, Size]:
    """(FLOPs by matrix rate, element operations, exponentials) on the fullest rank."""
    if op.operator == "einsum":
        points = extents.iteration(op, space(op))
        names = [u.tensor.dtype for u in op.operands[:2]]
        if len(op.operands) == 1:
            return {}, points, ZERO
        return {product_rate(names): mul(points, 2)}, ZERO, ZERO
    cost = _PER_ELEMENT.get(op.operator)
    if cost is None:
        return {}, ZERO, ZERO
    names_ = space(op)
    if op.operator == "logsumexp":
        vector, exponentials = ZERO, ZERO
        for use in op.operands:
            if use.over:
                points = extents.iteration(op, use.tensor.dims)
                vector, exponentials = vector + mul(points, cost[0]), exponentials + mul(points, cost[1])
        return {}, vector, exponentials
    if op.operator == "rope":
        axis = op.operands[0].over
        last = op.attribute("last")
        names_ = tuple(d for d in op.result.dims if d != axis) if last else op.result.dims
        points = extents.iteration(op, names_)
        if last:
            points = mul(points, int(last))
        return {}, mul(points, cost[0]), ZERO
    if op.operator == "conv":
        # A multiply-add per tap: what the state holds is read, not iterated over.
        points = extents.iteration(op, union(*(use_dims(u) for u in op.operands[:2])))
    elif op.operator == "scan":
        # Per element of the state and token: a decay, and a product added; the delta rule first reads the
        # decayed state along the keys, another multiply-add. What is left is per row and not counted.
        points = extents.iteration(op, names_)
        return {}, mul(points, cost[0] + (2 if len(op.operands) == 5 else 0)), ZERO
    elif op.operator == "topk":
        # Every score is looked at once; how many are picked does not multiply it.
        points = extents.iteration(op, use_dims(op.operands[0]))
    elif op.operator == "pool":
        rows = op.operands[0].tensor.dims
        points = div(extents.iteration(op, union(("B", "Q"), rows)), int(op.attribute("every") or 1))
    else:
        points = extents.iteration(op, names_)
    return {}, mul(points, cost[0]), mul(points, cost[1])
