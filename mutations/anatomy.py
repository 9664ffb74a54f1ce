"""What the sections of a program are, found from their operators and never from their names.

embed      rows of a table chosen by tokens
attention  a section that keeps caches
moe        a section with routed experts inside
experts    weights chosen per token
shared     another section inside a moe
mlp        any other section with weights
head       a section that samples
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from rooflang.design import Design, Op, Program, Repeat, Section, State, Statement, Weight
from rooflang.dtype import index_dim
from rooflang.operators import Type
from rooflang.typing import op_type, operand_type


@dataclass(frozen=True, slots=True)
class Part:
    """One section. `types` are those of every name in force at its end.

    `heads` are alternatives for cutting attention by heads: each is the names to cut together. `rows` are
    (name, kind of state, span) of attended caches; `width` the inner names of a feed-forward; `experts` the
    name of the experts, `vocabulary` that of the tokens.
    """

    path: str
    kind: str
    unit: str
    draft: bool
    body: tuple[Statement, ...]
    types: Mapping[str, Type]
    heads: tuple[tuple[str, ...], ...] = ()
    rows: tuple[tuple[str, str, int], ...] = ()
    width: tuple[str, ...] = ()
    experts: str = ""
    vocabulary: str = ""

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]

    @property
    def ops(self) -> tuple[Op, ...]:
        """Operators of the section itself, without those of sections inside."""
        return tuple(s for s in self.body if isinstance(s, Op))

    @property
    def weights(self) -> Mapping[str, Weight]:
        return {s.name: s for s in self.body if isinstance(s, Weight)}


@lru_cache(maxsize=256)
def parts(program: Program) -> tuple[Part, ...]:
    """The sections of a program in order, sections inside others after them."""
    single = frozenset(d for d, size in program.dims if size.constant == 1)
    return tuple(_visit(program.body, "", "", False, {}, single))


def kinds(program: Program, *wanted: str) -> dict[str, tuple[Part, ...]]:
    """Sections of these kinds by their last name, as placement speaks of them."""
    found: dict[str, list[Part]] = {}
    for part in parts(program):
        if part.kind in wanted:
            found.setdefault(part.name, []).append(part)
    return {name: tuple(same) for name, same in found.items()}


def unit_of(design: Design, section: str) -> str:
    """The last name of the outermost section with operators around a section: what kernels are given for."""
    found = next((p.unit for p in parts(design.program) if p.name == section), section)
    return found.rpartition(".")[2]


def _visit(
    body: tuple[Statement, ...],
    path: str,
    unit: str,
    draft: bool,
    types: dict[str, Type],
    single: frozenset[str],
) -> Iterator[Part]:
    for statement in body:
        match statement:
            case Repeat():
                yield from _visit(statement.body, statement.name, "", statement.draft, types, single)
            case Section():
                here = f"{path}.{statement.name}" if path else statement.name
                holds = unit or (here if any(isinstance(s, Op) for s in statement.body) else "")
                inside = list(_visit(statement.body, here, holds, draft, types, single))
                if holds:
                    yield _part(statement, here, holds, draft, dict(types), inside, single)
                yield from inside
            case Op():
                if statement.operator != "append":
                    types[statement.result] = op_type(statement, types, path)
            case _:
                types[statement.name] = Type(statement.dims, statement.dtype)


def _part(
    section: Section,
    path: str,
    unit: str,
    draft: bool,
    types: dict[str, Type],
    inside: list[Part],
    single: frozenset[str],
) -> Part:
    ops = [s for s in section.body if isinstance(s, Op)]
    experts = _experts(section, ops, types)
    states = {s.name: s for s in section.body if isinstance(s, State)}
    sampled = next((o.operands[0].over for o in ops if o.operator == "sample"), None)
    looked = next((_pointed(o, types) for o in ops if o.operator == "gather"), "")
    kind, vocabulary = "mlp", ""
    if experts:
        kind = "experts"
    elif any(p.kind == "experts" for p in inside):
        kind, experts = "moe", next(p.experts for p in inside if p.kind == "experts")
    elif states:
        kind = "attention"
    elif sampled:
        kind, vocabulary = "head", sampled
    elif looked and path == unit:
        kind, vocabulary = "embed", looked
    elif path != unit:
        kind = "shared"
    heads = _heads(ops, states, types, single) if kind == "attention" else ()
    rows = _rows(ops, states) if kind == "attention" else ()
    width = _width(section, ops, types) if kind in ("experts", "shared", "mlp") else ()
    return Part(path, kind, unit, draft, section.body, types, heads, rows, width, experts, vocabulary)


def _pointed(op: Op, types: Mapping[str, Type]) -> str:
    index = op.operands[0].index
    return (index_dim(types[index].dtype) or "") if index else ""


def _experts(section: Section, ops: list[Op], types: Mapping[str, Type]) -> str:
    weights = {s.name: s for s in section.body if isinstance(s, Weight)}
    for op in ops:
        for operand in op.operands:
            if op.operator == "einsum" and operand.index and operand.name in weights:
                return index_dim(types[operand.index].dtype) or ""
    return ""


def _rows(ops: list[Op], states: Mapping[str, State]) -> tuple[tuple[str, str, int], ...]:
    found: dict[tuple[str, str, int], None] = {}
    for op in ops:
        for operand in op.operands:
            state = states.get(operand.name)
            if state is not None and op.operator == "einsum":
                found[(state.dims[1], state.rows, state.span)] = None
    return tuple(found)


def _heads(
    ops: list[Op], states: Mapping[str, State], types: Mapping[str, Type], single: frozenset[str]
) -> tuple[tuple[str, ...], ...]:
    scored: list[list[str]] = []
    for op in ops:
        if op.operator == "scan":
            # A recurrence goes by the heads that keys and values share.
            keys, values = (types[o.name].dims for o in op.operands[1:3])
            scored.append([d for d in keys if d in values and d not in ("B", "Q") and d not in single])
        for operand in op.operands:
            state = states.get(operand.name)
            if state is None or op.operator != "einsum" or op.dims is None:
                continue
            # A choice may be made for each head: the name of the heads is then no row.
            picked = set(types[operand.index].dims) - set(state.dims) if operand.index else {state.dims[1]}
            rows = picked - {"B", "Q"}
            if rows <= set(op.dims):
                free = [d for d in op.dims if d not in rows and d not in ("B", "Q") and d not in single]
                scored.append(sorted(free, key=lambda d: d not in state.dims))
    found: list[tuple[str, ...]] = []
    for choice in range(max((len(s) for s in scored), default=0)):
        names = dict.fromkeys(s[choice] for s in scored if len(s) > choice)
        for op in ops:
            if op.operator == "split" and op.operands[0].over in names and op.dims is not None:
                names[next(d for d in op.dims if d not in types[op.operands[0].name].dims)] = None
        found.append(tuple(names))
    return tuple(dict.fromkeys(found))


def _width(section: Section, ops: list[Op], types: Mapping[str, Type]) -> tuple[str, ...]:
    """Names that one product of the section makes from a weight and another one sums away."""
    weights = {s.name for s in section.body if isinstance(s, Weight)}
    made: set[str] = set()
    found: dict[str, None] = {}
    for op in ops:
        if op.operator != "einsum" or op.dims is None:
            continue
        own = {d for o in op.operands if o.name in weights for d in types[o.name].dims}
        other = {
            d for o in op.operands if o.name not in weights for d in operand_type(o, types, op.result).dims
        }
        found.update(dict.fromkeys(sorted(d for d in own & other & made if d not in op.dims)))
        made.update(d for d in op.dims if d in own and d not in other)
    return tuple(found)
