"""Which statement of a text a typing error is about."""

from __future__ import annotations

import re
from dataclasses import replace

from rooflang.design import Op, Program, Repeat, Section, Statement, walk
from rooflang.errors import DesignError
from rooflang.text.positions import Positions
from rooflang.typing import type_program


class LocatedDesignError(DesignError):
    """A design that breaks a rule, with the place in its text. Lines and columns count from 1."""

    def __init__(self, error: DesignError, line: int, column: int, source_line: str, pointer: str) -> None:
        super().__init__(f"line {line}, column {column}: {error}{pointer}")
        self.where = error.where
        self.line = line
        self.column = column
        self.source_line = source_line


def located(error: DesignError, program: Program, positions: Positions) -> LocatedDesignError:
    """The error with the line and column of the statement that it is about."""
    source = positions.source
    output = next(
        (n for n in positions.outputs if str(error).startswith(f"an output must be defined, but {n!r}")), None
    )
    if output is not None:
        offset = positions.outputs[output]
    else:
        statement = _culprit(error, program)
        offset = positions.of(statement) if statement is not None else 0
        offset = _word_in_statement(_word(error), offset, positions)
    line, column = source.position(offset)
    return LocatedDesignError(error, line, column, source.line(line), source.pointer(offset))


def _culprit(error: DesignError, program: Program) -> Statement | None:
    """The first statement after which the program fails with this message."""
    statements = list(walk(program.body))
    named = [i for i, (path, s) in enumerate(statements) if ".".join((*path, _name(s))) == error.where]
    candidates = named or list(range(len(statements)))
    word = _word(error)
    candidates = [i for i in candidates if word in _words(statements[i][1])] or candidates
    low, high = 0, len(candidates) - 1
    while low < high:
        middle = (low + high) // 2
        if _fails(program, statements[candidates[middle]][1], str(error)):
            high = middle
        else:
            low = middle + 1
    return statements[candidates[low]][1] if candidates else None


def _fails(program: Program, last: Statement, message: str) -> bool:
    body, _ = _until(program.body, last)
    try:
        type_program(replace(program, body=body, outputs=()))
    except DesignError as error:
        return str(error) == message
    return False


def _until(body: tuple[Statement, ...], last: Statement) -> tuple[tuple[Statement, ...], bool]:
    """The body up to and with one statement, and whether that was met."""
    kept: list[Statement] = []
    for statement in body:
        if statement is last:
            return (*kept, statement), True
        if isinstance(statement, Section | Repeat):
            inner, met = _until(statement.body, last)
            if met:
                return (*kept, replace(statement, body=inner)), True
        kept.append(statement)
    return tuple(kept), False


def _name(statement: Statement) -> str:
    return statement.result if hasattr(statement, "result") else statement.name


def _words(statement: Statement) -> set[str | None]:
    """The names that a statement mentions."""
    match statement:
        case Op():
            uses = {n for o in statement.operands for n in (o.name, o.index, o.over)}
            return {statement.result, statement.operator, *(statement.dims or ()), *uses}
        case Section() | Repeat():
            return {statement.name}
        case _:
            return {statement.name, statement.dtype, *statement.dims}


def _word(error: DesignError) -> str | None:
    """The first quoted name of a message."""
    found = re.search(r"'([A-Za-z_][\w<>]*)'", str(error).removeprefix(f"{error.where}: "))
    return found[1] if found else None


def _word_in_statement(word: str | None, offset: int, positions: Positions) -> int:
    """The place of a word within a statement, else the statement's own."""
    if word is None:
        return offset
    found = re.compile(rf"(?<![\w.]){re.escape(word)}(?!\w)").search(
        positions.source.code, offset, positions.after(offset)
    )
    return found.start() if found else offset
