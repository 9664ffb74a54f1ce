"""Which parts of two lowered designs are compared with each other.

Segments pair in order, by their counts. Within a segment units pair by path if both designs have the
same units and the same values flow between them; otherwise the bodies are compared whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from mutations.verify.verdict import Reason
from rooflang.layout import Layout, Partial
from rooflang.lowered import LocalOp, Lowered, Routing, Segment, Tensor, Unit, Use

Key = tuple[str, int]
WHOLE: Key = ("", 0)  # a segment that is compared as one unit


@dataclass(frozen=True, slots=True)
class Pair:
    """A unit of the reference and one of the candidate; no reference for a unit that only moves values."""

    path: str
    reference: Unit | None
    candidate: Unit


def pair(reference: Lowered, candidate: Lowered) -> tuple[tuple[Pair, ...], tuple[Reason, ...]]:
    """The pairs, or the reasons why the designs cannot be paired."""
    between = [s for s in candidate.segments if s.units and all(map(moves_only, s.units))]
    candidate = replace(candidate, segments=tuple(s for s in candidate.segments if s not in between))
    wrong = _structure(reference, candidate)
    if wrong:
        return (), wrong
    whole = {
        i for i, (a, b) in enumerate(zip(reference.segments, candidate.segments, strict=True))
        if not _alike(a, b)
    }  # fmt: skip
    for _ in range(len(reference.segments) + 1):
        differs = _flow_differs(_flow(reference, whole), _flow(candidate, whole))
        if not differs:
            break
        fresh = {segment for segment, _ in differs} - whole
        if not fresh:
            segment, name = differs[0]
            at = reference.segments[segment].name if segment < len(reference.segments) else "outputs"
            return (), (Reason("graph.flow", at, f"{name!r} must come from where the reference takes it"),)
        whole |= fresh
    found = [Pair(unit.path, None, unit) for s in between for unit in s.units]
    for i, (a, b) in enumerate(zip(reference.segments, candidate.segments, strict=True)):
        if i in whole:
            wanted = _wanted(reference, i) | _wanted(candidate, i)
            found.append(Pair(a.name, merged(a, wanted), merged(b, wanted)))
            continue
        others = dict(_keyed(b))
        found.extend(Pair(unit.path, unit, others[key]) for key, unit in _keyed(a))
        found.extend(Pair(unit.path, None, unit) for unit in b.units if moves_only(unit))
    return tuple(found), ()


def _structure(reference: Lowered, candidate: Lowered) -> tuple[Reason, ...]:
    a, b = reference.segments, candidate.segments
    shapes = [[(s.count, s.draft) for s in x] for x in (a, b)]
    if shapes[0] != shapes[1]:
        texts = [", ".join(f"{s.name} x {s.count}{' (draft)' if s.draft else ''}" for s in x) for x in (a, b)]
        message = f"layers must be those of the reference ({texts[0]}), but are {texts[1]}"
        return (Reason("structure.segments", "program", message),)
    if reference.design.program.outputs != candidate.design.program.outputs:
        return (Reason("structure.outputs", "program", "the outputs must be those of the reference"),)
    return ()


def moves_only(unit: Unit) -> bool:
    """A unit between layers that brings values to another layout."""
    return unit.path.endswith((".enter", ".next")) and all(op.is_collective for op in unit.ops)


def _keyed(segment: Segment) -> list[tuple[Key, Unit]]:
    seen: dict[str, int] = {}
    found = []
    for unit in segment.units:
        if moves_only(unit):
            continue
        path = unit.path.removeprefix(segment.name)
        seen[path] = seen.get(path, 0) + 1
        found.append(((path, seen[path]), unit))
    return found


def _names(pairs: tuple[tuple[str, Tensor], ...]) -> set[str]:
    return {n for n, _ in pairs}


def _alike(a: Segment, b: Segment) -> bool:
    first, second = dict(_keyed(a)), dict(_keyed(b))
    return first.keys() == second.keys() and all(
        _names(first[k].outputs) == _names(second[k].outputs) for k in first
    )


Flow = dict[tuple[int, Key], dict[str, object]]


def _flow(lowered: Lowered, whole: set[int]) -> Flow:
    """Where every unit takes its inputs from, and (last) where the program's outputs come from."""
    made: dict[str, object] = {}
    found: Flow = {}
    for i, segment in enumerate(lowered.segments):
        for key, unit in _keyed(segment):
            at: Key = WHOLE if i in whole else key
            reads = found.setdefault((i, at), {})
            for name, tensor in unit.inputs:
                origin = made.get(name, "given")
                if not (i in whole and isinstance(origin, tuple) and origin[0] == i):
                    reads.setdefault(name, (origin, tensor.kind))
            for name, _ in unit.outputs:
                made[name] = (i, at)
    outputs = lowered.design.program.outputs
    found[len(lowered.segments), WHOLE] = {n: made.get(n) for n in outputs}
    return found


def _flow_differs(a: Flow, b: Flow) -> list[tuple[int, str]]:
    found = []
    for key in a:
        first, second = a[key], b.get(key, {})
        # Fewer inputs are no difference: what is not read cannot matter, and what is computed is compared.
        # Other inputs may be equal to what the reference computes, which only the whole body can show.
        for name in second:
            if first.get(name, None if key[1] != WHOLE else second[name]) != second[name]:
                found.append((key[0], name))
    return found


def _wanted(lowered: Lowered, position: int) -> set[str]:
    """Names that other segments, the next layer or the world read."""
    found = set(lowered.design.program.outputs)
    for i, segment in enumerate(lowered.segments):
        made: set[str] = set()
        for unit in segment.units:
            if i != position or segment.count > 1:
                found |= _names(unit.inputs) - (made if i == position else set())
            made |= _names(unit.outputs)
    return found


def merged(segment: Segment, wanted: set[str]) -> Unit:
    """The units of a segment as one unit; its tensors are named by the path that they come from."""
    values: dict[str, Tensor] = {}
    inputs: dict[str, Tensor] = {}
    ops: list[LocalOp] = []
    weights: list[Tensor] = []
    states: list[Tensor] = []
    outputs: dict[str, Tensor] = {}
    taken: set[str] = set()
    routings: list[Routing] = []
    for number, unit in enumerate(segment.units):
        prefix = f"{unit.path}." if unit.path else ""
        if prefix + (unit.ops[0].result.name if unit.ops else "") in taken:
            prefix = f"{prefix}{number}."
        known: dict[str, Tensor] = {}
        for name, tensor in unit.inputs:
            known[tensor.name] = values[name] if name in values else inputs.setdefault(name, tensor)

        def local(tensor: Tensor, known: dict[str, Tensor] = known, prefix: str = prefix) -> Tensor:
            found = known.get(tensor.name)
            if found is None:
                layout = _retagged(tensor.layout, prefix)
                found = known[tensor.name] = replace(tensor, name=prefix + tensor.name, layout=layout)
            return found

        routings += [replace(r, tag=prefix + r.tag) for r in unit.routings]
        weights += [local(t) for t in unit.weights]
        states += [local(t) for t in unit.states]
        for op in unit.ops:
            uses = tuple(
                Use(local(u.tensor), None if u.index is None else local(u.index), u.over) for u in op.operands
            )
            section = ".".join(p for p in (unit.path, op.section) if p)
            attributes = tuple((k, f"{prefix}{v}" if k == "routed" else v) for k, v in op.attributes)
            ops.append(
                replace(op, operands=uses, result=local(op.result), section=section, attributes=attributes)
            )
            taken.add(ops[-1].result.name)
        for name, tensor in unit.outputs:
            values[name] = local(tensor)
            if name in wanted:
                outputs[name] = values[name]
    pool = segment.units[0].pool if segment.units else "main"
    return Unit(
        "",
        pool,
        tuple(ops),
        tuple(inputs.items()),
        tuple(outputs.items()),
        tuple(weights),
        tuple(states),
        tuple(routings),
    )


def _retagged(layout: Layout, prefix: str) -> Layout:
    """The layout with the choices that it speaks of under their new names."""
    return tuple(
        (a, replace(c, routed=prefix + c.routed) if isinstance(c, Partial) and c.routed else c)
        for a, c in layout
    )


def keys(unit: Unit, tensors: tuple[Tensor, ...]) -> Mapping[str, str]:
    """A name for each tensor that does not depend on nesting: its last name, and which of those it is."""
    seen: dict[str, int] = {}
    found = {}
    for tensor in tensors:
        last = tensor.name.rpartition(".")[2]
        seen[last] = seen.get(last, 0) + 1
        found[tensor.name] = f"{last}#{seen[last]}"
    return found
