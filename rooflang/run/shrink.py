"""Small sizes at which a lowered program keeps its structure.

Sizes and literals of all given programs are mapped together: equal real sizes stay equal, different
ones stay different, products and sums that views rely on hold, and everything divides by the axes,
blocks and groups that cut it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lcm

from rooflang.dtype import index_dim
from rooflang.lowered import Lowered, Unit, used_axes
from rooflang.run.facts import Facts, note_choice, note_derived, note_op, note_tensor, real, tensors
from rooflang.run.sizes import Sizes
from rooflang.run.solve import solve
from rooflang.run.tokens import Step
from rooflang.run.value import ExecutionError
from rooflang.size import Size

SERIES = "Z"  # the two series of an overlapping pool
CONTEXT = 8  # tokens per sequence after the last step
# Few ranks: what a dimension divides by multiplies over the axes that cut it, and so do partial sums.
_AXES = {0: ((3,), (2, 3), (2, 2, 3), (2, 2, 2, 3)), 1: ((2,), (3, 2), (3, 2, 2), (3, 2, 2, 2))}
# Blocks that divide each other, so that a dimension in several of them stays short.
_BLOCKS = (2, 4, 8, 3, 5, 7)
_SPANS = (2, 3, 4, 5, 6)
_WINDOWS = (3, 5, 4, 6, 2)


@dataclass(frozen=True, slots=True)
class Trial:
    """Sizes, and the steps through which caches grow from empty to equal lengths."""

    sizes: Sizes
    steps: tuple[Step, ...]
    cut: int = 1  # what the query slots of a step divide by


def shrink(programs: Sequence[Lowered], variant: int = 0) -> Trial:
    """Test sizes that serve all of the programs. Raises ExecutionError if none are found."""
    return shrink_units(programs, [unit for p in programs for _, unit in p.units()], variant)


def shrink_units(programs: Sequence[Lowered], units: Sequence[Unit], variant: int = 0) -> Trial:
    """Test sizes that serve these units of the programs; axes that they do not use are left out."""
    # Where tensors are cut and joined, the width of a partial rotation may be that of a part.
    apart = not any(op.operator in ("slice", "concat") for unit in units for op in unit.ops)
    try:
        return _trial(programs, units, variant, apart)
    except ExecutionError as error:
        if error.code != "execution.sizes":
            raise
        return _trial(programs, units, variant, not apart)


def _trial(programs: Sequence[Lowered], units: Sequence[Unit], variant: int, apart: bool) -> Trial:
    found = list(tensors(units))
    meshes = small_meshes(programs, units, variant)
    ranks = {axis: n for axes in meshes.values() for axis, n in axes}
    facts = Facts()
    sizes: dict[str, Size] = {}
    for program in programs:
        for name, size in program.sizes.items():
            if sizes.setdefault(name, size) is not size:
                raise ExecutionError(
                    "type.size",
                    f"dimension {name} must have one size in both designs, but has {sizes[name]} and {size}",
                )
    constants = {name: real(size) for name, size in sizes.items()}
    for tensor in found:
        note_tensor(facts, tensor, ranks)
        note_derived(facts, tensor, constants)
    for tensor in found:
        note_choice(facts, tensor, constants)
    for unit in units:
        for op in unit.ops:
            note_op(facts, op, constants, apart)
    literals = _literals(facts, variant)
    used = {d for t in found for d in t.dims} | set(facts.step)
    used |= {d for t in found if (d := index_dim(t.dtype)) is not None}
    step: dict[int, int] = {}
    for name in used | set(facts.blocks) | set(facts.groups):
        value = constants.get(name)
        if (
            value is None
            or name in facts.rows
            or name in facts.ratio
            or name in facts.taps
            or name in facts.row_picks
            or name == SERIES
        ):
            continue
        facts.values.add(value)
        factor = facts.step.get(name, 1)
        factor *= lcm(*(literals["block", b] for b in facts.blocks.get(name, ())))
        factor = lcm(factor, *(2 * literals["groups", g] for g in facts.groups.get(name, ())))
        step[value] = lcm(step.get(value, 1), factor)
    chosen = solve(facts, step, variant)
    cached = any(t.kind == "state" for t in found)
    batch = lcm(facts.step.get("B", 1), 1)
    batch *= -(-3 // batch)
    cut = facts.step.get("Q", 1)
    dims: dict[str, int] = {"B": batch}
    for name in used:
        if name in facts.rows:
            need = max(
                CONTEXT // literals["every", n] if kind == "every" else CONTEXT
                for kind, n in facts.rows[name]
            )
            dims[name] = -(-need // facts.step.get(name, 1)) * facts.step.get(name, 1)
        elif name in facts.ratio:
            if constants.get(name) != facts.ratio[name]:
                raise ExecutionError(
                    "type.size", f"{name} must have one entry per token of a block of {facts.ratio[name]}"
                )
            dims[name] = literals["every", facts.ratio[name]]
        elif name in facts.taps:
            if constants.get(name) != facts.taps[name] + 1:
                raise ExecutionError(
                    "type.size", f"{name} must count one tap more than its window of {facts.taps[name]} rows"
                )
            dims[name] = literals["window", facts.taps[name]] + 1
        elif name in facts.row_picks:
            dims[name] = 2 + sorted(set(facts.row_picks.values())).index(facts.row_picks[name])
        elif name == SERIES:
            dims[name] = 2
        elif name not in ("B", "Q"):
            value = constants.get(name)
            dims[name] = (
                chosen[value] if value is not None else _evaluated(sizes.get(name), chosen, batch, name)
            )
    literals.update({("start", v): chosen[v] for v in facts.literals.get("start", ())})
    literals.update({("last", v): chosen.get(-v, chosen.get(v, v)) for v in facts.literals.get("last", ())})
    spans = {
        name: literals["every", n] if kind == "every" else 1
        for name, found_rows in facts.rows.items()
        for kind, n in found_rows
        if kind != "window"
    }
    return Trial(
        Sizes(dims, meshes, frozenset(facts.rows), literals, spans), _steps(batch, cut, variant, cached), cut
    )


def small_meshes(
    programs: Sequence[Lowered], units: Sequence[Unit], variant: int
) -> dict[str, tuple[tuple[str, int], ...]]:
    """Small meshes with the axes of every pool that the units use."""
    used = frozenset().union(*map(used_axes, units))
    found: dict[str, tuple[tuple[str, int], ...]] = {}
    for program in programs:
        for pool, all_axes in program.meshes:
            axes = tuple(a for a in all_axes if a in used)
            if not axes:
                found.setdefault(pool, ())
                continue
            table = _AXES[variant % 2]
            if len(axes) > len(table):
                raise ExecutionError(
                    "execution.mesh",
                    f"a mesh of at most {len(table)} axes can be simulated, but {pool!r} has {len(axes)}",
                )
            found[pool] = tuple(zip(axes, table[len(axes) - 1], strict=True))
    return found


def _literals(facts: Facts, variant: int) -> dict[tuple[str, int], int]:
    found: dict[tuple[str, int], int] = {}
    choices: dict[str, Sequence[int]] = {
        "every": _SPANS, "window": _WINDOWS[variant % 2 :], "block": _BLOCKS,
        "groups": (4, 5, 6, 7), "keep": (2, 3, 4, 5),
    }  # fmt: skip
    for kind, table in choices.items():
        values = sorted(facts.literals.get(kind, ()))
        if kind == "window":
            found.update(_pooled(facts, found))
            values = [v for v in values if (kind, v) not in found]
            taken = [t for (k, _), t in found.items() if k == kind]
            table = [t for t in table if t not in taken]
            if len(set(taken)) != len(taken):
                raise ExecutionError("execution.sizes", "raw windows cannot be told apart at test sizes")
        if kind in ("window", "every") and 1 in values:
            found[kind, 1] = 1
            values.remove(1)
        if len(values) > len(table):
            raise ExecutionError(
                "execution.sizes",
                f"at most {len(table)} different {kind} literals can be told apart, but got {values}",
            )
        found.update({(kind, v): t for v, t in zip(values, table, strict=False)})
    for v in facts.literals.get("keep", set()) & facts.literals.get("groups", set()):
        found["keep", v] = found["groups", v]
    return found


def _pooled(facts: Facts, found: dict[tuple[str, int], int]) -> dict[tuple[str, int], int]:
    """Raw windows that hold a whole number of blocks keep holding as many."""
    return {
        ("window", window): window // every * found["every", every]
        for window, every in facts.spans
        if window % every == 0 and window in facts.literals.get("window", ())
    }


def _evaluated(size: Size | None, chosen: dict[int, int], batch: int, name: str) -> int:
    if size is None:
        raise ExecutionError("graph.undefined", f"dimension {name} has no size")
    values = {s: {"B": batch, "S": CONTEXT}.get(s, 2) for s in size.symbols()}
    return max(int(size.at(**values)), 1)


def _steps(batch: int, cut: int, variant: int, cached: bool) -> tuple[Step, ...]:
    """Ragged steps from empty caches to CONTEXT tokens: two of them, in the second assignment one.

    Without caches nothing is carried from step to step, and one step of two slots shows all.
    """
    late = [(b + variant) % 3 for b in range(batch)]
    zero = tuple(0 for _ in late)
    if not cached:
        return (Step(zero, tuple(1 + (b + variant) % 2 for b in range(batch)), -(-2 // cut) * cut),)
    if variant:
        return (Step(zero, tuple(CONTEXT - n for n in late), -(-CONTEXT // cut) * cut),)
    first = tuple(CONTEXT - 2 - n for n in late)
    return (
        Step(zero, first, -(-(CONTEXT - 2) // cut) * cut),
        Step(first, tuple(CONTEXT - n for n in first), -(-4 // cut) * cut),
    )
