"""What programs demand of the sizes at which they are executed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import lcm

from rooflang.dtype import index_dim
from rooflang.layout import Split
from rooflang.lowered import LocalOp, Tensor, Unit
from rooflang.size import Size


@dataclass(slots=True)
class Facts:
    """What the programs demand: `step` of each dim, relations between real sizes, literals by kind."""

    step: dict[str, int] = field(default_factory=dict)
    least: dict[int, int] = field(default_factory=dict)
    even: set[int] = field(default_factory=set)
    sums: set[tuple[int, tuple[int, ...]]] = field(default_factory=set)
    products: set[tuple[int, tuple[int, ...]]] = field(default_factory=set)
    bounds: set[tuple[int, int, int]] = field(default_factory=set)  # start + part <= whole
    double: set[tuple[int, int]] = field(default_factory=set)  # 2 * k < E
    double_names: set[tuple[str, str]] = field(default_factory=set)
    row_picks: dict[str, int] = field(default_factory=dict)  # picks among cache rows
    spans: set[tuple[int, int]] = field(default_factory=set)  # a raw window, and the block pooled from it
    values: set[int] = field(default_factory=set)
    ratio: dict[str, int] = field(default_factory=dict)  # the place within a block of so many tokens
    taps: dict[str, int] = field(default_factory=dict)  # taps of a convolution over such a window
    literals: dict[str, set[int]] = field(default_factory=dict)
    blocks: dict[str, set[int]] = field(default_factory=dict)
    groups: dict[str, set[int]] = field(default_factory=dict)
    rows: dict[str, set[tuple[str, int]]] = field(default_factory=dict)


def real(size: Size) -> int | None:
    """The constant of a size: its own, or the cap of a minimum over something that grows."""
    if size.constant is not None:
        return int(size.constant)
    if size.kind == "min":
        return next((int(a.constant) for a in size.arguments if a.constant is not None), None)
    return None


def tensors(units: Sequence[Unit]) -> Iterator[Tensor]:
    """Every tensor of the units, each object once."""
    seen: set[int] = set()
    for unit in units:
        known = [*unit.weights, *unit.states, *(t for _, t in unit.inputs)]
        for op in unit.ops:
            for use in op.operands:
                known.append(use.tensor)
                if use.index is not None:
                    known.append(use.index)
            known.append(op.result)
        for tensor in known:
            if id(tensor) not in seen:
                seen.add(id(tensor))
                yield tensor


def note_tensor(facts: Facts, tensor: Tensor, ranks: dict[str, int]) -> None:
    by_dim: dict[str, int] = {}
    for axis, c in tensor.layout:
        if isinstance(c, Split):
            by_dim[c.dim] = by_dim.get(c.dim, 1) * ranks[axis]
    for dim, n in by_dim.items():
        facts.step[dim] = lcm(facts.step.get(dim, 1), n)
    if tensor.kind == "state" and tensor.rows != "last":
        facts.rows.setdefault(tensor.dims[1], set()).add((tensor.rows, tensor.span))
        if tensor.rows != "append":
            facts.literals.setdefault(tensor.rows, set()).add(tensor.span)


def note_choice(facts: Facts, tensor: Tensor, real: dict[str, int | None]) -> None:
    """A choice among rows of a cache that is given: its last dim counts picks."""
    if index_dim(tensor.dtype) in facts.rows and tensor.kind == "value" and {"B", "Q"} < set(tensor.dims):
        facts.row_picks[tensor.dims[-1]] = real.get(tensor.dims[-1]) or 0


def note_derived(facts: Facts, tensor: Tensor, real: dict[str, int | None]) -> None:
    """What is laid end to end offline adds up as in an operator."""
    if tensor.derived is not None and tensor.derived.operator == "concat":
        parts = tuple(real.get(o.over or "") or 0 for o in tensor.derived.operands)
        facts.sums.add((sum(parts), parts))


def note_op(facts: Facts, op: LocalOp, real: dict[str, int | None], apart: bool) -> None:
    """What one operator demands. `apart` keeps the sizes of partial rotations from those of dims: they
    then go by their negative."""
    over = op.operands[0].over
    dims = op.operands[0].tensor.dims

    def value(name: str | None) -> int:
        return (real.get(name) if name else None) or 0

    for kind in ("every",):
        if isinstance(n := op.attribute(kind), int):
            facts.literals.setdefault(kind, set()).add(n)
    match op.operator:
        case "split":
            parts = tuple(d for d in op.result.dims if d not in dims)
            facts.products.add(
                (value(next(d for d in dims if d not in op.result.dims)), tuple(map(value, parts)))
            )
        case "merge":
            parts = tuple(d for d in dims if d not in op.result.dims)
            facts.products.add(
                (value(next(d for d in op.result.dims if d not in dims)), tuple(map(value, parts)))
            )
        case "concat":
            whole = next(d for d in op.result.dims if d not in dims)
            facts.sums.add((value(whole), tuple(value(u.over) for u in op.operands)))
        case "slice":
            start = int(op.attribute("start") or 0)
            part = next(d for d in op.result.dims if d not in dims)
            facts.literals.setdefault("start", set()).add(start)
            facts.values.add(start)
            facts.bounds.add(
                (start, value(part), value(over or next(d for d in dims if d not in op.result.dims)))
            )
        case "rope":
            last = op.attribute("last")
            if isinstance(last, int):
                facts.literals.setdefault("last", set()).add(last)
                if apart and last != value(over):
                    last = -last
                facts.values.add(last)
                facts.bounds.add((0, last, value(over)))
            facts.even.add(last if isinstance(last, int) else value(over))
        case "quantize":
            if over and isinstance(block := op.attribute("block"), int):
                facts.literals.setdefault("block", set()).add(block)
                facts.blocks.setdefault(over, set()).add(block)
        case "topk":
            picks = next(d for d in op.result.dims if d not in dims)
            facts.double_names.add((picks, over or ""))
            if over in facts.rows or over in facts.row_picks:
                facts.row_picks[picks] = value(picks)
            elif over and value(over) and value(picks):
                facts.double.add((value(picks), value(over)))
                facts.least[value(over)] = 2 * facts.step.get(over, 1)
            if over and isinstance(groups := op.attribute("groups"), int):
                keep = op.attribute("keep", groups)
                facts.literals.setdefault("groups", set()).add(groups)
                facts.literals.setdefault("keep", set()).add(int(keep or groups))
                facts.groups.setdefault(over, set()).add(groups)
        case "conv":
            facts.taps[op.operands[1].over or ""] = op.operands[2].tensor.span
        case "pool":
            facts.spans.add((op.operands[0].tensor.span, int(op.attribute("every") or 1)))
            for use in op.operands[2:]:
                for name in use.tensor.dims:
                    if name not in op.operands[1].tensor.dims and name not in op.result.dims:
                        facts.ratio[name] = int(op.attribute("every") or 1)
