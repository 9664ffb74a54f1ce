"""Rows of one choice that are held along several axes: operands agree on which ranks hold them.

Axes are decided one at a time. Expert e of a table that `dp tp` cut lives on another rank than row e of one
that `tp` alone cuts, so values of the two choices only meet once one of them is whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rooflang.layout import Partial, Split
from rooflang.lower.decide import Argument, Decision


def agreed(arguments: tuple[Argument, ...], decisions: Mapping[str, Decision]) -> Mapping[str, Decision]:
    """The decisions, with operands made whole that other ranks hold than those of the widest spread."""
    held = [_axes(a, decisions) for a in arguments]
    most = max(held, key=len, default=())
    wrong = [i for i, axes in enumerate(held) if axes and axes != most]
    if not wrong:
        return decisions
    found = dict(decisions)
    for position in wrong:
        for axis in held[position]:
            needs = list(found[axis].needs)
            needs[position] = None
            found[axis] = replace(found[axis], needs=tuple(needs))
    return found


def _axes(argument: Argument, decisions: Mapping[str, Decision]) -> tuple[str, ...]:
    """The axes over whose ranks the rows of a choice are spread in this operand."""
    cells = [(axis, argument.cell(axis)) for axis in decisions]
    if argument.target is not None:
        return tuple(a for a, c in cells if isinstance(c, Split) and c.dim == argument.target)
    return tuple(a for a, c in cells if isinstance(c, Partial) and c.kind == "one" and c.routed is not None)
