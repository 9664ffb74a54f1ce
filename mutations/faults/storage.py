"""Faults of storage and residence: narrower formats, another pool."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from mutations.faults.edit import put, retensored
from mutations.faults.fault import Fault, Meshes
from rooflang.dtype import index_dim
from rooflang.lowered import Tensor, Unit


def _narrower(dtype: str) -> str | None:
    if index_dim(dtype) is not None:
        return None
    return {"f32": "bf16", "bf16": "fp8", "fp8": "mxfp4", "mxfp8": "mxfp4"}.get(dtype)


def narrow_value(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    for i, op in enumerate(unit.ops):
        dtype = _narrower(op.result.dtype)
        if dtype and op.operator not in ("append", "quantize"):
            bad = replace(op, result=replace(op.result, dtype=dtype))
            yield op.result.name, put(unit, i, bad)


def _as(dtype: str, tensor: Tensor) -> Tensor:
    return replace(tensor, dtype=dtype)


def narrow_store(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    for tensor in (*unit.weights, *unit.states):
        dtype = _narrower(tensor.dtype)
        if dtype:
            yield tensor.name, retensored(unit, tensor, partial(_as, dtype))


def other_pool(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    """An operator reads, on one pool, what lives on another."""
    pools = list(meshes)
    for i, op in enumerate(unit.ops):
        others = [p for p in pools if p != op.result.pool]
        if others and not op.is_collective:
            bad = replace(op, result=replace(op.result, pool=others[0]))
            yield op.result.name, put(unit, i, bad)


FAULTS = (
    Fault("value narrowed", "a value or message is stored in a narrower format", narrow_value, silent=True),
    Fault("weight or cache narrowed", "a weight or cache is stored narrower", narrow_store, silent=True),
    Fault("pools swapped", "a pool reads what another one holds", other_pool, silent=True),
)
