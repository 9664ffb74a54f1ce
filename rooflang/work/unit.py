"""The cost of a unit: its kernels and collectives in order, each with symbolic work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from rooflang.lowered import LocalOp, Tensor, Unit, Use
from rooflang.size import Size, add, div
from rooflang.work.arithmetic import arithmetic
from rooflang.work.extent import Extents
from rooflang.work.links import move_work
from rooflang.work.record import Kernel, Work
from rooflang.work.traffic import VIEWS, producers, read_bytes, roots, write_bytes


@lru_cache(maxsize=4096)
def unit_work(
    unit: Unit, sizes: tuple[tuple[str, Size], ...], meshes: tuple[tuple[str, tuple[str, ...]], ...]
) -> tuple[Kernel, ...]:
    """Kernels of one unit for one layer. Fused operators share a kernel; views cost nothing."""
    extents = Extents(dict(sizes), {r.tag: r for r in unit.routings})
    made = producers(unit)
    looked = roots(unit)
    outside = _leaving(unit, made)
    read: dict[tuple[str, object, object], None] = {}
    kernels: dict[str, Kernel] = {}
    mesh_of = dict(meshes)
    for op in unit.ops:
        if op.is_collective:
            for side, work in enumerate(move_work(op, extents, mesh_of)):
                _collect(kernels, f"{op.kernel}:{side}", op, "link", work)
        elif op.operator not in VIEWS:
            work = _compute(op, extents, made, looked, outside, read)
            _collect(kernels, op.kernel, op, "compute", work)
    waiting = waits(unit, made)
    found = []
    for kernel in kernels.values():
        wait = waiting.get(kernel.name)
        if wait is not None:
            held = add(*(extents.bytes(t) for t in wait.held))
            kernel = replace(kernel, work=replace(kernel.work, barriers=wait.barriers, held=held))
        found.append(kernel)
    return tuple(found)


# Operators that need every part of their operand before they give any part of their result.
_WHOLE = frozenset(("norm", "topk", "sample"))


@dataclass(frozen=True, slots=True)
class Wait:
    """How often all blocks of a kernel wait for each other, and the values that stay on chip meanwhile."""

    barriers: int
    held: tuple[Tensor, ...]


def waits(unit: Unit, made: Mapping[Tensor, str]) -> dict[str, Wait]:
    """The kernels that wait inside.

    A product with a weight, or an operator over a whole row, that reads what another one made in the same
    kernel can only start when that is complete. Attention streams its rows and never waits.
    """
    depth: dict[Tensor, int] = {}
    deepest: dict[str, int] = {}
    held: dict[str, dict[Tensor, None]] = {}
    for op in unit.ops:
        if op.is_collective:
            continue
        kernel = made[op.result]
        inside = [u.tensor for u in op.operands if made.get(u.tensor) == kernel]
        before = max((depth.get(t, 0) for t in inside), default=0)
        heavy = op.operator in _WHOLE or (
            op.operator == "einsum" and any(u.tensor.kind == "weight" for u in op.operands)
        )
        if heavy and before:
            held.setdefault(kernel, {}).update(dict.fromkeys(t for t in inside if depth.get(t, 0)))
        depth[op.result] = before + heavy
        deepest[kernel] = max(deepest.get(kernel, 0), depth[op.result])
    return {k: Wait(n - 1, tuple(held.get(k, ()))) for k, n in deepest.items() if n > 1}


def _collect(kernels: dict[str, Kernel], name: str, op: LocalOp, engine: str, work: Work) -> None:
    before = kernels.get(name)
    results = (*before.results, op.result.name) if before else (op.result.name,)
    kernels[name] = Kernel(name, op.section, engine, before.work.plus(work) if before else work, results)


def _leaving(unit: Unit, made: Mapping[Tensor, str]) -> set[Tensor]:
    """Values that some other kernel, collective or unit reads."""
    leaving: set[Tensor] = {t for _, t in unit.outputs}
    looked = roots(unit)
    for op in unit.ops:
        if op.operator in VIEWS:
            continue
        for use in op.operands:
            for tensor in (use.tensor, use.index):
                if tensor is None:
                    continue
                base = looked.get(tensor, tensor)
                if made.get(base) != op.kernel:
                    leaving.add(base)
    leaving.update(looked[t] for t in list(leaving) if t in looked)
    return leaving


def _compute(
    op: LocalOp,
    extents: Extents,
    made: Mapping[Tensor, str],
    looked: Mapping[Tensor, Tensor],
    outside: set[Tensor],
    read: dict[tuple[str, object, object], None],
) -> Work:
    flops, vector, exponentials = arithmetic(op, extents)
    reads: dict[str, Size] = {}
    for position, use in enumerate(op.operands):
        if op.operator == "append" and position == 0:
            continue
        for part in (use, *([Use(use.index)] if use.index is not None else [])):
            base = looked.get(part.tensor, part.tensor)
            if made.get(base) == op.kernel and part.tensor.kind == "value":
                continue
            key = (op.kernel, _identity(base), part.index)
            if key in read:
                continue
            read[key] = None
            kind, amount = read_bytes(part, extents)
            if op.operator == "pool" and part.tensor.kind == "state":
                # A block is read once, when its last token arrives: on average one block in `every` steps.
                amount = div(amount, int(op.attribute("every") or 1))
            reads[kind] = add(reads[kind], amount) if kind in reads else amount
    writes: dict[str, Size] = {}
    if op.operator == "append" or op.result in outside:
        kind, amount = write_bytes(op, extents)
        writes[kind] = amount
    return Work(op.result.pool, flops, vector, exponentials, reads, writes)


def _identity(base: Tensor) -> Tensor | str:
    """Versions of one cache are one buffer."""
    return base.name.partition("+")[0] if base.kind == "state" else base
