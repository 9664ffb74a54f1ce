"""Parameters, cache bytes and FLOPs of a model, counted from its program alone.

Nothing here knows of evaluators, devices or placement: each figure is a sum over statements, so it can be
held against published totals. Draft layers (multi-token prediction) are counted apart.

* A parameter is an element of a weight that is stored as a number: integer tables (`index<E>`, `int8`)
  are constants. A derived weight adds none, for it is made of others.
* A state is working storage, not KV cache, when nothing attends to it: no einsum reads it, only `pool`,
  `conv` or `scan`. Its size then does not grow with the context (compressor windows, recurrent states).
* An expert weight is one that is read through a choice of experts: `w[chosen]` touches k of its E.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from rooflang.design import Design, Op, Program, Repeat, Section, State, Statement, Weight
from rooflang.dtype import format_of, index_dim
from rooflang.operators import Type
from rooflang.typing import op_type, operand_type

# Operators that use a state without attending to it.
_WORKING = frozenset(("append", "pool", "conv", "scan"))


@dataclass(frozen=True, slots=True)
class _Site:
    """A statement in its surroundings: how many layers hold it, and for an operator the types of its operands
    as they are used, what each was declared as (None for values) and the type of its index."""

    statement: Statement
    count: int
    draft: bool
    types: tuple[Type, ...] = ()
    declared: tuple[Statement | None, ...] = ()
    indexes: tuple[Type | None, ...] = ()


def parameters(design: Design) -> int:
    """All parameters, embedding and head included, draft layers not."""
    return _sum_weights(design, draft=False)


def mtp_parameters(design: Design) -> int:
    """Parameters of the draft layers alone; what they share with the model is not counted again."""
    return _sum_weights(design, draft=True)


def active_parameters(design: Design) -> int:
    """Parameters that one token touches: k of E experts, and all others but the input embedding.

    An embedding that the head reads as well is counted.
    """
    share: dict[int, Fraction] = {}
    for weight, part in _shares(design):
        share[id(weight)] = max(part, share.get(id(weight), Fraction(0)))
    total = Fraction(0)
    for site in _sites(design.program):
        if isinstance(site.statement, Weight) and not site.draft:
            total += (
                site.count * _elements(site.statement, design) * share.get(id(site.statement), Fraction(1))
            )
    return int(total)


def kv_bytes_per_token(design: Design, context: int) -> float:
    """Bytes of KV cache of one sequence of `context` tokens, divided by `context`; no fixed states."""
    return float(sum((b for _, b, fixed in _states(design, context) if not fixed), Fraction(0)) / context)


def state_bytes(design: Design) -> int:
    """Bytes per sequence of states that only `pool`, `conv` or `scan` read: they do not grow."""
    return int(sum((b for _, b, fixed in _states(design, 1) if fixed), Fraction(0)))


def flops_per_token(design: Design, context: int) -> int:
    """FLOPs of one decoded token that sees `context` tokens: 2 per multiply-add of every einsum that reads a
    parameter or a cache. Per element of a recurrent state 5, its read-out included, and 7 with a delta rule.
    Products of two activations (stream mixing, the indexer's weighted sum) are left out: below 1 % in the
    catalogued models."""
    total = 0
    for site in _sites(design.program):
        op = site.statement
        if isinstance(op, Op) and op.operator == "einsum" and not site.draft and _stored(site):
            names = {d for t in site.types for d in t.dims}
            total += 2 * site.count * _volume(names - {"B", "Q"}, design, context)
        elif isinstance(op, Op) and op.operator == "scan" and not site.draft:
            state = set(site.types[0].dims)
            total += (2 * len(op.operands) - 3) * site.count * _volume(state - {"B"}, design, context)
    return total


def _stored(site: _Site) -> bool:
    """Whether the einsum reads a parameter or a cache (the tensor that makes it a matrix product)."""
    return any(isinstance(s, State) or (isinstance(s, Weight) and _is_parameter(s)) for s in site.declared)


@lru_cache(maxsize=128)
def _sites(program: Program) -> tuple[_Site, ...]:
    return tuple(_visit(program.body, 1, False, {}, {}))


def _visit(
    body: tuple[Statement, ...],
    count: int,
    draft: bool,
    types: dict[str, Type],
    declared: dict[str, Statement],
) -> Iterator[_Site]:
    for statement in body:
        if isinstance(statement, Section):
            yield from _visit(statement.body, count, draft, types, declared)
        elif isinstance(statement, Repeat):
            inside = dict(types), dict(declared)
            yield from _visit(statement.body, statement.count, statement.draft, *inside)
        elif isinstance(statement, Op):
            used = tuple(operand_type(o, types, statement.result) for o in statement.operands)
            found = tuple(declared.get(o.name) for o in statement.operands)
            indexes = tuple(types[o.index] if o.index else None for o in statement.operands)
            yield _Site(statement, count, draft, used, found, indexes)
            if statement.operator != "append":
                types[statement.result] = op_type(statement, types, statement.result)
                declared.pop(statement.result, None)
        else:
            yield _Site(statement, count, draft)
            types[statement.name] = Type(statement.dims, statement.dtype)
            declared[statement.name] = statement


def _is_parameter(weight: Weight) -> bool:
    integer = index_dim(weight.dtype) is not None or weight.dtype in ("int8", "int32")
    return not integer and weight.derived is None


def _sum_weights(design: Design, draft: bool) -> int:
    return sum(
        site.count * _elements(site.statement, design)
        for site in _sites(design.program)
        if isinstance(site.statement, Weight) and site.draft == draft
    )


def _shares(design: Design) -> Iterator[tuple[Weight, Fraction]]:
    """The part of a weight that one token touches: its picks of the experts, no embedding row, else all."""
    for site in _sites(design.program):
        op = site.statement
        if not isinstance(op, Op):
            continue
        for weight, ids in zip(site.declared, site.indexes, strict=True):
            if not isinstance(weight, Weight):
                continue
            if ids is None:
                yield weight, Fraction(1)
            elif op.operator == "gather":
                yield weight, Fraction(0)
            else:
                picks = {d for d in ids.dims if d not in ("B", "Q")}
                yield weight, Fraction(_volume(picks, design, 1), _volume({ids.points_into or ""}, design, 1))


def _elements(weight: Weight, design: Design) -> int:
    return _volume(set(weight.dims), design, 1) if _is_parameter(weight) else 0


def _states(design: Design, context: int) -> Iterator[tuple[State, Fraction, bool]]:
    """Each state of the model with its bytes per sequence, in all its layers, and whether it is fixed."""
    attended: set[int] = set()
    found: list[_Site] = []
    for site in _sites(design.program):
        if isinstance(site.statement, State) and not site.draft:
            found.append(site)
        elif isinstance(site.statement, Op) and site.statement.operator not in _WORKING:
            attended.update(id(s) for s in site.declared if isinstance(s, State))
    for site in found:
        state = site.statement
        if isinstance(state, State):
            elements = _volume(set(state.dims) - {"B"}, design, context)
            yield state, site.count * elements * format_of(state.dtype).bytes, id(state) not in attended


def _volume(dims: set[str], design: Design, context: int) -> int:
    """The product of sizes for one sequence and one query token at this context."""
    volume = 1
    for dim in dims:
        size = design.program.sizes[dim].at(B=1, Q=1, S=context)
        if size != int(size):
            raise ValueError(f"{dim} must be a whole number at a context of {context}, but is {size}")
        volume *= int(size)
    return volume
