"""Random global values for the tensors that a unit is given."""

from __future__ import annotations

import numpy as np

from rooflang.dtype import index_dim
from rooflang.lowered import Tensor
from rooflang.run.field import Field, Reals, word
from rooflang.run.sizes import Sizes
from rooflang.run.tokens import Step
from rooflang.run.value import Mask, Value


def draw(
    name: str, tensor: Tensor, sizes: Sizes, step: Step | None, arithmetic: Field | Reals, seed: int
) -> Value:
    """The value called `name`, the same for every design that has a tensor of this name and these dims."""
    shape = tuple(step.queries if d == "Q" and step is not None else sizes.dim(d) for d in tensor.dims)
    rng = np.random.default_rng([seed, word(name)])
    target = index_dim(tensor.dtype)
    if target is not None:
        data = rng.integers(0, sizes.dim(target), shape)[None]
        return Value(tensor.dims, data, index=True)
    data = arithmetic.random(rng, (arithmetic.levels, *shape), arithmetic.levels)
    value = Value(tensor.dims, data)
    if tensor.kind == "value" and tensor.every > 1 and step is not None and {"B", "Q"} <= set(tensor.dims):
        span = sizes.literal("every", tensor.every)
        positions = np.array(step.start)[:, None] + np.arange(step.queries)
        mask = Mask(("B", "Q"), (positions + 1) % span == 0)
        order = tuple(n for n in tensor.dims if n in ("B", "Q"))
        held = mask.array if order == ("B", "Q") else mask.array.T
        where = held.reshape([shape[i] if n in order else 1 for i, n in enumerate(tensor.dims)])
        return Value(tensor.dims, data * where, mask)
    return value


def empty(tensor: Tensor, sizes: Sizes, arithmetic: Field | Reals) -> Value:
    """A state before the first token."""
    shape = (arithmetic.levels, *(sizes.dim(d) for d in tensor.dims))
    return Value(tensor.dims, np.zeros(shape, dtype=arithmetic.dtype))
