"""Types of every value of a program, derived from its text (never stored in it)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod

from rooflang.design import Input, Op, Operand, Program, Repeat, Section, State, Statement, Weight, reads
from rooflang.dtype import format_of, index_dim
from rooflang.errors import DesignError, nearest
from rooflang.operators import STATE_KINDS, Type, indexed, result_type
from rooflang.size import Size


@dataclass(slots=True)
class _Scope:
    """Types by name, what each name is, and where weights, states and inputs were declared.

    A name may be declared again in another section (it then hides the first), never in the same one.
    `kept` are the names by which the repeat at hand and what follows it read values from outside.
    """

    sizes: Mapping[str, object]
    types: dict[str, Type] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    declared: set[str] = field(default_factory=set)
    states: dict[str, State] = field(default_factory=dict)
    kept: frozenset[str] = frozenset()


def type_program(program: Program) -> Mapping[str, Type]:
    """The types of the names that the program leaves behind.

    Raises DesignError, naming section and value, for the first statement that is not well-typed.
    """
    scope = _Scope(program.sizes)
    for position, statement in enumerate(program.body):
        if isinstance(statement, Repeat):
            after = reads(program.body[position + 1 :])
            scope.kept = reads(statement.body) | after | frozenset(program.outputs)
        _visit((statement,), scope, "")
    for name in program.outputs:
        if name not in scope.types:
            raise DesignError(
                f"an output must be defined, but {name!r} is not{nearest(name, list(scope.types))}"
            )
    return scope.types


def _visit(body: tuple[Statement, ...], scope: _Scope, path: str) -> None:
    for statement in body:
        match statement:
            case Section():
                _visit(statement.body, scope, f"{path}{statement.name}.")
            case Repeat():
                _visit_repeat(statement, scope, path)
            case Weight() | State() | Input():
                _declare(statement, scope, f"{path}{statement.name}")
            case Op():
                _assign(statement, scope, f"{path}{statement.result}")


def _assign(op: Op, scope: _Scope, where: str) -> None:
    type_ = op_type(op, scope.types, where)
    _known_dims(type_.dims, scope, where)
    _view_sizes(op, type_, scope, where)
    _state_kinds(op, scope, where)
    if op.operator == "append":
        if scope.kinds.get(op.operands[0].name) != "state":
            raise DesignError(f"append needs a state first, but {op.operands[0].name!r} is none", where)
        return
    if where in scope.declared:
        raise DesignError(f"{op.result!r} is a {scope.kinds[op.result]} and cannot be assigned", where)
    scope.types[op.result] = type_
    scope.kinds[op.result] = "value"


def _visit_repeat(repeat: Repeat, scope: _Scope, path: str) -> None:
    where = path + repeat.name
    if path:
        raise DesignError("a repeat cannot stand inside a section or another repeat", where)
    if repeat.count < 1:
        raise DesignError(f"a repeat's count must be at least 1, but got {repeat.count}", where)
    before, kinds = dict(scope.types), dict(scope.kinds)
    _visit(repeat.body, scope, f"{where}.")
    for name, type_ in before.items():
        after = scope.types[name]
        if kinds[name] == "value" and after.dims != type_.dims and name in scope.kept:
            raise DesignError(
                f"a value carried from layer to layer must keep its dims, but {name!r} enters with "
                f"[{', '.join(type_.dims)}] and leaves with [{', '.join(after.dims)}]",
                where,
            )
    # Names of a layer end with it; carried values survive.
    scope.types, scope.kinds = before, kinds


def _declare(statement: Weight | State | Input, scope: _Scope, where: str) -> None:
    _known_dims(statement.dims, scope, where)
    format_of(statement.dtype)
    if where in scope.declared:
        raise DesignError(
            f"a name must be declared once in a section, but {statement.name!r} is declared again", where
        )
    if isinstance(statement, State):
        if len(statement.dims) < 2 or statement.dims[0] != "B":
            raise DesignError("a state's dims must start with B and its rows (none for last)", where)
        if statement.rows not in STATE_KINDS or statement.span < 1:
            raise DesignError(
                f"a state must be append, window n, every n with n >= 1, or last, but got "
                f"{statement.rows} {statement.span}",
                where,
            )
    if isinstance(statement, Weight) and statement.derived is not None:
        _derivable(statement, scope, where)
        derived = op_type(statement.derived, scope.types, where)
        _view_sizes(statement.derived, derived, scope, where)
        if set(derived.dims) != set(statement.dims):
            raise DesignError("a derived weight's dims must be those of its formula", where)
    target = index_dim(statement.dtype)
    if target is not None:
        _known_dims((target,), scope, where)
    scope.declared.add(where)
    if isinstance(statement, State):
        scope.states[statement.name] = statement
    scope.types[statement.name] = Type(statement.dims, statement.dtype)
    scope.kinds[statement.name] = type(statement).__name__.lower()


def _derivable(weight: Weight, scope: _Scope, where: str) -> None:
    """A derived weight is made offline, of weights alone, and is stored no narrower than they are."""
    for operand in weight.derived.operands if weight.derived else ():
        kind = scope.kinds.get(operand.name)
        if kind != "weight" or operand.index is not None:
            raise DesignError(
                f"a derived weight must be made of weights, but {operand.name!r} is {kind or 'unknown'}",
                where,
            )
        if format_of(weight.dtype).bits < format_of(scope.types[operand.name].dtype).bits:
            raise DesignError(
                f"a derived weight must be stored at least as wide as {operand.name!r} "
                f"({scope.types[operand.name].dtype}), but got {weight.dtype}",
                where,
            )


def _view_sizes(op: Op, result: Type, scope: _Scope, where: str) -> None:
    """Views neither lose nor make elements: sizes of what they join or part must agree."""
    if op.operator not in ("split", "merge", "concat", "slice"):
        return
    names = [o.name for o in op.operands]
    inputs = [scope.types[n].dims for n in names if n in scope.types]
    old = {d for dims in inputs for d in dims} - set(result.dims)
    new = [d for d in result.dims if any(d not in dims for dims in inputs)]
    size = {d: scope.sizes[d] for d in (*old, *new, *(o.over for o in op.operands if o.over))}
    if not all(isinstance(s, Size) and s.constant is not None for s in size.values()):
        return
    value = {d: int(s.constant) for d, s in size.items() if isinstance(s, Size) and s.constant is not None}
    if op.operator in ("split", "merge"):
        before, after = prod(value[d] for d in old), prod(value[d] for d in new)
    elif op.operator == "concat":
        before, after = sum(value[o.over] for o in op.operands if o.over), prod(value[d] for d in new)
    else:
        start, whole = int(op.attribute("start") or 0), value[op.operands[0].over or ""]
        part = prod(value[d] for d in new) if new else whole
        if not 0 <= start <= start + part <= whole:
            raise DesignError(
                f"a slice must lie within its {whole} entries, but got {start} to {start + part}", where
            )
        return
    if before != after:
        raise DesignError(f"{op.operator} must keep every entry, but {before} entries become {after}", where)


def _state_kinds(op: Op, scope: _Scope, where: str) -> None:
    """A scan goes on from a state of the last token, a convolution of n taps from a window of n - 1 rows."""
    if op.operator not in ("scan", "conv"):
        return
    name = op.operands[0 if op.operator == "scan" else 2].name
    state = scope.states.get(name) if scope.kinds.get(name) == "state" else None
    if op.operator == "scan":
        if state is None or state.rows != "last":
            raise DesignError(f"scan needs a state of kind last, but got {name!r}", where)
        return
    taps = scope.sizes[op.operands[1].over or ""]
    rows = state.span if state is not None and state.rows == "window" else 0
    if not isinstance(taps, Size) or taps.constant != rows + 1:
        raise DesignError(f"conv over {taps} taps needs a window of one row less, but got {name!r}", where)


def _known_dims(dims: tuple[str, ...], scope: _Scope, where: str) -> None:
    for dim in dims:
        if dim not in scope.sizes:
            raise DesignError(
                f"a dimension must be declared in dims, but {dim!r} is not{nearest(dim, list(scope.sizes))}",
                where,
            )
    if len(set(dims)) != len(dims):
        raise DesignError(
            f"a tensor's dimensions must have different names, but got [{', '.join(dims)}]", where
        )


def operand_type(operand: Operand, types: Mapping[str, Type], where: str) -> Type:
    """The type of a use, its index applied."""
    for name in (operand.name, *([operand.index] if operand.index else [])):
        if name not in types:
            raise DesignError(
                f"a value must be defined before it is used, but {name!r} is not{nearest(name, list(types))}",
                where,
            )
    type_ = types[operand.name]
    return type_ if operand.index is None else indexed(type_, types[operand.index], where)


def op_type(op: Op, types: Mapping[str, Type], where: str) -> Type:
    """The type of one operator's result."""
    if op.dtype is not None:
        format_of(op.dtype)
    operands = tuple(operand_type(o, types, where) for o in op.operands)
    over = tuple(o.over for o in op.operands)
    return result_type(op.operator, operands, over, op.dims, op.dtype, dict(op.attributes), where)
