"""The cost of a unit: its kernels and collectives in order, each with symbolic work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from rooflang.dtype import format_of
from rooflang.lowered import LocalOp, Tensor, Unit, Use, fused
from rooflang.size import ONE, Size, add, div, minimum, mul
from rooflang.work.arithmetic import arithmetic
from rooflang.work.cascade import merges, share_read
from rooflang.work.extent import Extents, extents_of
from rooflang.work.links import move_work
from rooflang.work.record import Kernel, Work
from rooflang.work.stages import held, stages
from rooflang.work.traffic import VIEWS, producers, read_bytes, roots, write_bytes

CASCADE_STAGE = 90
"""Numbers of the further kernels of a cascade, above those of any kernel's own stages."""

MERGE_OPERATIONS = 4
"""Element operations per element of a merge of two results: two scalings, a sum, a division."""


def unit_work(
    unit: Unit, sizes: tuple[tuple[str, Size], ...], meshes: tuple[tuple[str, tuple[str, ...]], ...]
) -> tuple[Kernel, ...]:
    """Kernels of one unit for one layer. Fused operators share a kernel; views cost nothing.

    A kernel that must wait for itself comes as its stages, in order.
    """
    return _work(fused(unit), sizes, meshes)


@lru_cache(maxsize=4096)
def _work(
    unit: Unit, sizes: tuple[tuple[str, Size], ...], meshes: tuple[tuple[str, tuple[str, ...]], ...]
) -> tuple[Kernel, ...]:
    extents = extents_of(sizes, unit.routings)
    made = producers(unit)
    looked = roots(unit)
    outside = _leaving(unit, made)
    read: dict[tuple[object, ...], None] = {}
    kernels: dict[str, Kernel] = {}
    mesh_of = dict(meshes)
    at = stages(unit, made)
    kept = held(unit, made, at)
    for op in unit.ops:
        if op.is_collective:
            for side, work in enumerate(move_work(op, extents, mesh_of)):
                _collect(kernels, f"{op.kernel}:{side}", op, "link", work)
        elif op.operator not in VIEWS:
            stage = at[op.result]
            name = f"{op.kernel}/{stage}" if stage else op.kernel
            work = _compute(op, extents, made, looked, outside, read, stage, unit.cascade)
            if stage and name not in kernels:
                bytes_held = add(*(extents.bytes(t) for t in kept.get((op.kernel, stage), ())))
                work = replace(work, waits=True, held=bytes_held)
            _collect(kernels, name, op, "compute", work)
            if unit.cascade and merges(op):
                _cascaded(kernels, op, extents)
    return tuple(replace(kernel, work=kernel.work.factored()) for kernel in kernels.values())


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
    read: dict[tuple[object, ...], None],
    stage: int,
    cascade: bool,
) -> Work:
    flops, vector, exponentials = arithmetic(op, extents)
    reads: dict[str, Size] = {}
    host: dict[str, Size] = {}
    for position, use in enumerate(op.operands):
        if op.operator == "append" and position == 0:
            continue
        for part in (use, *([Use(use.index)] if use.index is not None else [])):
            base = looked.get(part.tensor, part.tensor)
            if made.get(base) == op.kernel and part.tensor.kind == "value":
                continue
            view = None if part.tensor == base else part.tensor
            key = (f"{op.kernel}/{stage}", _identity(base), part.index, view)
            if key in read:
                continue
            read[key] = None
            kind, amount = read_bytes(part, extents, base, op)
            if op.operator == "pool" and part.tensor.kind == "state":
                # Blocks are read when their last tokens arrive, on average Q / every of them in a step; what
                # the step itself adds is taken from the operands that append it.
                blocks = div(extents.sizes["Q"], int(op.attribute("every") or 1))
                amount = mul(amount, minimum(ONE, blocks))
            elif cascade and kind == "state" and part.index is None:
                amount = mul(amount, share_read(base, extents, op))
            into = reads
            if base.tier:
                into, kind = host, "ahead" if part.index is None else "late"
            into[kind] = add(into[kind], amount) if kind in into else amount
    writes: dict[str, Size] = {}
    if op.operator == "append" or op.result in outside:
        kind, amount = write_bytes(op, extents)
        if op.operator == "append" and op.operands[0].tensor.tier:
            host["write"] = amount
        else:
            writes[kind] = amount
    return Work(op.result.pool, flops, vector, exponentials, reads, writes, host=host)


def _cascaded(kernels: dict[str, Kernel], op: LocalOp, extents: Extents) -> None:
    """The two further kernels of an attention over a shared prefix: the pass over the prefix leaves its
    result and the logarithms of its sums, and a last one merges them with those of the other rows."""
    part = mul(extents.elements(op.result), format_of("f32").bytes)
    passed = Work(op.result.pool, writes={"activation": part})
    merged = Work(
        op.result.pool, vector=mul(extents.elements(op.result), MERGE_OPERATIONS),
        reads={"activation": mul(part, 2)}, writes={"activation": extents.bytes(op.result)},
    )  # fmt: skip
    for number, work in enumerate((passed, merged)):
        _collect(kernels, f"{op.kernel}/{CASCADE_STAGE + number}", op, "compute", work)


def _identity(base: Tensor) -> Tensor | str:
    """Versions of one cache are one buffer."""
    return base.name.partition("+")[0] if base.kind == "state" else base
