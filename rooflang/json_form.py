"""Designs as JSON values: the same content as the text, order included, and the same limits.

Names and sizes are spelled as in the text; a plain whole number is a JSON number. Lists of pairs are
used where order matters, so that a database that sorts the keys of objects loses nothing.
"""

from __future__ import annotations

from typing import Any

from rooflang.design import Design, Op, Repeat, Section, State, Statement, Weight
from rooflang.form import check_form
from rooflang.json_reader import from_json
from rooflang.size import Size
from rooflang.text.sizes import print_size

__all__ = ("from_json", "to_json")


def to_json(design: Design) -> dict[str, Any]:
    """The design as dicts, lists, strings, numbers and booleans. Raises DesignError as printing does."""
    check_form(design)
    program, placement, schedule = design.program, design.placement, design.schedule
    return {
        "design": design.name,
        "program": {
            "dims": [[name, _size(size)] for name, size in program.dims],
            "body": [_statement(s) for s in program.body],
            "outputs": list(program.outputs),
        },
        "system": [{"pool": p.name, "device": p.device, "count": p.count} for p in design.pools],
        "placement": {
            "meshes": [{"pool": m.pool, "axes": [list(a) for a in m.axes]} for m in placement.meshes],
            "shards": [{"target": s.target, "dim": s.dim, "axes": list(s.axes)} for s in placement.shards],
            "homes": [list(home) for home in placement.homes],
            "pipeline": placement.pipeline,
            "tiers": [list(tier) for tier in placement.tiers],
        },
        "schedule": {
            "microbatches": schedule.microbatches,
            "fusions": [{"target": f.target, "values": list(f.values)} for f in schedule.fusions],
            "overlap_links": schedule.overlap_links,
            "streams": list(schedule.streams),
            "prefetch": list(schedule.prefetch),
            "cascade": list(schedule.cascade),
        },
    }


def _size(size: Size) -> int | str:
    return size.constant if isinstance(size.constant, int) else print_size(size)


def _statement(statement: Statement) -> dict[str, Any]:
    match statement:
        case Op():
            return {"op": _op(statement)}
        case Section():
            return {"section": statement.name, "body": [_statement(s) for s in statement.body]}
        case Repeat():
            body = [_statement(s) for s in statement.body]
            return {
                "repeat": statement.name,
                "count": statement.count,
                "draft": statement.draft,
                "body": body,
            }
        case _:
            kind = type(statement).__name__.lower()
            found: dict[str, Any] = {
                kind: statement.name,
                "dtype": statement.dtype,
                "dims": list(statement.dims),
            }
            if isinstance(statement, State):
                found |= {"rows": statement.rows, "span": statement.span}
            if isinstance(statement, Weight) and statement.derived is not None:
                found["derived"] = _op(statement.derived)
            return found


def _op(op: Op) -> dict[str, Any]:
    return {
        "result": op.result,
        "operator": op.operator,
        "operands": [{"name": o.name, "index": o.index, "over": o.over} for o in op.operands],
        "attributes": [list(a) for a in op.attributes],
        "dims": None if op.dims is None else list(op.dims),
        "dtype": op.dtype,
    }
