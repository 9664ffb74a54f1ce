"""Test sizes used again: the reference need not run anew for every candidate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import lcm

from rooflang.lowered import Lowered, Unit
from rooflang.run.facts import Facts, note_choice, note_op, note_tensor, real, tensors
from rooflang.run.shrink import Trial, small_meshes


def refit(trial: Trial, programs: Sequence[Lowered], units: Sequence[Unit], variant: int = 0) -> Trial | None:
    """The trial with the meshes of other units, if its sizes and literals serve them as well."""
    meshes = small_meshes(programs, units, variant)
    ranks = {axis: n for axes in meshes.values() for axis, n in axes}
    constants = {name: real(size) for p in programs for name, size in p.sizes.items()}
    facts = Facts()
    for tensor in tensors(units):
        note_tensor(facts, tensor, ranks)
        if any(d not in trial.sizes.dims and d != "Q" for d in tensor.dims):
            return None
    for tensor in tensors(units):
        note_choice(facts, tensor, constants)
    for unit in units:
        for op in unit.ops:
            note_op(facts, op, constants, False)
    sizes = trial.sizes
    for kind, values in facts.literals.items():
        if any((kind, v) not in sizes.literals for v in values):
            return None
    for name, step in facts.step.items():
        need = lcm(step * lcm(*(sizes.literal("block", b) for b in facts.blocks.get(name, ()))))
        if name == "Q":
            if any(s.queries % step for s in trial.steps):
                return None
        elif sizes.dims[name] % need:
            return None
    if any(sizes.dims.get(n) != sizes.literals["window", w] + 1 for n, w in facts.taps.items()):
        return None
    for picks, over in facts.double_names:
        if over in facts.step and sizes.dims[over] < 2 * facts.step[over]:
            return None
        if over not in {*facts.rows, *facts.row_picks} and 2 * sizes.dims[picks] >= sizes.dims[over]:
            return None
    rows = sizes.rows | frozenset(facts.rows)
    return Trial(replace(sizes, meshes=meshes, rows=rows), trial.steps, trial.cut)
