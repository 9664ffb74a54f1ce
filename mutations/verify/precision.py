"""Formats of values under any name: what equals a value of the reference is not stored narrower than it.

Names prove nothing, so values are told by what they hold: two values are the same if they hold the same
residues in any order (views and renamed dims included). A value is as precise as the narrowest step
between it and the last product, norm or softmax: widening gives nothing back.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mutations.verify.comparison import Runner
from mutations.verify.formats import narrows
from mutations.verify.verdict import Reason
from rooflang.dtype import index_dim
from rooflang.lowered import LocalOp, Unit
from rooflang.operators import OPERATORS
from rooflang.run import ExecutionError, Step

_WIDE = "f32"
_PASSES = frozenset(("gather", "rope", "slice", "concat", "split", "merge"))


def precision(unit: Unit) -> dict[str, str]:
    """By value: the format that decides what it can hold."""
    found: dict[str, str] = {}
    for op in unit.ops:
        own = op.result.dtype
        # Probabilities are new numbers, whatever they are made of.
        passes = op.operator in _PASSES or (not op.is_collective and OPERATORS[op.operator].elementwise)
        if op.is_collective or (passes and op.operator != "softmax"):
            for held in (found.get(u.tensor.name) for u in op.operands):
                if held is not None and index_dim(own) is None and narrows(own, held):
                    own = held
        found[op.result.name] = own
    return found


def suspicious(ours: Unit, theirs: Unit) -> bool:
    """Whether some wide value of the reference could be stored narrower under another name."""
    mine, other = precision(ours), precision(theirs)
    kept = {(op.operator, op.result.name) for op in theirs.ops if other[op.result.name] == _WIDE}
    wide = [op for op in _computed(ours) if mine[op.result.name] == _WIDE]
    if not wide:
        return False
    if any((op.operator, op.result.name) not in kept for op in wide):
        return True
    narrow = [sum(found[op.result.name] != _WIDE for op in _computed(u)) for u, found in _both(ours, theirs)]
    return narrow[1] > narrow[0]


def _both(ours: Unit, theirs: Unit) -> tuple[tuple[Unit, dict[str, str]], ...]:
    return (ours, precision(ours)), (theirs, precision(theirs))


def _computed(unit: Unit) -> Iterator[LocalOp]:
    return (op for op in unit.ops if not op.is_collective)


def narrowed_values(path: str, first: Runner, second: Runner, step: Step) -> Iterator[Reason]:
    """Values of the candidate that equal values of the reference and are narrower than all of those. Both
    runners stand before the first step."""
    mine, other = precision(first.side.unit), precision(second.side.unit)
    try:
        wanted: dict[bytes, list[tuple[str, str]]] = {}
        for name, content in _contents(first, step):
            wanted.setdefault(content, []).append((name, mine[name]))
        for name, content in _contents(second, step):
            like = wanted.get(content, [])
            if like and all(narrows(held, other[name]) for _, held in like):
                known, held = like[0]
                message = (
                    f"{name} equals the reference's {known}, and must be stored at least as {held}, "
                    f"but is only as precise as {other[name]}"
                )
                yield Reason("type.narrowed", f"{path}.{name}", message)
    except (ExecutionError, ValueError, KeyError):
        return


def _contents(runner: Runner, step: Step) -> Iterator[tuple[str, bytes]]:
    for tensor, value in runner.machine.trace(runner.side.unit, runner.environment(0, step), step):
        if index_dim(tensor.dtype) is None and not value.index and value.data.size:
            yield tensor.name, np.sort(value.data[0].ravel()).tobytes()
