"""Changes of a design that tests make: renaming, reordering, and editing one statement."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random

from rooflang.design import (
    Design,
    Fusion,
    Input,
    Mesh,
    Op,
    Operand,
    Placement,
    Pool,
    Program,
    Repeat,
    Schedule,
    Section,
    Shard,
    State,
    Statement,
    Weight,
)
from rooflang.dtype import index_dim
from rooflang.limits import PARTIAL, WHOLE
from rooflang.size import substitute, symbol

Name = Callable[[str], str]


def renamed(design: Design, value: Name, dim: Name, block: Name, axis: Name, pool: Name) -> Design:
    """The same design under other names (`B` and `Q` keep theirs)."""

    def dim_(name: str) -> str:
        return name if name in ("B", "Q") else dim(name)

    def dtype(name: str) -> str:
        target = index_dim(name)
        return name if target is None else f"index<{dim_(target)}>"

    def op(old: Op) -> Op:
        operands = tuple(
            Operand(value(o.name), value(o.index) if o.index else None, dim_(o.over) if o.over else None)
            for o in old.operands
        )
        dims = None if old.dims is None else tuple(map(dim_, old.dims))
        return Op(
            value(old.result),
            old.operator,
            operands,
            old.attributes,
            dims,
            dtype(old.dtype) if old.dtype else None,
        )

    def statement(old: Statement) -> Statement:
        match old:
            case Op():
                return op(old)
            case Section():
                return Section(block(old.name), tuple(map(statement, old.body)))
            case Repeat():
                return Repeat(block(old.name), old.count, tuple(map(statement, old.body)), old.draft)
            case Weight() | State() | Input():
                new = replace(
                    old, name=value(old.name), dtype=dtype(old.dtype), dims=tuple(map(dim_, old.dims))
                )
                if isinstance(new, Weight) and new.derived:
                    return replace(new, derived=op(new.derived))
                return new

    values = {n for s in _flat(design.program.body) for n in _names(s)}

    def target(name: str) -> str:
        return value(name) if name in values else ".".join(map(block, name.split(".")))

    def cut(name: str) -> str:
        return name if name in (WHOLE, PARTIAL) else dim_(name)

    axes = {a: symbol(axis(a)) for m in design.placement.meshes for a, _ in m.axes}
    program = Program(
        tuple((dim_(n), substitute(s, axes)) for n, s in design.program.dims),
        tuple(map(statement, design.program.body)),
        tuple(map(value, design.program.outputs)),
    )
    p, s = design.placement, design.schedule
    placement = Placement(
        tuple(Mesh(pool(m.pool), tuple((axis(a), n) for a, n in m.axes)) for m in p.meshes),
        tuple(Shard(target(x.target), cut(x.dim), tuple(map(axis, x.axes))) for x in p.shards),
        tuple((target(t), pool(h)) for t, h in p.homes),
        axis(p.pipeline) if p.pipeline else None,
        tuple((target(t), tier) for t, tier in p.tiers),
    )
    fusions = tuple(Fusion(target(f.target), tuple(map(value, f.values))) for f in s.fusions)
    sections = (tuple(map(target, names)) for names in (s.streams, s.prefetch, s.cascade))
    schedule = Schedule(s.microbatches, fusions, s.overlap_links, *sections)
    pools = tuple(Pool(pool(x.name), x.device, x.count) for x in design.pools)
    return Design("another name", program, pools, placement, schedule)


def reordered(design: Design, random: Random) -> Design:
    """The same design with neighbours that do not depend on each other swapped, many times."""

    def shuffle(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        found = [replace(s, body=shuffle(s.body)) if isinstance(s, Section | Repeat) else s for s in body]
        for _ in range(4 * len(found)):
            i = random.randrange(len(found)) if found else 0
            if i and not _conflict(found[i - 1], found[i]):
                found[i - 1], found[i] = found[i], found[i - 1]
        return tuple(found)

    dims = list(design.program.dims)
    random.shuffle(dims)
    return replace(
        design, program=replace(design.program, dims=tuple(dims), body=shuffle(design.program.body))
    )


def edited(design: Design, change: Callable[[Statement], Statement | None]) -> Iterator[Design]:
    """Every design in which one statement is changed."""

    def bodies(body: tuple[Statement, ...]) -> Iterator[tuple[Statement, ...]]:
        for i, old in enumerate(body):
            new = change(old)
            if new is not None:
                yield (*body[:i], new, *body[i + 1 :])
            if isinstance(old, Section | Repeat):
                for inner in bodies(old.body):
                    yield (*body[:i], replace(old, body=inner), *body[i + 1 :])

    for body in bodies(design.program.body):
        yield replace(design, program=replace(design.program, body=body))


def _flat(body: tuple[Statement, ...]) -> Iterator[Statement]:
    for statement in body:
        yield statement
        if isinstance(statement, Section | Repeat):
            yield from _flat(statement.body)


def _names(statement: Statement) -> set[str]:
    if isinstance(statement, Section | Repeat):
        return set()
    return {statement.result if isinstance(statement, Op) else statement.name}


def _reads(statement: Statement) -> set[str]:
    ops = [s for s in _flat((statement,)) if isinstance(s, Op)]
    ops += [s.derived for s in _flat((statement,)) if isinstance(s, Weight) and s.derived]
    return {n for op in ops for o in op.operands for n in (o.name, o.index) if n}


def _conflict(a: Statement, b: Statement) -> bool:
    writes_a = {n for s in _flat((a,)) for n in _names(s)}
    writes_b = {n for s in _flat((b,)) for n in _names(s)}
    return bool(writes_a & (writes_b | _reads(b)) or writes_b & _reads(a))
