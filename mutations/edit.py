"""Small edits of designs that rules share: lines of placement, axes and pools, bodies of sections."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from rooflang.design import (
    Design,
    Fusion,
    Mesh,
    Op,
    Placement,
    Pool,
    Program,
    Repeat,
    Schedule,
    Section,
    Shard,
    State,
    Statement,
    walk,
)
from rooflang.errors import RoofLangError
from rooflang.lower import lower
from rooflang.lowered import Lowered

Lines = Mapping[str, tuple[str, ...]]


def mesh_axes(design: Design, pool: str | None = None) -> tuple[str, ...]:
    """The axes of a pool (the first by default) that cut tensors, outermost first."""
    name = pool or first_pool(design)
    mesh = next((m for m in design.placement.meshes if m.pool == name), None)
    return tuple(a for a, _ in mesh.axes if a != design.placement.pipeline) if mesh else ()


def first_pool(design: Design) -> str:
    return design.pools[0].name if design.pools else "main"


def all_axes(design: Design) -> tuple[str, ...]:
    return tuple(a for m in design.placement.meshes for a, _ in m.axes)


def lines(design: Design, target: str) -> dict[str, tuple[str, ...]]:
    """What placement says of one target, by dimension."""
    return {s.dim: s.axes for s in design.placement.shards if s.target == target}


def ordered(program: Program, wanted: Lines) -> dict[str, tuple[str, ...]]:
    """Lines in the order in which rules write them: tokens, rows of caches, then the program's order.

    The first line that fits an operator decides, so where one axis cuts rows and heads, rows come first.
    """
    rows = {s.dims[1] for _, s in walk(program.body) if isinstance(s, State)}
    names = [d for d, _ in program.dims]
    places = {d: (0 if d == "B" else 1 if d in rows else 2, i) for i, d in enumerate(("B", "Q", *names))}
    return {d: tuple(wanted[d]) for d in sorted(wanted, key=lambda d: places.get(d, (3, 0))) if wanted[d]}


def with_lines(design: Design, target: str, wanted: Lines) -> Design:
    """The design with these lines for the target in place of its own; lines without axes are left out."""
    new = [Shard(target, dim, axes) for dim, axes in ordered(design.program, wanted).items()]
    shards: list[Shard] = []
    placed = False
    for shard in design.placement.shards:
        if shard.target != target:
            shards.append(shard)
        elif not placed:
            shards.extend(new)
            placed = True
    if not placed:
        shards.extend(new)
    return with_placement(design, shards=tuple(shards))


def with_placement(design: Design, **changes: object) -> Design:
    placement: Placement = replace(design.placement, **changes)  # type: ignore[arg-type]
    return design.with_(placement=placement)


def with_schedule(design: Design, **changes: object) -> Design:
    schedule: Schedule = replace(design.schedule, **changes)  # type: ignore[arg-type]
    return design.with_(schedule=schedule)


def with_kernels(design: Design, unit: str, changes: Mapping[str, tuple[str, ...]]) -> Design:
    """Kernels of a unit with values renamed, taken in beside others, or left out."""
    fusions = []
    for fusion in design.schedule.fusions:
        values = fusion.values
        if fusion.target.rpartition(".")[2] == unit:
            values = tuple(dict.fromkeys(n for v in values for n in changes.get(v, (v,))))
        if len(values) > 1:
            fusions.append(Fusion(fusion.target, values))
    return with_schedule(design, fusions=tuple(fusions))


def with_program(design: Design, **changes: object) -> Design:
    program: Program = replace(design.program, **changes)  # type: ignore[arg-type]
    return design.with_(program=program)


def add_axis(design: Design, axis: str, pool: str | None = None, inner: bool = True) -> Design:
    """A new axis of length 1 on a pool's mesh; `inner` makes it join neighbouring ranks."""
    name = pool or first_pool(design)
    meshes = list(design.placement.meshes)
    position = next((i for i, m in enumerate(meshes) if m.pool == name), None)
    old = meshes[position].axes if position is not None else ()
    mesh = Mesh(name, (*old, (axis, 1)) if inner else ((axis, 1), *old))
    if position is None:
        meshes.append(mesh)
    else:
        meshes[position] = mesh
    return with_placement(design, meshes=tuple(meshes))


def drop_axis(design: Design, axis: str) -> Design:
    """The design without an axis: what it cut is whole along it."""
    meshes = tuple(Mesh(m.pool, tuple(a for a in m.axes if a[0] != axis)) for m in design.placement.meshes)
    shards = tuple(
        replace(s, axes=left)
        for s in design.placement.shards
        if (left := tuple(a for a in s.axes if a != axis))
    )
    pipeline = None if design.placement.pipeline == axis else design.placement.pipeline
    return with_placement(design, meshes=meshes, shards=shards, pipeline=pipeline)


def add_pool(design: Design, name: str, axes: tuple[str, ...]) -> Design:
    """A further pool of the first pool's device with a mesh of its own."""
    device = design.pools[0].device if design.pools else "any"
    pools = design.pools or (Pool("main", device, 1),)
    meshes = (*design.placement.meshes, Mesh(name, tuple((a, 1) for a in axes)))
    return with_placement(design.with_(pools=(*pools, Pool(name, device, 1))), meshes=meshes)


def lowered_or_none(design: Design) -> Lowered | None:
    """The lowered design, or None where its placement cannot be realised."""
    try:
        return lower(design)
    except RoofLangError:
        return None


def moves(lowered: Lowered) -> tuple[tuple[object, ...], ...]:
    """What the collectives of a design do, in order."""
    return tuple(
        (unit.path, op.operator, op.operands[0].tensor.dims, op.operands[0].tensor.dtype, op.axes)
        for _, unit in lowered.units()
        for op in unit.ops
        if op.is_collective
    )


def fresh(wanted: str, taken: set[str] | frozenset[str]) -> str:
    """The name, or the first numbered form of it that is free."""
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted}{number}", number + 1
    return name


def matches(target: str, path: str) -> bool:
    """A target names a section by its last name or by the end of its dotted path."""
    return path == target or path.endswith("." + target)


def rewrite(
    design: Design, target: str, change: Callable[[str, tuple[Statement, ...]], tuple[Statement, ...] | None]
) -> Design | None:
    """Change the body, given its path, of every section that the target names; None if nothing changed."""
    changed = False

    def visit(body: tuple[Statement, ...], path: str) -> tuple[Statement, ...]:
        nonlocal changed
        result: list[Statement] = []
        for statement in body:
            if isinstance(statement, Section | Repeat):
                here = f"{path}.{statement.name}" if path else statement.name
                new = change(here, statement.body) if matches(target, here) else None
                if new is not None and new != statement.body:
                    changed = True
                    result.append(replace(statement, body=new))
                else:
                    result.append(replace(statement, body=visit(statement.body, here)))
            else:
                result.append(statement)
        return tuple(result)

    body = visit(design.program.body, "")
    return with_program(design, body=body) if changed else None


def reads(op: Op) -> tuple[str, ...]:
    """Names that an operator reads, indexes included."""
    return tuple(n for o in op.operands for n in (o.name, o.index) if n)
