"""Rules between units: a value enters a unit as it left the one that made it."""

from __future__ import annotations

from collections.abc import Iterator

from rooflang.check.problem import Problem
from rooflang.lowered import Lowered, Tensor, Unit


def boundaries(lowered: Lowered) -> Iterator[Problem]:
    """Values whose dims, format, layout or pool change between two units, without an operator.

    Layers of a repeat follow each other: what the last unit leaves, the first one of the next layer takes.
    """
    made: dict[str, Tensor] = {}
    for segment in lowered.segments:
        for again in range(2 if segment.count > 1 else 1):
            for unit in segment.units:
                yield from _entering(unit, made, bool(again))
                made.update(unit.outputs)


def _entering(unit: Unit, made: dict[str, Tensor], again: bool) -> Iterator[Problem]:
    for name, tensor in unit.inputs:
        source = made.get(name)
        if source is None or _form(source) == _form(tensor):
            continue
        if tensor.kind == "input" and not tensor.layout:
            continue  # what is given from outside is given on every pool that reads it
        where = f"{unit.path}.{name}" if unit.path else name
        layer = "the layer before" if again else "another section"
        message = f"{name} must be taken as {layer} leaves it ({_said(source)}), but is taken {_said(tensor)}"
        yield Problem("graph.boundary", where, message, "convert it by a collective first")


def _form(t: Tensor) -> object:
    return t.dims, t.dtype, t.layout, t.pool, t.every


def _said(t: Tensor) -> str:
    layout = ", ".join(f"{c} over {a}" for a, c in t.layout) or "whole"
    return f"[{', '.join(t.dims)}] {t.dtype} {layout} on {t.pool}"
