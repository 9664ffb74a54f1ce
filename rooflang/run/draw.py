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
    if target is not None and target in sizes.spans and step is not None and {"B", "Q"} < set(tensor.dims):
        return _choice(tensor.dims, shape, sizes.dim(target), sizes.spans[target], step, rng)
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


def _choice(
    dims: tuple[str, ...], shape: tuple[int, ...], rows: int, span: int, step: Step, rng: np.random.Generator
) -> Value:
    """A choice among cache rows, as a top-k makes it: different rows that the query sees, as far as there
    are enough. The last dim counts the picks."""
    last = np.minimum(
        np.array(step.start)[:, None] + np.arange(step.queries) + 1, np.array(step.end)[:, None]
    )
    seen = np.arange(rows) < (last // span)[..., None]  # (B, Q, rows)
    others = [n for n in dims[:-1] if n not in ("B", "Q")]
    order = ("B", "Q", *others)
    outer = tuple(shape[dims.index(n)] for n in order)
    seen = np.broadcast_to(seen.reshape(*seen.shape[:2], *(1 for _ in others), rows), (*outer, rows))
    keys = np.where(seen, rng.permuted(np.broadcast_to(np.arange(rows), (*outer, rows)), axis=-1), -1)
    best = np.argsort(-keys, axis=-1, kind="stable")[..., : shape[-1]]
    chosen = np.where(np.take_along_axis(keys, best, axis=-1) >= 0, best, -1)
    chosen = np.pad(chosen, [(0, 0)] * len(order) + [(0, shape[-1] - best.shape[-1])], constant_values=-1)
    data = chosen.transpose(*(order.index(n) for n in dims[:-1]), len(order))
    return Value(dims, data[None], Mask(dims, data >= 0), index=True)


def empty(tensor: Tensor, sizes: Sizes, arithmetic: Field | Reals) -> Value:
    """A state before the first token."""
    shape = (arithmetic.levels, *(sizes.dim(d) for d in tensor.dims))
    return Value(tensor.dims, np.zeros(shape, dtype=arithmetic.dtype))
