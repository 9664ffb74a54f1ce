"""From design to its canonical text: one statement per line, and parsing it gives the design back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby

from rooflang.design import (
    Attribute,
    Design,
    Input,
    Op,
    Operand,
    Placement,
    Program,
    Repeat,
    Schedule,
    Section,
    State,
    Statement,
    Weight,
)
from rooflang.errors import DesignError, RoofLangSyntaxError
from rooflang.form import check_form
from rooflang.limits import MAX_TOKENS
from rooflang.text.sizes import print_size
from rooflang.text.source import Source

_WIDTH = 100
_SUGAR = {"add": "+", "mul": "*"}


def print_design(design: Design) -> str:
    """The canonical text, with a final newline. Raises DesignError for what text cannot carry."""
    check_form(design)
    parts = [f"design {_string(design.name)}", _part("program", _program(design.program))]
    if design.pools:
        parts.append(_part("system", [f"pool {p.name} = {p.count} x {p.device}" for p in design.pools]))
    if design.placement != Placement():
        parts.append(_part("placement", _placement(design.placement)))
    if design.schedule != Schedule():
        parts.append(_part("schedule", _schedule(design.schedule)))
    text = "\n\n".join(parts) + "\n"
    if len(text) > MAX_TOKENS:  # a shorter text cannot hold too many words
        try:
            Source(text)
        except RoofLangSyntaxError as error:
            raise DesignError(f"the design is too large for a text: {error}") from None
    return text


def _part(name: str, lines: Sequence[str]) -> str:
    return "\n".join((f"{name} {{", *(f"  {line}" if line else "" for line in lines), "}"))


@lru_cache(maxsize=64)
def _program(program: Program) -> tuple[str, ...]:
    lines = list(_dims(program))
    if program.dims and program.body and isinstance(program.body[0], Op):
        raise DesignError(
            "the first statement after dims must be a declaration, a section or a repeat",
            program.body[0].result,
        )
    lines += _body(program.body)
    if program.outputs and program.body and isinstance(program.body[-1], Section | Repeat):
        lines.append("")
    return (*lines, *(f"output {name}" for name in program.outputs))


def _dims(program: Program) -> Iterator[str]:
    """`dims` lines, wrapped and aligned."""
    line = "dims  "
    for name, size in program.dims:
        text = f"{name}={print_size(size)}"
        if len(line) > 6 and len(line) + 1 + len(text) > _WIDTH:
            yield line
            line = "      "
        line += f" {text}"
    if program.dims:
        yield line


def _body(body: tuple[Statement, ...]) -> Iterator[str]:
    """Lines of statements; a block has an empty line before it unless it comes first."""
    for position, statement in enumerate(body):
        if isinstance(statement, Section | Repeat):
            if position:
                yield ""
            yield from _block(statement)
            if position + 1 < len(body) and not isinstance(body[position + 1], Section | Repeat):
                yield ""
        else:
            yield _statement(statement)


def _block(block: Section | Repeat) -> Iterator[str]:
    if isinstance(block, Section):
        yield f"section {block.name} {{"
    else:
        yield f"repeat {block.count} as {block.name} {'draft ' if block.draft else ''}{{"
    for line in _body(block.body):
        yield f"  {line}" if line else ""
    yield "}"


def _statement(statement: Weight | State | Input | Op) -> str:
    match statement:
        case Op():
            return _op(statement)
        case Weight():
            derived = f" = {_call(statement.derived)}" if statement.derived is not None else ""
            return f"weight {_tensor(statement)}{derived}"
        case State():
            span = "" if statement.rows in ("append", "last") else f" {statement.span}"
            rows = "" if statement.rows == "append" else f" {statement.rows}{span}"
            return f"state  {_tensor(statement)}{rows}"
        case Input():
            return f"input  {_tensor(statement)}"


def _tensor(statement: Weight | State | Input) -> str:
    return f"{statement.name}: {statement.dtype}[{', '.join(statement.dims)}]"


def _op(op: Op) -> str:
    if op.operator == "append" and op.dtype is None and op.operands and op.result == op.operands[0].name:
        return _call(op)
    left = f"{op.result}: {op.dtype}" if op.dtype is not None else op.result
    plain = (
        not op.attributes
        and op.dims is None
        and len(op.operands) == 2
        and all(o.over is None for o in op.operands)
    )
    if op.operator in _SUGAR and plain:
        return f"{left} = {_operand(op.operands[0])} {_SUGAR[op.operator]} {_operand(op.operands[1])}"
    return f"{left} = {_call(op)}"


def _call(op: Op) -> str:
    parts = [_operand(operand) for operand in op.operands]
    parts += [f"{key}={_literal(value)}" for key, value in op.attributes]
    arrow = "" if op.dims is None else f" -> {' '.join(op.dims)}" if op.dims else " ->"
    return f"{op.operator}({', '.join(parts)}{arrow})"


def _operand(operand: Operand) -> str:
    index = f"[{operand.index}]" if operand.index is not None else ""
    over = f" over {operand.over}" if operand.over is not None else ""
    return f"{operand.name}{index}{over}"


def _literal(value: Attribute) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _string(value) if isinstance(value, str) else repr(value)


def _string(text: str) -> str:
    """A JSON string; what cannot be seen is escaped."""
    return "".join(c if c.isprintable() and c not in '"\\' else json.dumps(c)[1:-1] for c in text).join('""')


def _placement(placement: Placement) -> list[str]:
    lines = [
        " ".join((f"mesh {m.pool} =", *(f"{axis}:{size}" for axis, size in m.axes))) for m in placement.meshes
    ]
    for target, shards in groupby(placement.shards, key=lambda s: s.target):
        lines.append(f"{target}: " + ", ".join(f"{s.dim} over {' '.join(s.axes)}" for s in shards))
    lines += [f"{target} on {pool}" for target, pool in placement.homes]
    lines += [f"{target} in {tier}" for target, tier in placement.tiers]
    if placement.pipeline is not None:
        lines.append(f"pipeline {placement.pipeline}")
    return lines


def _schedule(schedule: Schedule) -> list[str]:
    lines = [f"microbatches {schedule.microbatches}"] if schedule.microbatches != 1 else []
    if schedule.overlap_links:
        lines.append("overlap links")
    lines += [f"stream {target}" for target in schedule.streams]
    lines += [f"prefetch {target}" for target in schedule.prefetch]
    lines += [f"cascade {target}" for target in schedule.cascade]
    lines += [f"fuse {fusion.target}: {' '.join(fusion.values)}" for fusion in schedule.fusions]
    return lines
