"""Whether a design can be written: its names, numbers, nesting and counts.

Typing asks whether a program makes sense; this asks only whether text and JSON can carry the design.
The functions ending in `problem` return a message, or None when all is well.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from rooflang.design import Attribute, Design, Input, Op, Operand, Repeat, Section, State, Statement, Weight
from rooflang.errors import DesignError, nearest
from rooflang.limits import (
    DEVICE,
    FIXED_SYMBOLS,
    FORMAT,
    MAX_BLOCKS,
    MAX_DIMS,
    MAX_EXPONENT,
    MAX_INTEGER,
    MAX_NAME,
    MAX_NESTING,
    MAX_PLAN_LINES,
    MAX_STATEMENTS,
    MAX_STRING,
    NAME,
    PARTIAL,
    PATH,
    RESERVED,
    TIERS,
    WHOLE,
)
from rooflang.operators import OPERATORS, STATE_KINDS
from rooflang.size import Size
from rooflang.text.sizes import size_problem

MAX_DEPTH = MAX_NESTING - 3  # the braces of the program and the brackets of a call and an index


def name_problem(name: str) -> str | None:
    if len(name) > MAX_NAME:
        return f"a name must have at most {MAX_NAME} characters, but got one of {len(name)}"
    if not NAME.match(name):
        return f"a name must be ASCII letters, digits and '_', but got {name!r}"
    if name in RESERVED:
        return f"a name must not be a reserved word, but got {name!r}"
    return None


def path_problem(path: str) -> str | None:
    """For a section's name or the end of its dotted path."""
    if not PATH.match(path) or path.count(".") >= MAX_NESTING:
        return f"a target must be a name or a dotted path, but got {path[:80]!r}"
    return next(filter(None, map(name_problem, path.split("."))), None)


def dim_problem(name: str) -> str | None:
    """For the name of a dimension."""
    if name in (WHOLE, PARTIAL):
        return f"a dimension must not have a name that placement uses, but got {name!r}"
    return name_problem(name)


def tier_problem(tier: str) -> str | None:
    if tier not in TIERS:
        return f"a memory must be {' or '.join(TIERS)}, but got {tier!r}{nearest(tier, list(TIERS))}"
    return None


def string_problem(text: str) -> str | None:
    if len(text) > MAX_STRING:
        return f"a string must have at most {MAX_STRING} characters, but got {len(text)}"
    if any("\ud800" <= c <= "\udfff" for c in text):
        return "a string must be valid Unicode, but got half of a surrogate pair"
    return None


def integer_problem(what: str, value: object, low: int = 1) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= MAX_INTEGER:
        return f"{what} must be a whole number from {low} to {MAX_INTEGER:.0e}, but got {_brief(value)}"
    return None


def attribute_problem(operator: str, key: str, value: Attribute) -> str | None:
    """An attribute must be known to its operator and have its type."""
    known = OPERATORS[operator].attributes
    if key not in known:
        if not known:
            return f"{operator} takes no attributes, but got {key!r}"
        return f"{operator} has no attribute {key!r}{nearest(key, list(known))}"
    wanted = known[key]
    if wanted is str:
        fits = isinstance(value, str)
    elif wanted is bool:
        fits = isinstance(value, bool)
    else:
        fits = not isinstance(value, bool) and isinstance(value, int if wanted is int else int | float)
    if not fits:
        said = {str: "a string", bool: "true or false", int: "a whole number", float: "a number"}[wanted]
        return f"{operator}'s {key} must be {said}, but got {_brief(value)}"
    if isinstance(value, str):
        return string_problem(value)
    return number_problem(f"{operator}'s {key}", value)


def number_problem(what: str, value: int | float) -> str | None:
    if isinstance(value, int):
        return (
            None
            if abs(value) <= MAX_INTEGER
            else f"{what} must be at most {MAX_INTEGER:.0e}, but got {_brief(value)}"
        )
    small = value == 0 or 10.0**-MAX_EXPONENT <= abs(value) < 10.0**MAX_EXPONENT
    if not math.isfinite(value) or not small:
        return f"{what} must have an exponent of at most {MAX_EXPONENT}, but got {value!r}"
    return None


def symbols_problem(size: Size, axes: Iterable[str]) -> str | None:
    """A size may use the fixed symbols and the axes of meshes."""
    unknown = sorted(size.symbols().difference(FIXED_SYMBOLS, axes))
    if not unknown:
        return None
    known = [*FIXED_SYMBOLS, *axes]
    got = f"{unknown[0]!r}{nearest(unknown[0], known)}"
    return f"a size must use B, Q, S or the name of a mesh axis, but got {got}"


def check_form(design: Design) -> None:
    """Raises DesignError with the place when text and JSON cannot carry the design."""
    _require(string_problem(design.name), "design")
    _check_dims(design)
    counts = [0, 0]
    _check_body(design.program.body, "", 1, counts)
    for name in design.program.outputs:
        _require(name_problem(name), "output")
    _check_system(design)
    _check_schedule(design)


def _check_dims(design: Design) -> None:
    dims = design.program.dims
    axes = [axis for mesh in design.placement.meshes for axis, _ in mesh.axes]
    if len(dims) > MAX_DIMS:
        raise DesignError(f"a program must have at most {MAX_DIMS} dims, but got {len(dims)}", "dims")
    seen: set[str] = set()
    for name, size in dims:
        _require(dim_problem(name), "dims")
        if name in seen:
            raise DesignError(f"a dimension must be declared once, but {name!r} is declared again", "dims")
        seen.add(name)
        message = size_problem(size)
        _require(f"the size of {name} {message}" if message else symbols_problem(size, axes), "dims")


def _check_body(body: tuple[Statement, ...], path: str, depth: int, counts: list[int]) -> None:
    if depth > MAX_DEPTH:
        raise DesignError(f"sections and repeats must be nested at most {MAX_DEPTH - 1} deep", path)
    for statement in body:
        counts[0] += 1
        if counts[0] > MAX_STATEMENTS:
            raise DesignError(f"a program must have at most {MAX_STATEMENTS} statements", path)
        match statement:
            case Section() | Repeat():
                counts[1] += 1
                if counts[1] > MAX_BLOCKS:
                    raise DesignError(f"a program must have at most {MAX_BLOCKS} sections and repeats", path)
                where = f"{path}.{statement.name}" if path else statement.name
                _require(name_problem(statement.name), where)
                if isinstance(statement, Repeat):
                    _require(integer_problem("a repeat's count", statement.count), where)
                _check_body(statement.body, where, depth + 1, counts)
            case Op():
                _check_op(statement, f"{path}.{statement.result}" if path else statement.result)
            case _:
                _check_declaration(statement, f"{path}.{statement.name}" if path else statement.name)


def _check_declaration(statement: Weight | State | Input, where: str) -> None:
    for name in (statement.name, *statement.dims):
        _require(name_problem(name), where)
    _require_format(statement.dtype, where)
    if isinstance(statement, State):
        _require(integer_problem("a state's span", statement.span), where)
        if statement.rows not in STATE_KINDS or (
            statement.rows in ("append", "last") and statement.span != 1
        ):
            raise DesignError(
                "a state's rows must be append, window n, every n or last, "
                f"but got {statement.rows} {statement.span}",
                where,
            )
    if isinstance(statement, Weight) and statement.derived is not None:
        derived = statement.derived
        if derived.result != statement.name or derived.dtype is not None:
            raise DesignError(
                "a derived weight's formula must have the weight's name as its result and no own format",
                where,
            )
        _check_op(derived, where)


def _check_op(op: Op, where: str) -> None:
    if op.operator not in OPERATORS:
        raise DesignError(
            f"an operator must be known, but got {op.operator!r}{nearest(op.operator, list(OPERATORS))}",
            where,
        )
    names = [op.result, *(op.dims or ())]
    for operand in op.operands:
        names += _names(operand)
    for name in names:
        message = (
            name_problem(name) if name in RESERVED or not NAME.match(name) or len(name) > MAX_NAME else None
        )
        _require(message, where)
    if op.dtype is not None:
        _require_format(op.dtype, where)
    seen: set[str] = set()
    for key, value in op.attributes:
        _require(attribute_problem(op.operator, key, value), where)
        if key in seen:
            raise DesignError(f"an attribute must be given once, but {key!r} is given again", where)
        seen.add(key)


def _names(operand: Operand) -> list[str]:
    return [n for n in (operand.name, operand.index, operand.over) if n is not None]


def _check_system(design: Design) -> None:
    for pool in design.pools:
        _require(name_problem(pool.name), "pool")
        _require(integer_problem("a pool's count", pool.count), f"pool {pool.name}")
        if not DEVICE.match(pool.device) or len(pool.device) > MAX_NAME:
            raise DesignError(
                f"a device's name must be letters, digits, '.', '_' and '-', but got {pool.device[:80]!r}",
                f"pool {pool.name}",
            )
    placement, schedule = design.placement, design.schedule
    parts = (
        placement.meshes,
        placement.shards,
        placement.homes,
        placement.tiers,
        schedule.fusions,
        schedule.streams,
        schedule.prefetch,
        schedule.cascade,
        design.pools,
    )
    if sum(map(len, parts)) > MAX_PLAN_LINES:
        raise DesignError(
            f"system, placement and schedule must have at most {MAX_PLAN_LINES} lines", "placement"
        )
    for mesh in placement.meshes:
        _require(name_problem(mesh.pool), "mesh")
        for axis, size in mesh.axes:
            _require(
                name_problem(axis) or integer_problem(f"the size of axis {axis}", size), f"mesh {mesh.pool}"
            )
    for shard in placement.shards:
        _require(path_problem(shard.target), "placement")
        for name in (shard.dim, *shard.axes):
            _require(name_problem(name), f"placement of {shard.target}")
        if not shard.axes:
            raise DesignError(
                f"{shard.dim!r} must be placed over at least one axis", f"placement of {shard.target}"
            )
    for target, home in placement.homes:
        _require(path_problem(target) or name_problem(home), "placement")
    for target, tier in placement.tiers:
        _require(path_problem(target) or tier_problem(tier), "placement")
    if placement.pipeline is not None:
        _require(name_problem(placement.pipeline), "pipeline")


def _check_schedule(design: Design) -> None:
    schedule = design.schedule
    _require(integer_problem("the number of micro-batches", schedule.microbatches), "schedule")
    sections = {"stream": schedule.streams, "prefetch": schedule.prefetch, "cascade": schedule.cascade}
    for word, targets in sections.items():
        for target in targets:
            _require(path_problem(target), word)
    for fusion in schedule.fusions:
        _require(path_problem(fusion.target), "fuse")
        for name in fusion.values:
            _require(name_problem(name), f"fuse {fusion.target}")
        if not fusion.values:
            raise DesignError("a fusion must name at least one value", f"fuse {fusion.target}")


def _require_format(dtype: str, where: str) -> None:
    if not FORMAT.match(dtype) or len(dtype) > MAX_NAME + 7:
        raise DesignError(
            f"a storage format must be a name or index<dimension>, but got {dtype[:80]!r}", where
        )


def _require(message: str | None, where: str) -> None:
    if message is not None:
        raise DesignError(message, where)


def _brief(value: object) -> str:
    if isinstance(value, int) and abs(value) > MAX_INTEGER:
        return "a larger number"
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else repr(value)[:80]
