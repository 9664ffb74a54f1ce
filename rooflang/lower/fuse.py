"""Kernels of a lowered section: a fusion gives its values one kernel, and changes nothing else."""

from __future__ import annotations

from dataclasses import replace

from rooflang.lowered import LocalOp

Kernels = tuple[tuple[str, str], ...]
_FUSED: dict[tuple[int, Kernels], tuple[tuple[LocalOp, ...], tuple[LocalOp, ...]]] = {}
_MOST = 20_000


def fused(ops: tuple[LocalOp, ...], kernels: Kernels) -> tuple[LocalOp, ...]:
    """The operators with the kernels of `kernels` (pairs of a value's name and its kernel).

    Lowering keeps one object for equal sections, so results are kept by the identity of `ops`.
    """
    if not kernels:
        return ops
    key = (id(ops), kernels)
    found = _FUSED.get(key)
    if found is None:
        if len(_FUSED) > _MOST:
            _FUSED.clear()
        by_value = dict(kernels)
        made = tuple(
            op
            if op.is_collective or (kernel := by_value.get(_value(op))) is None
            else replace(op, kernel=kernel)
            for op in ops
        )
        found = _FUSED[key] = (ops, made)
    return found[1]


def _value(op: LocalOp) -> str:
    """The name in the program of what an operator makes; an append makes a version of its cache."""
    return op.result.name.partition("~")[0].partition("+")[0].rpartition(".")[2]
