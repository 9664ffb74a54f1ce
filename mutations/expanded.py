"""Latent attention written out: keys and values per head are made from the cache before queries meet them.

Decoding wants latent attention absorbed (a query is brought to the width of the cached rows). A prompt has
many queries per cached row, and wants every row brought to the width of the heads once: fewer FLOPs per
pair of tokens. It is two steps of the rule `reassociate`, with the kernels that belong to them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

from mutations.anatomy import parts
from mutations.registry import rule
from mutations.start import starting_designs
from rooflang.design import Design, Fusion, Op, State
from rooflang.errors import LoweringError
from rooflang.lower import lower
from rooflang.typing import operand_type


def expanded(model: Design) -> Design | None:
    """The design with every cache that a weight can widen widened first; None if there is none."""
    turn = rule("reassociate")
    found, known = model, set(_widened(model))
    again = True
    while again:
        again = False
        for where in turn.sites(found):
            changed = turn.apply(found, where)
            new = set(_widened(changed)) - known
            if new and _per_pair(changed) < _per_pair(found):
                known |= new
                found = _kernels(changed, {name for _, name, _ in new}, {r for _, _, r in new})
                again = True
                break
    return None if found is model else found


def prompt_forms(model: Design) -> dict[str, Design]:
    """Conventional structures of the model's widened form, by name; none if it has no such form.

    Those that cannot be placed are left out: rows dealt out to the ranks that share the heads.
    """
    wide = expanded(model)
    found: dict[str, Design] = {}
    for design in starting_designs(wide) if wide is not None else ():
        try:
            lower(design)
        except LoweringError:
            continue
        found[design.name] = design
    return found


def prompt_designs(model: Design) -> tuple[Design, ...]:
    """Conventional structures for prefill: those of the model, and of its widened form."""
    wide = prompt_forms(model).values()
    return (*starting_designs(model), *(d.with_(name=f"{d.name}, latent written out") for d in wide))


def _widened(design: Design) -> Iterator[tuple[str, str, str]]:
    """(section, result, its reader) of every product of a cache and a weight alone."""
    for part in parts(design.program):
        states = {s.name for s in part.body if isinstance(s, State)}
        for op in part.ops:
            names = [o.name for o in op.operands]
            if op.operator != "einsum" or len(names) != 2:
                continue
            if sum(n in states for n in names) == 1 and sum(n in part.weights for n in names) == 1:
                reader = next(o for o in part.ops if op.result in (u.name for u in o.operands))
                yield part.path, op.result, reader.result


def _per_pair(design: Design) -> int:
    """Points of all products per pair of a query and a cached row."""
    sizes, total = design.program.sizes, 0
    for part in parts(design.program):
        rows = {s.dims[1] for s in part.body if isinstance(s, State)}
        for op in part.ops:
            names = {d for o in op.operands for d in operand_type(o, part.types, "").dims}
            if op.operator == "einsum" and "Q" in names and names & rows:
                total += prod(int(sizes[n].at(B=1, Q=1, S=1)) for n in names)
    return total


def _kernels(design: Design, widened: set[str], readers: set[str]) -> Design:
    """Widened rows are kernels of their own; what reads them takes their place among the scores."""
    made = {o.result: o for part in parts(design.program) for o in part.ops}
    groups: list[Fusion] = []
    for fusion in design.schedule.fusions:
        values = [v for v in fusion.values if v not in widened]
        if len(values) < len(fusion.values):
            values += [r for r in sorted(readers) if r not in values and _reads(made[r], values)]
        groups.append(replace(fusion, values=tuple(values)))
    joined: list[Fusion] = []
    for fusion in groups:
        twin = next(
            (f for f in joined if f.target == fusion.target and set(f.values) & set(fusion.values)), None
        )
        if twin is None:
            joined.append(fusion)
        else:
            together = tuple(dict.fromkeys((*twin.values, *fusion.values)))
            joined[joined.index(twin)] = replace(twin, values=together)
    kept = tuple(f for f in joined if len(f.values) > 1)
    return design.with_(schedule=replace(design.schedule, fusions=kept))


def _reads(op: Op, values: list[str]) -> bool:
    return any(o.name in values for o in op.operands)
