"""Non-linear element-wise functions and norms.

In the field they are keyed hashes of level-0 residues with every attribute hashed in: nothing but
equality of arguments, and f(0) = 0 where the language says so, can be used about them.
"""

from __future__ import annotations

from math import prod

import numpy as np

from rooflang.lowered import LocalOp
from rooflang.operators import OPERATORS
from rooflang.run.field import Field, mix, word
from rooflang.run.local import Local, finish, merged, values
from rooflang.run.value import Array, ExecutionError, Value, align

_PRIME = np.uint64(0x9E3779B97F4A7C15)


def key(op: LocalOp) -> int:
    """The operator with all of its attributes (and the format that quantize rounds to)."""
    format_ = op.result.dtype if op.operator == "quantize" else ""
    return word(op.operator, tuple(sorted((k, repr(v)) for k, v in op.attributes)), format_)


def elementwise(local: Local, op: LocalOp) -> Value:
    """silu, relu, sigmoid, softplus, sqrtsoftplus, swiglu."""
    found = values(local, op)
    lead, names = 1 + local.lead, op.result.dims
    arrays = [align(v.data, lead, v.names, names) for v in found]
    mask, rules = merged(local, op, found)
    if isinstance(local.arithmetic, Field):
        data = local.arithmetic.hash(key(op), *(a[0] for a in arrays))
        if OPERATORS[op.operator].zero:
            data = data * (arrays[0][0] != 0)
    else:
        data = _real(op, arrays)
    return finish(local, op, data, mask, rules)


def exp(local: Local, op: LocalOp) -> Value:
    """The exponential: in the field a power of the level's generator, so that exp(a + b) = exp(a)·exp(b)."""
    (x,) = values(local, op)
    mask, rules = merged(local, op, [x])
    return finish(local, op, local.arithmetic.exp(x.data), mask, rules)


def _sigmoid(x: Array) -> Array:
    result: Array = 0.5 * (1.0 + np.tanh(0.5 * x))
    return result


def _real(op: LocalOp, arrays: list[Array]) -> Array:
    x = arrays[0]
    match op.operator:
        case "silu":
            return x * _sigmoid(x)
        case "relu":
            return np.maximum(x, 0.0)
        case "sigmoid":
            return _sigmoid(x)
        case "softplus":
            return np.logaddexp(0.0, x)
        case "sqrtsoftplus":
            return np.sqrt(np.logaddexp(0.0, x))
        case "swiglu":
            up = arrays[1]
            limit = op.attribute("limit")
            if limit is not None:
                x, up = np.minimum(x, float(limit)), np.clip(up, -float(limit), float(limit))
            alpha, offset = float(op.attribute("alpha") or 1.0), float(op.attribute("offset") or 0.0)
            return x * _sigmoid(alpha * x) * (up + offset)
    raise ExecutionError("execution.operator", f"{op.operator} has no meaning here")


def quantize(local: Local, op: LocalOp) -> Value:
    """Rounding of a block depends on the whole block: each element is hashed with all of its block."""
    (x,) = values(local, op)
    over = op.operands[0].over
    if over is None:
        raise ExecutionError("execution.names", "quantize needs 'over'")
    axis = local.lead + x.names.index(over)
    first = x.data[0]
    size = first.shape[axis]
    real = op.attribute("block")
    block = local.sizes.literal("block", int(real)) if real else size
    if size % block:
        raise ExecutionError(
            "placement.divides", f"blocks of {over} must not be cut: {size} over blocks of {block}"
        )
    if not isinstance(local.arithmetic, Field):
        return x
    blocks = first.reshape(*first.shape[:axis], size // block, block, *first.shape[axis + 1 :])
    place = np.arange(block, dtype=np.uint64).reshape(-1, *([1] * (first.ndim - axis - 1)))
    digest = mix(blocks * _PRIME + place).sum(axis=axis + 1, keepdims=True, dtype=np.uint64)
    whole = np.broadcast_to(digest, blocks.shape).reshape(first.shape)
    data = local.arithmetic.hash(key(op), first, whole) * (first != 0)
    mask, rules = merged(local, op, [x])
    return finish(local, op, data, mask, rules)


def norm(local: Local, op: LocalOp) -> Value:
    found = values(local, op)
    x = found[0]
    over = op.operands[0].over
    kind = op.attribute("kind", "rms")
    if over is None:
        raise ExecutionError("execution.names", "norm needs 'over'")
    axis = 1 + local.lead + x.names.index(over)
    mask, rules = merged(local, op, found[:1])
    arithmetic = local.arithmetic
    if kind == "sum":
        total = arithmetic.reduce(x.data.sum(axis=axis, keepdims=True))
        return finish(local, op, arithmetic.mul(x.data, arithmetic.inverse(total)), mask, rules)
    gain = [align(v.data, 1 + local.lead, v.names, x.names) for v in found[1:]]
    if kind == "sinkhorn":
        return finish(local, op, _sinkhorn(local, op, x, over), mask, rules)
    if isinstance(arithmetic, Field):
        square = arithmetic.reduce(arithmetic.mul(x.data[:1], x.data[:1]).sum(axis=axis, keepdims=True))
        # The mean depends on how many entries there are, so the length is part of what is hashed.
        length = np.full_like(square[0], x.data.shape[axis])
        data = arithmetic.hash(key(op), x.data[0], square[0], length)
        for g in gain:
            data = arithmetic.mul(data, g)
        return finish(local, op, data, mask, rules)
    square = (x.data * x.data).sum(axis=axis, keepdims=True)
    eps = float(op.attribute("eps") or 1e-6)
    mean = square / x.data.shape[axis] if kind == "rms" else square
    data = x.data / np.sqrt(mean + eps)
    for g in gain:
        data = data * g
    return finish(local, op, data, mask, rules)


def _sinkhorn(local: Local, op: LocalOp, x: Value, over: str) -> Array:
    """Rows and columns scaled to sum to one by turns: one opaque hash over both dims in the field."""
    other = str(op.attribute("with") or "")
    if other not in x.names:
        raise ExecutionError("execution.names", "sinkhorn needs its second dimension: with=")
    axes = (1 + local.lead + x.names.index(over), 1 + local.lead + x.names.index(other))
    if isinstance(local.arithmetic, Field):
        first = x.data[0]
        rows, columns = first.shape[axes[0] - 1], first.shape[axes[1] - 1]
        shape = [1] * first.ndim
        shape[axes[0] - 1] = rows
        place = np.arange(rows, dtype=np.uint64).reshape(shape) * np.uint64(prod((columns,)))
        shape = [1] * first.ndim
        shape[axes[1] - 1] = columns
        place = place + np.arange(columns, dtype=np.uint64).reshape(shape)
        digest = mix(first * _PRIME + place).sum(
            axis=(axes[0] - 1, axes[1] - 1), keepdims=True, dtype=np.uint64
        )
        return local.arithmetic.hash(key(op), first, digest, place)
    data = np.exp(x.data - x.data.max(axis=axes, keepdims=True))
    for _ in range(int(op.attribute("iterations") or 20)):
        data = data / data.sum(axis=axes[0], keepdims=True)
        data = data / data.sum(axis=axes[1], keepdims=True)
    scaled: Array = data
    return scaled
