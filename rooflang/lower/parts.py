"""A program's body in the parts that are lowered: segments, units, and what each unit names."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass
from functools import lru_cache

from rooflang.design import Op, Repeat, Section, Statement, reads, walk
from rooflang.node import Node, node


@node
class Body(Node):
    """Statements that are lowered together."""

    statements: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """A unit before it is lowered. `inner` are the paths of sections inside it; `names` all that it declares
    or assigns, sections inside included; `reads` what it takes from outside, in order."""

    path: str
    body: Body
    inner: tuple[str, ...]
    names: frozenset[str]
    reads: tuple[str, ...]

    def named(self, wanted: Set[str]) -> tuple[str, ...]:
        """What it declares or assigns under one of these names, with the sections inside it, sorted."""
        return _named(self.body, frozenset(wanted & self.names)) if wanted & self.names else ()


@lru_cache(maxsize=4096)
def groups(body: tuple[Statement, ...]) -> tuple[tuple[Repeat | None, tuple[Statement, ...]], ...]:
    """Repeats, and the statements between them."""
    found: list[tuple[Repeat | None, tuple[Statement, ...]]] = []
    loose: list[Statement] = []
    for statement in body:
        if isinstance(statement, Repeat):
            if loose:
                found.append((None, tuple(loose)))
            loose = []
            found.append((statement, statement.body))
        else:
            loose.append(statement)
    if loose:
        found.append((None, tuple(loose)))
    return tuple(found)


@lru_cache(maxsize=4096)
def parts(body: tuple[Statement, ...], path: str) -> tuple[Part, ...]:
    """The units of a body: sections that hold operators; sections that only hold sections are opened."""
    return tuple(_part(where, Body(statements)) for where, statements in _bodies(body, path))


@lru_cache(maxsize=4096)
def _named(body: Body, wanted: frozenset[str]) -> tuple[str, ...]:
    found: set[str] = set()
    for path, s in walk(body.statements):
        name = s.result if isinstance(s, Op) else "" if isinstance(s, Section | Repeat) else s.name
        if name in wanted:
            found.add(".".join((*path, name)))
    return tuple(sorted(found))


@lru_cache(maxsize=4096)
def _part(path: str, body: Body) -> Part:
    statements = body.statements
    ops = tuple(operators(statements))
    names = {op.result for op in ops} | {op.operands[0].name for op in ops if op.operator == "append"}
    names.update(_declared(statements))
    return Part(path, body, tuple(_inner(statements)), frozenset(names), tuple(sorted(reads(statements))))


def _bodies(body: tuple[Statement, ...], path: str) -> Iterator[tuple[str, tuple[Statement, ...]]]:
    loose: list[Statement] = []
    for statement in body:
        if isinstance(statement, Section):
            if loose:
                yield path, tuple(loose)
                loose = []
            inner = f"{path}.{statement.name}" if path else statement.name
            if all(isinstance(s, Section) for s in statement.body):
                yield from _bodies(statement.body, inner)
            else:
                yield inner, statement.body
        else:
            loose.append(statement)
    if loose:
        yield path, tuple(loose)


def operators(body: tuple[Statement, ...]) -> Iterator[Op]:
    """Every operator, those of sections inside included."""
    return (s for _, s in walk(body) if isinstance(s, Op))


def _declared(body: tuple[Statement, ...]) -> Iterator[str]:
    return (s.name for _, s in walk(body) if not isinstance(s, Section | Repeat | Op))


def _inner(body: tuple[Statement, ...]) -> Iterator[str]:
    return (".".join((*path, s.name)) for path, s in walk(body) if isinstance(s, Section))


@lru_cache(maxsize=4096)
def assigned(body: tuple[Statement, ...]) -> frozenset[str]:
    """Names that statements assign."""
    return frozenset(op.result for op in operators(body) if op.operator != "append")
