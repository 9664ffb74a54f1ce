"""The same value computed again where it is read, or once for all its readers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mutations.anatomy import Part, parts, unit_of
from mutations.edit import fresh, lines, reads, rewrite, with_kernels
from mutations.rule import Documentation, Rule, Site, site
from rooflang.design import Design, Op, Section, Statement, walk

_CHEAP = frozenset(
    ("add", "mul", "silu", "relu", "sigmoid", "exp", "softplus", "sqrtsoftplus", "swiglu", "scale", "cast",
     "norm", "softmax", "rope", "quantize")
)  # fmt: skip
"""Operators that cost a pass over their operands: no products, choices or caches."""


def _unchanged(body: tuple[Statement, ...], names: set[str], start: int, end: int) -> bool:
    """Whether none of the names is assigned between two statements of a body."""
    return not any(
        isinstance(s, Op) and (s.operands[0].name if s.operator == "append" else s.result) in names
        for _, s in walk(body[start + 1 : end])
    )


def _single(part: Part) -> Iterator[tuple[int, Op]]:
    """Cheap operators of a section whose result is assigned once, with their places."""
    made = [s.result for _, s in walk(part.body) if isinstance(s, Op)]
    for at, op in enumerate(part.body):
        if not isinstance(op, Op) or op.operator not in _CHEAP or op.result in reads(op):
            continue
        if made.count(op.result) == 1:
            yield at, op


def _readers(part: Part, name: str) -> list[tuple[int, Op]]:
    return [(i, s) for i, s in enumerate(part.body) if isinstance(s, Op) and name in reads(s)]


def _places(design: Design) -> tuple[Site, ...]:
    found: dict[Site, None] = {}
    for part in parts(design.program):
        for at, op in _single(part):
            users = [(i, user) for i, user in _readers(part, op.result) if i > at]
            if len(users) < 2 or lines(design, op.result) or lines(design, f"{part.name}.{op.result}"):
                continue
            for end, user in users[1:]:
                if _unchanged(part.body, set(reads(op)), at, end):
                    found[site(part.name, value=op.result, reader=user.result)] = None
    return tuple(found)


def _again(design: Design, where: Site) -> Design | None:
    if where not in _places(design):
        return None
    value, reader = where.get("value"), where.get("reader")
    names = {s.result for _, s in walk(design.program.body) if isinstance(s, Op)}
    copy = fresh(f"{value}_2", names)

    def change(_: str, body: tuple[Statement, ...]) -> tuple[Statement, ...] | None:
        at = next((i for i, s in enumerate(body) if isinstance(s, Op) and s.result == value), len(body))
        users = [
            i for i, s in enumerate(body) if i > at and isinstance(s, Op) and value in reads(s)
        ]  # fmt: skip
        end = next((i for i in users[1:] if _result(body[i]) == reader), None)
        op, user = (body[at], body[end]) if end is not None else (None, None)
        if end is None or not isinstance(op, Op) or not isinstance(user, Op):
            return None
        if not _unchanged(body, set(reads(op)), at, end):
            return None
        return (*body[:end], replace(op, result=copy), _reading(user, value, copy), *body[end + 1 :])

    result = rewrite(design, where.target, change)
    return (
        None
        if result is None
        else with_kernels(result, unit_of(design, where.target), {reader: (copy, reader)})
    )


def _result(statement: Statement) -> str:
    return statement.result if isinstance(statement, Op) else ""


def _reading(op: Op, old: str, new: str) -> Op:
    return replace(
        op,
        operands=tuple(
            replace(o, name=new if o.name == old else o.name, index=new if o.index == old else o.index)
            for o in op.operands
        ),
    )


def _twins(part: Part) -> Iterator[tuple[str, str]]:
    """(first, second): the second of two operators that compute the same."""
    known: list[tuple[int, Op]] = []
    for at, op in _single(part):
        for before, first in known:
            alike = replace(op, result="") == replace(first, result="")
            if alike and _unchanged(part.body, {*reads(op)}, before, at):
                yield first.result, op.result
                break
        else:
            known.append((at, op))


def _doubled(design: Design) -> tuple[Site, ...]:
    found: dict[Site, None] = {}
    inside = {p.path: any(isinstance(s, Section) for s in p.body) for p in parts(design.program)}
    for part in parts(design.program):
        for first, second in _twins(part):
            used = {n for s in part.body if isinstance(s, Op) for n in reads(s)}
            nested = {n for _, s in walk(part.body) if isinstance(s, Op) for n in reads(s)} - used
            if second not in design.program.outputs and not (inside[part.path] and second in nested):
                found[site(part.name, keep=first, gone=second)] = None
    return tuple(found)


def _once(design: Design, where: Site) -> Design | None:
    if where not in _doubled(design):
        return None
    keep, gone = where.get("keep"), where.get("gone")

    def change(_: str, body: tuple[Statement, ...]) -> tuple[Statement, ...] | None:
        ops = {s.result: s for s in body if isinstance(s, Op)}
        if keep not in ops or gone not in ops:
            return None
        return tuple(
            _reading(s, gone, keep) if isinstance(s, Op) else s
            for s in body
            if not (isinstance(s, Op) and s.result == gone)
        )

    result = rewrite(design, where.target, change)
    return None if result is None else with_kernels(result, unit_of(design, where.target), {gone: ()})


RULES = (
    Rule(
        "recompute", "duplication",
        Documentation(
            "computes a cheap value (norm, activation, rounding) again in the kernel of one of its readers",
            "the value need not be written and read back, nor its kernel waited for; readers that an axis or "
            "another pool keeps apart",
            "the operator runs twice, and its operands are read twice",
            "rematerialisation (Chen et al., arXiv 1604.06174); norms recomputed in fused kernels of "
            "TensorRT-LLM",
        ),
        _places, _again, "matrix FLOPs are kept; vector operations of the value are repeated",
        frozenset(("latency", "memory")), inverse="compute once",
    ),
    Rule(
        "compute once", "duplication",
        Documentation(
            "computes a value once that two operators of a section compute alike",
            "vector work and reads that were repeated", "the value is written and read back",
            "common-subexpression elimination",
        ),
        _doubled, _once, "the inverse of `recompute`", frozenset(("vector", "memory", "exponential")),
        inverse="recompute",
    ),
)  # fmt: skip
