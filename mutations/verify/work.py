"""Layer 3: what a unit executed, counted, against the cost formulas at the same sizes. Integers only.

Compared per operator: matrix FLOPs, elements of weights and caches read, and bytes that all-reduce,
reduce-scatter, all-gather and all-to-all move. Statistics of a choice (how many tokens the fullest rank
got) are taken from what happened, so that everything around them compares exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction

from rooflang.dtype import format_of
from rooflang.layout import Partial, Split
from rooflang.lowered import LocalOp, Unit
from rooflang.run import CONTEXT, OpTally, Step, Tally, Trial
from rooflang.size import Number, Size, const, evaluate_exact, floordiv, maximum, minimum, symbol
from rooflang.work import Extents
from rooflang.work.arithmetic import arithmetic
from rooflang.work.links import move_work
from rooflang.work.traffic import read_extents

_Value = Callable[[Size], Number]
_MOVES = ("all_reduce", "reduce_scatter", "all_gather", "all_to_all")


def work_differences(unit: Unit, trial: Trial, step: Step, tally: Tally) -> Iterator[str]:
    """What formula and execution do not agree on, in words."""
    routings = {r.tag: r for r in unit.routings}
    held = {name: const(size) for name, size in trial.sizes.dims.items()}
    held |= {"B": const(step.batch), "Q": const(step.queries)}
    stored, extents = Extents(held, routings), Extents({**held, **_seen_rows(unit, trial)}, routings)
    meshes = {pool: tuple(a for a, _ in axes) for pool, axes in trial.sizes.meshes.items()}
    symbols: dict[str, Number] = {a: n for axes in trial.sizes.meshes.values() for a, n in axes}
    symbols |= {"domain": 10**6, "innet": 0, "S": CONTEXT}
    counted = {(t.section, t.result): t for t in tally.ops}
    states = (*unit.states, *(t for _, t in unit.inputs if t.kind == "state"))
    windows = frozenset(state.dims[1] for state in states if state.rows == "window")

    def value(size: Size) -> Number:
        return evaluate_exact(size, symbols, lambda name, tag, _: _observed(tally, name, tag))

    for op in unit.ops:
        seen = counted.get((op.section, op.result.name))
        if seen is None:
            yield f"{op.result.name} was not executed"
        elif op.operator in _MOVES:
            yield from _moved(op, seen, stored, meshes, value)
        elif not op.is_collective:
            yield from _computed(op, seen, extents, value, windows if step.queries > 1 else frozenset())


def _seen_rows(unit: Unit, trial: Trial) -> Mapping[str, Size]:
    """Rows of caches by context, as a query at its end sees them (stored rows may be padded to the axes)."""
    sizes: dict[str, Size] = {}
    context = symbol("S")
    for state in (*unit.states, *(t for _, t in unit.inputs if t.kind == "state")):
        rows = state.dims[1]
        if state.rows == "last":
            continue
        if state.rows == "window":
            sizes[rows] = minimum(context, trial.sizes.literal("window", state.span))
        elif state.rows == "every":
            sizes[rows] = floordiv(context, trial.sizes.literal("every", state.span))
        else:
            sizes[rows] = context
    for route in unit.routings:
        for pick in route.picks if route.of_state and route.target in sizes else ():
            sizes[pick] = minimum(sizes[route.target], trial.sizes.dim(pick))
    return sizes


def _observed(tally: Tally, name: str, tag: str) -> Number:
    route = tally.routes.get(tag)
    if route is None:
        return 0
    if name == "fullest":
        return route.fullest
    if name == "copies" and route.copies is not None:
        return int(route.copies.max())
    if name in ("distinct", "rows") and route.distinct is not None:
        return int(route.distinct.max())
    return 0


def _computed(
    op: LocalOp, seen: OpTally, extents: Extents, value: _Value, windows: frozenset[str]
) -> Iterator[str]:
    flops, _, _ = arithmetic(op, extents)
    pairs = max(1, len(op.operands) - 1)
    expected = sum(value(size) for size in flops.values())
    executed = Fraction(sum(int(count.max()) for count in seen.flops.values()), pairs)
    # A look-up leaves rows on the rank that has them; the formula counts the zeros elsewhere as well.
    looked_up = any(isinstance(c, Partial) and c.routed for u in op.operands for _, c in u.tensor.layout)
    # Which rank has most of a dealt-out window changes from token to token; the formula takes most.
    turning = any(isinstance(c, Split) and c.dim in windows for u in op.operands for _, c in u.tensor.layout)
    fewer = turning or (looked_up and not _has_picks(op, extents))
    if executed > expected or (executed < expected and not fewer):
        yield f"{op.result.name} must take {expected} matrix FLOPs by its formula, but took {executed}"
    for use in op.operands:
        tensor = use.tensor
        if tensor.kind not in ("weight", "state") or use.index is not None or tensor.name not in seen.reads:
            continue
        if op.operator == "pool":
            continue  # rows of a block are read when its last token arrives
        elements, read = (
            value(read_extents(extents, tensor, op).elements(tensor)),
            int(seen.reads[tensor.name].max()),
        )
        if elements != read:
            yield f"{op.result.name} must read {elements} elements of {tensor.name}, but read {read}"


def _has_picks(op: LocalOp, extents: Extents) -> bool:
    tags = {c.routed for u in op.operands for _, c in u.tensor.layout if isinstance(c, Partial) and c.routed}
    return any(extents.routings[t].picks for t in tags if t in extents.routings)


def _moved(
    op: LocalOp, seen: OpTally, extents: Extents, meshes: dict[str, tuple[str, ...]], value: _Value
) -> Iterator[str]:
    spread = any(isinstance(c, Partial) and c.routed for _, c in op.result.layout)
    if seen.sent is None or spread:
        return  # rows that a choice spreads over other axes move as the routing falls
    expected = max((value(maximum(w.up_out, w.far_out)) for w in move_work(op, extents, meshes)), default=0)
    sent = Fraction(max(int(x) if x == int(x) else x for x in seen.sent.ravel().tolist())) / 8
    if expected != sent:
        bits = format_of(op.operands[0].tensor.dtype).bits
        yield f"{op.result.name} must send {expected} bytes by its formula, at {bits} bits, but sent {sent}"
