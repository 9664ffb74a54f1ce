"""Which operators of a section lie between the same collectives, read from the lowered design."""

from __future__ import annotations

from mutations.rule import RuleError
from rooflang.design import Design
from rooflang.lower import lower
from rooflang.lowered import Unit
from rooflang.operators import OPERATORS

# Moves that pass nothing over a link.
_LOCAL = frozenset(("cut", "keep"))


def levels(design: Design, unit: str) -> tuple[tuple[str, ...], ...]:
    """Kernels of more than one value: each holds all values that have as many collectives behind them.

    Where units of one name are lowered differently, a value goes by its largest number.
    Raises RuleError where a value of two levels has one name, since kernels are given by names.
    """
    found: dict[str, int] = {}
    for _, lowered in lower(design).units():
        if lowered.path == unit or lowered.path.endswith("." + unit):
            for value, level in _of(lowered).items():
                found[value] = max(found.get(value, 0), level)
    groups: dict[int, list[str]] = {}
    for value, level in found.items():
        groups.setdefault(level, []).append(value)
    return tuple(tuple(groups[level]) for level in sorted(groups) if len(groups[level]) > 1)


def _of(unit: Unit) -> dict[str, int]:
    behind: dict[str, int] = {}
    found: dict[str, int] = {}
    for op in unit.ops:
        names = [t.name for u in op.operands for t in (u.tensor, u.index) if t is not None]
        level = max((behind.get(n, 0) for n in names), default=0)
        if op.is_collective:
            behind[op.result.name] = level + (op.operator not in _LOCAL)
            continue
        behind[op.result.name] = level
        if OPERATORS[op.operator].view:
            continue
        value = op.operands[0].tensor.name if op.operator == "append" else op.result.name
        value = value.rpartition(".")[2].partition("~")[0].rstrip("+")
        if found.setdefault(value, level) != level:
            raise RuleError(f"a value must have one level, but {value!r} of {unit.path} has two")
    return found
