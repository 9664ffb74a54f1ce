"""Lowering of a whole design: segments, units, carried values and the conditions of divisibility."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from rooflang.design import (
    Design,
    Fusion,
    Placement,
    Repeat,
    Shard,
    State,
    Statement,
    Weight,
    reads,
    walk,
)
from rooflang.errors import DesignError, LoweringError, nearest
from rooflang.layout import Split
from rooflang.lower import convert
from rooflang.lower.parts import Part, assigned, groups, parts
from rooflang.lower.rules import Rules, home_of, inherit, matches, own_rules, tier_of, value_rules
from rooflang.lower.unit import Place, Setting, lower_unit
from rooflang.lowered import Condition, LocalOp, Lowered, Segment, Tensor, Unit


@lru_cache(maxsize=256)
def lower(design: Design) -> Lowered:
    """The lowered program. Raises DesignError or LoweringError, naming the section and the value."""
    meshes = _meshes(design)
    context = _Context(design, meshes)
    env: dict[str, Tensor] = {}
    segments: list[Segment] = []
    found = groups(design.program.body)
    for position, (repeat, body) in enumerate(found):
        later = _reads_after(found, position) | set(design.program.outputs)
        if repeat is None:
            units = context.units(body, "", env, later)
            segments.append(Segment(f"part{position}", 1, False, units))
            continue
        carried = sorted(set(env) & assigned(body))
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
            if last.count > 1 or last.draft:  # once, not after each of its layers
                segments.append(Segment(f"{repeat.name}.enter", 1, False, (fixed,)))
            else:
                segments[-1] = Segment(last.name, last.count, last.draft, (*last.units, fixed))
        back = context.align(leave, entry, f"{repeat.name}.next")
        segments.append(Segment(repeat.name, repeat.count, repeat.draft, (*units, *([back] if back else []))))
        env.update({n: entry[n] for n in carried})
    named = [n for n, _ in found if n is not None]
    if len({r.name for r in named}) != len(named):
        raise DesignError("repeats must have different names")
    return Lowered(design, tuple(segments), meshes, _conditions(segments, design))


class _Context:
    """A design's placement and schedule, asked per section."""

    def __init__(self, design: Design, meshes: tuple[tuple[str, tuple[str, ...]], ...]) -> None:
        self.placement: Placement = design.placement
        self.meshes = dict(meshes)
        self.default = meshes[0][0]
        self.cutting = {p: tuple(a for a in axes if a != self.placement.pipeline) for p, axes in meshes}
        # A target can only name sections whose last name is its own.
        self.lines: dict[str, tuple[Shard, ...]] = {}
        self.fusions: dict[str, tuple[Fusion, ...]] = {}
        for shard in design.placement.shards:
            self.lines[_last(shard.target)] = (*self.lines.get(_last(shard.target), ()), shard)
        for fusion in design.schedule.fusions:
            self.fusions[_last(fusion.target)] = (*self.fusions.get(_last(fusion.target), ()), fusion)
        self.cascades = design.schedule.cascade
        self.homes: dict[str, tuple[tuple[str, str], ...]] = {}
        for target, pool in self.placement.homes:
            self.homes[_last(target)] = (*self.homes.get(_last(target), ()), (target, pool))
        self._places: dict[str, Place] = {}
        self._rules: dict[tuple[str, str], Rules] = {}

    def units(
        self, body: tuple[Statement, ...], path: str, env: dict[str, Tensor], later: set[str]
    ) -> tuple[Unit, ...]:
        """Lower the sections of a body in order; `env` is updated to what they leave behind."""
        here = parts(body, path)
        wanted = [later]
        for part in reversed(here[1:]):
            wanted.append(wanted[-1].union(part.reads))
        found: list[Unit] = []
        for part in here:
            # Inside a unit an input goes by its program name, whatever the unit before called it.
            inputs = tuple((n, _named(env[n], n)) for n in part.reads if n in env)
            leaves = tuple(sorted(wanted.pop() & part.names))
            try:
                unit = lower_unit(part.body, self.setting(part, inputs), inputs, leaves)
            except DesignError as error:
                raise error.inside(part.path) from None
            cascade = any(matches(target, part.path) for target in self.cascades)
            unit = _standing(unit, part.path, self.kernels(part.path), cascade)
            env.update(dict(unit.outputs))
            found.append(unit)
            for tensor in (*unit.weights, *unit.states):
                env.setdefault(tensor.name.rpartition(".")[2], tensor)
        return tuple(found)

    def setting(self, part: Part, inputs: tuple[tuple[str, Tensor], ...]) -> Setting:
        """What surrounds a unit, without the axes that matter nowhere in it."""
        where = [(p, self.place(".".join(n for n in (part.path, p) if n))) for p in ("", *part.inner)]
        every = tuple(dict.fromkeys(a for _, place in where for a in place.axes))
        values = tuple(
            (
                n,
                value_rules(
                    ".".join(p for p in (part.path, n) if p), self.lines[n.rpartition(".")[2]], every
                ),
            )
            for n in part.named(self.lines.keys())
        )
        homes = self.values_away(part)
        used = {a for _, tensor in inputs for a, _ in tensor.layout}
        used.update(a for _, place in (*where, *homes) for _, axes in place.rules for a in axes)
        used.update(a for _, rules in values for _, axes in rules for a in axes)

        def without(place: Place) -> Place:
            return Place(place.pool, tuple(a for a in place.axes if a in used), place.rules)

        return Setting(
            tuple((p, without(o)) for p, o in where),
            tuple((n, rules) for n, rules in values if rules),
            tuple((n, without(o)) for n, o in homes),
            self.tiers(part),
        )

    def values_away(self, part: Part) -> list[tuple[str, Place]]:
        """Values that live elsewhere than their section: the section's lines about that pool cut them."""
        found = []
        for name in part.named(self.homes.keys()):
            path = ".".join(p for p in (part.path, name) if p)
            own = (p for target, p in self.homes[_last(name)] if matches(target, path))
            pool = next(own, None)
            if pool is not None:
                section = path.rpartition(".")[0]
                found.append((name, Place(pool, self.cutting[pool], self.rules(section, pool))))
        return found

    def tiers(self, part: Part) -> tuple[tuple[str, str], ...]:
        """The weights and states of a unit that are kept in another memory, by their path within it."""
        found = []
        for inner, s in walk(part.body.statements) if self.placement.tiers else ():
            if isinstance(s, Weight | State):
                tier = tier_of(".".join(p for p in (part.path, *inner, s.name) if p), self.placement)
                if tier:
                    found.append((".".join((*inner, s.name)), tier))
        return tuple(found)

    def kernels(self, path: str) -> tuple[tuple[str, str], ...]:
        """(value, kernel) of the fusions that speak of this section."""
        own = (f for f in self.fusions.get(_last(path), ()) if matches(f.target, path))
        return tuple((value, f"#{n}") for n, fusion in enumerate(own) for value in fusion.values)

    def place(self, path: str) -> Place:
        """Where a section runs, and all rules in force there."""
        found = self._places.get(path)
        if found is None:
            pool = home_of(path, self.placement, self.default)
            found = self._places[path] = Place(pool, self.cutting[pool], self.rules(path, pool))
        return found

    def rules(self, path: str, pool: str) -> Rules:
        """The lines about axes of a pool that speak of a section or of one around it."""
        if not path:
            return ()
        found = self._rules.get((path, pool))
        if found is None:
            own = own_rules(path, self.lines.get(_last(path), ()), self.cutting[pool])
            found = self._rules[path, pool] = inherit(self.rules(path.rpartition(".")[0], pool), own)
        return found

    def align(self, have: dict[str, Tensor], want: dict[str, Tensor], path: str) -> Unit | None:
        """A unit that brings carried values to the layout in which the next layer expects them."""
        ops: list[LocalOp] = []
        inputs: list[tuple[str, Tensor]] = []
        outputs: list[tuple[str, Tensor]] = []
        for name, tensor in have.items():
            goal = want[name]
            if tensor.layout == goal.layout and tensor.pool == goal.pool:
                continue
            axes = self.cutting[goal.pool]
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
    for target, pool in design.placement.homes:
        if pool not in pools:
            raise LoweringError(f"{target!r} must live on a pool, but {pool!r} is none{nearest(pool, pools)}")
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


def _last(path: str) -> str:
    return path.rpartition(".")[2]


@lru_cache(maxsize=20_000)
def _named(tensor: Tensor, name: str) -> Tensor:
    return tensor if tensor.name == name else replace(tensor, name=name)


@lru_cache(maxsize=20_000)
def _standing(unit: Unit, path: str, kernels: tuple[tuple[str, str], ...], cascade: bool) -> Unit:
    """The unit in its place: one object for equal ones."""
    return replace(unit, path=path, kernels=kernels, cascade=cascade)


def _reads_after(found: tuple[tuple[Repeat | None, tuple[Statement, ...]], ...], position: int) -> set[str]:
    return {name for _, body in found[position + 1 :] for name in reads(body)}


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
