"""Lowering of a whole design: segments, units, carried values and the conditions of divisibility."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from rooflang.design import Design, Op, Placement, Repeat, Schedule, Section, Statement, walk
from rooflang.errors import DesignError, LoweringError, nearest
from rooflang.layout import Split
from rooflang.lower import convert
from rooflang.lower.fuse import fused
from rooflang.lower.rules import home_of, matches, rules_of, value_rules
from rooflang.lower.unit import Place, Setting, lower_unit
from rooflang.lowered import Condition, LocalOp, Lowered, Segment, Tensor, Unit


@lru_cache(maxsize=256)
def lower(design: Design) -> Lowered:
    """The lowered program. Raises DesignError or LoweringError, naming the section and the value."""
    meshes = _meshes(design)
    context = _Context(design, meshes)
    env: dict[str, Tensor] = {}
    segments: list[Segment] = []
    groups = list(_groups(design.program.body))
    for position, (repeat, body) in enumerate(groups):
        later = _reads_after(groups, position) | set(design.program.outputs)
        if repeat is None:
            units = context.units(body, "", env, later)
            segments.append(Segment(f"part{position}", 1, False, units))
            continue
        carried = sorted(set(env) & set(_assigned(body)))
        # What is passed from layer to layer enters whole, never as a sum that every reader would finish.
        entry = {
            n: replace(env[n], layout=tuple((a, c) for a, c in env[n].layout if isinstance(c, Split)))
            for n in carried
        }
        for _ in range(3):
            start = {**env, **entry}
            units = context.units(body, repeat.name, start, later | set(carried))
            leave = {n: start[n] for n in carried}
            if all(leave[n].layout == entry[n].layout and leave[n].pool == entry[n].pool for n in carried):
                break
            entry = leave
        fixed = context.align({n: env[n] for n in carried}, entry, f"{repeat.name}.enter")
        if fixed is not None and segments:
            last = segments[-1]
            segments[-1] = Segment(last.name, last.count, last.draft, (*last.units, fixed))
        back = context.align(leave, entry, f"{repeat.name}.next")
        segments.append(Segment(repeat.name, repeat.count, repeat.draft, (*units, *([back] if back else []))))
        env.update({n: entry[n] for n in carried})
    named = [n for n, _ in groups if n is not None]
    if len({r.name for r in named}) != len(named):
        raise DesignError("repeats must have different names")
    return Lowered(design, tuple(segments), meshes, _conditions(segments, design))


class _Context:
    """A design's placement and schedule, asked per section."""

    def __init__(self, design: Design, meshes: tuple[tuple[str, tuple[str, ...]], ...]) -> None:
        self.placement: Placement = design.placement
        self.schedule: Schedule = design.schedule
        self.meshes = dict(meshes)
        self.default = meshes[0][0]

    def units(
        self, body: tuple[Statement, ...], path: str, env: dict[str, Tensor], later: set[str]
    ) -> tuple[Unit, ...]:
        """Lower the sections of a body in order; `env` is updated to what they leave behind."""
        parts = list(_unit_bodies(body, path))
        found: list[Unit] = []
        for position, (unit_path, statements) in enumerate(parts):
            wanted = set(later)
            for _, other in parts[position + 1 :]:
                wanted |= _reads(other)
            needed = _reads(statements)
            # Inside a unit an input goes by its program name, whatever the unit before called it.
            inputs = tuple((n, replace(env[n], name=n)) for n in sorted(needed) if n in env)
            setting = self.setting(unit_path, statements)
            try:
                unit = lower_unit(statements, setting, inputs, tuple(sorted(wanted)))
            except DesignError as error:
                raise error.inside(unit_path) from None
            unit = replace(unit, path=unit_path, ops=fused(unit.ops, self.kernels(unit_path)))
            env.update(dict(unit.outputs))
            found.append(unit)
            for name, tensor in _declared(unit):
                env.setdefault(name, tensor)
        return tuple(found)

    def setting(self, path: str, body: tuple[Statement, ...]) -> Setting:
        inside = ["", *_inner_paths(body)]
        places = tuple((p, self._place(f"{path}.{p}" if p else path)) for p in inside)
        names = {s.result for s in _ops(body)} | set(_names(body))
        every = tuple(dict.fromkeys(a for _, place in places for a in place.axes))
        values = tuple((n, r) for n in sorted(names) if (r := value_rules(n, self.placement.shards, every)))
        return Setting(places, values)

    def kernels(self, path: str) -> tuple[tuple[str, str], ...]:
        """(value, kernel) of the fusions that speak of this section."""
        return tuple(
            (value, f"#{number}")
            for number, fusion in enumerate(self.schedule.fusions)
            if matches(fusion.target, path)
            for value in fusion.values
        )

    def _place(self, path: str) -> Place:
        pool = home_of(path, self.placement, self.default)
        axes = tuple(a for a in self.meshes[pool] if a != self.placement.pipeline)
        return Place(pool, axes, rules_of(path, self.placement.shards, axes))

    def align(self, have: dict[str, Tensor], want: dict[str, Tensor], path: str) -> Unit | None:
        """A unit that brings carried values to the layout in which the next layer expects them."""
        ops: list[LocalOp] = []
        inputs: list[tuple[str, Tensor]] = []
        outputs: list[tuple[str, Tensor]] = []
        for name, tensor in have.items():
            goal = want[name]
            if tensor.layout == goal.layout and tensor.pool == goal.pool:
                continue
            axes = tuple(a for a in self.meshes[goal.pool] if a != self.placement.pipeline)
            cells = dict(goal.layout)
            if tensor.pool == goal.pool:
                made, result = convert.apply(tensor, cells, axes, path, "'")
            else:
                made, result = convert.send(tensor, cells, goal.pool, axes, path, "'")
            ops.extend(made)
            inputs.append((name, tensor))
            outputs.append((name, result))
        if not ops:
            return None
        return Unit(path, ops[-1].result.pool, tuple(ops), tuple(inputs), tuple(outputs), (), ())


def _meshes(design: Design) -> tuple[tuple[str, tuple[str, ...]], ...]:
    pools = [p.name for p in design.pools] or ["main"]
    given = {m.pool: tuple(a for a, _ in m.axes) for m in design.placement.meshes}
    for pool in given:
        if pool not in pools:
            raise LoweringError(f"a mesh must belong to a pool, but {pool!r} is none{nearest(pool, pools)}")
    seen: dict[str, str] = {}
    for pool, axes in given.items():
        for axis in axes:
            if axis in seen:
                raise LoweringError(
                    f"axis names must differ between pools, but {axis!r} is in {seen[axis]!r} and {pool!r}"
                )
            seen[axis] = pool
    for shard in design.placement.shards:
        if len(set(shard.axes)) != len(shard.axes):
            raise LoweringError(
                f"an axis must be used once per line, but '{shard.dim} over {' '.join(shard.axes)}' "
                "repeats one"
            )
        for axis in shard.axes:
            if axis not in seen:
                raise LoweringError(
                    f"an axis must belong to a mesh, but {axis!r} does not{nearest(axis, list(seen))}"
                )
    return tuple((p, given.get(p, ())) for p in pools)


def _groups(body: tuple[Statement, ...]) -> Iterator[tuple[Repeat | None, tuple[Statement, ...]]]:
    loose: list[Statement] = []
    for statement in body:
        if isinstance(statement, Repeat):
            if loose:
                yield None, tuple(loose)
            loose = []
            yield statement, statement.body
        else:
            loose.append(statement)
    if loose:
        yield None, tuple(loose)


def _unit_bodies(body: tuple[Statement, ...], path: str) -> Iterator[tuple[str, tuple[Statement, ...]]]:
    """Units: sections that hold operators; sections that only hold sections are opened."""
    loose: list[Statement] = []
    for statement in body:
        if isinstance(statement, Section):
            if loose:
                yield path, tuple(loose)
                loose = []
            inner = f"{path}.{statement.name}" if path else statement.name
            if all(isinstance(s, Section) for s in statement.body):
                yield from _unit_bodies(statement.body, inner)
            else:
                yield inner, statement.body
        else:
            loose.append(statement)
    if loose:
        yield path, tuple(loose)


@lru_cache(maxsize=4096)
def _ops(body: tuple[Statement, ...]) -> tuple[Op, ...]:
    found: list[Op] = []
    for statement in body:
        if isinstance(statement, Section | Repeat):
            found.extend(_ops(statement.body))
        elif isinstance(statement, Op):
            found.append(statement)
    return tuple(found)


@lru_cache(maxsize=4096)
def _names(body: tuple[Statement, ...]) -> tuple[str, ...]:
    found: list[str] = []
    for statement in body:
        if isinstance(statement, Section):
            found.extend(_names(statement.body))
        elif not isinstance(statement, Repeat | Op):
            found.append(statement.name)
    return tuple(found)


def _inner_paths(body: tuple[Statement, ...], path: str = "") -> list[str]:
    found: list[str] = []
    for statement in body:
        if isinstance(statement, Section):
            inner = f"{path}.{statement.name}" if path else statement.name
            found.append(inner)
            found.extend(_inner_paths(statement.body, inner))
    return found


@lru_cache(maxsize=4096)
def _reads(body: tuple[Statement, ...]) -> frozenset[str]:
    """Names that statements read from outside: used before they are assigned or declared here."""
    found: set[str] = set()
    known: set[str] = set()
    for _, statement in walk(body):
        if isinstance(statement, Op):
            found.update(n for o in statement.operands for n in (o.name, o.index) if n and n not in known)
            if statement.operator != "append":
                known.add(statement.result)
        elif not isinstance(statement, Section | Repeat):
            known.add(statement.name)
    return frozenset(found)


def _assigned(body: tuple[Statement, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(op.result for op in _ops(body) if op.operator != "append"))


def _reads_after(groups: list[tuple[Repeat | None, tuple[Statement, ...]]], position: int) -> set[str]:
    found: set[str] = set()
    for _, body in groups[position + 1 :]:
        found |= _reads(body)
    return found


def _declared(unit: Unit) -> list[tuple[str, Tensor]]:
    return [(t.name.rpartition(".")[2], t) for t in (*unit.weights, *unit.states)]


def _conditions(segments: list[Segment], design: Design) -> tuple[Condition, ...]:
    """Fixed sizes that must divide by the axes that cut them."""
    sizes = design.program.sizes
    found = {
        condition: None
        for segment in segments
        for unit in segment.units
        for condition in unit.conditions
        if sizes[condition.dim].constant is not None
    }
    return tuple(sorted(found, key=lambda c: (c.dim, c.axes, c.multiple)))
