"""Faults of recurrent layers: the decay, the delta rule, the taps of a convolution."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from mutations.faults.edit import on, put, rebuilt, with_operand
from mutations.faults.fault import Fault, Meshes
from rooflang.lowered import LocalOp, Unit, Use


def decay_dropped(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    """The state is kept as it is: exp(0) for the decay."""
    for i, op in enumerate(unit.ops):
        if op.operator == "scan":

            def kept(o: LocalOp) -> tuple[LocalOp, ...]:
                zero = on(o.operands[3].tensor, o, "scale", "zero", by=0.0)
                one = on(zero.result, o, "exp", "one")
                return zero, one, with_operand(o, 3, one.result)

            yield op.result.name, rebuilt(unit, i, kept)


def rule_dropped(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    """Plain linear attention for the delta rule."""
    for i, op in enumerate(unit.ops):
        if op.operator == "scan" and len(op.operands) > 4:
            yield op.result.name, put(unit, i, replace(op, operands=op.operands[:4]))


def _both(second: LocalOp, first: LocalOp) -> tuple[LocalOp, ...]:
    return first, second


def shifted(unit: Unit, meshes: Meshes) -> Iterator[tuple[str, Unit]]:
    """The convolution reads its own result of this step, or the rows that it writes, one token late."""
    for i, op in enumerate(unit.ops):
        if op.operator != "conv":
            continue
        append = next(
            (o for o in unit.ops if o.operator == "append" and o.operands[0].tensor == op.operands[2].tensor),
            None,
        )
        if append is None:
            continue
        j = unit.ops.index(append)
        late = with_operand(op, 2, append.result)
        if j > i:
            ops = (*unit.ops[:i], *unit.ops[i + 1 : j + 1], late, *unit.ops[j + 1 :])
            reads = {u.tensor.name for o in unit.ops[i + 1 : j + 1] for u in o.operands}
            if op.result.name not in reads:
                yield op.result.name, replace(unit, ops=ops)
        again = replace(op, result=replace(op.result, name=f"{op.result.name}@shifted"))
        again = replace(again, operands=(Use(op.result), *op.operands[1:]))
        yield op.result.name, rebuilt(unit, i, partial(_both, again))


FAULTS = (
    Fault("decay dropped", "a recurrent state does not decay", decay_dropped),
    Fault("delta rule dropped", "what the state holds of a key is not taken away", rule_dropped),
    Fault("convolution shifted", "taps meet other tokens", shifted),
)
