"""Rules of the graph: defined once and before use, caches in versions, values where they are used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rooflang.check.problem import Problem
from rooflang.layout import Split
from rooflang.lowered import Tensor, Unit

_CROSSING = ("send", "dispatch", "combine")


def graph(unit: Unit, meshes: Mapping[str, tuple[str, ...]]) -> Iterator[Problem]:
    """The broken rules of definition, residence and layout form; places are named within the unit."""
    made = {op.result.name for op in unit.ops}
    known: dict[str, Tensor] = {t.name: t for _, t in unit.inputs}
    known.update({t.name: t for t in (*unit.weights, *unit.states)})
    old: dict[str, str] = {}
    for op in unit.ops:
        where = f"{op.section}.{op.result.name}" if op.section else op.result.name
        for use in op.operands:
            for tensor in (use.tensor, use.index):
                if tensor is None:
                    continue
                name = tensor.name
                if name not in known:
                    if name in made or tensor.kind != "input":
                        yield Problem(
                            "graph.undefined",
                            where,
                            f"{name!r} must be computed before it is read",
                            "move it up",
                        )
                    known[name] = tensor
                elif known[name] is not tensor and known[name] != tensor:
                    message = f"{name!r} must be read as it was made, but its layout or type is another"
                    yield Problem("graph.version", where, message, "convert it by a collective")
                if name in old and op.operator != "append":
                    message = f"{name!r} must not be read after {old[name]!r} has replaced it"
                    yield Problem("graph.stale", where, message, f"read {old[name]!r}")
                if tensor.pool != op.result.pool and op.operator not in _CROSSING:
                    message = f"{name!r} lives on pool {tensor.pool!r}, not on {op.result.pool!r}"
                    yield Problem("placement.pool", where, message, "send it first")
        if op.result.name in known:
            yield Problem(
                "graph.twice", where, f"{op.result.name!r} must be defined once", "use another name"
            )
        known[op.result.name] = op.result
        yield from _layout(op.result, meshes, where)
        if op.operator == "append":
            old[op.operands[0].tensor.name] = op.result.name
    for tensor in (*unit.weights, *unit.states):
        yield from _layout(tensor, meshes, tensor.name)
    for name, tensor in unit.outputs:
        if tensor.name not in known and tensor.kind != "input":
            yield Problem("graph.undefined", name, f"{name!r} must be computed in its section")


def _layout(tensor: Tensor, meshes: Mapping[str, tuple[str, ...]], where: str) -> Iterator[Problem]:
    axes = meshes.get(tensor.pool)
    if axes is None:
        yield Problem("placement.pool", where, f"pool {tensor.pool!r} must be declared")
        return
    used = [a for a, _ in tensor.layout]
    if [a for a in axes if a in used] != used:
        known = ", ".join(axes)
        message = f"axes must be those of pool {tensor.pool!r} ({known}) in order, but are {', '.join(used)}"
        yield Problem("placement.axis", where, message)
    for axis, c in tensor.layout:
        if isinstance(c, Split) and c.dim not in tensor.dims:
            message = f"{axis} cuts {c.dim}, which is not one of [{', '.join(tensor.dims)}]"
            yield Problem("placement.dim", where, message)
