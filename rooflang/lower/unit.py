"""Lowering of one unit: types, layouts and collectives of its operators, in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from rooflang.design import Input, Op, Operand, Section, State, Statement, Weight
from rooflang.dtype import index_dim
from rooflang.errors import DesignError, LoweringError, nearest
from rooflang.layout import REPLICATED, Cell, Layout, Partial, Split, axes_of, cell, layout_of, show
from rooflang.limits import PARTIAL, WHOLE
from rooflang.lower import convert
from rooflang.lower.agree import agreed
from rooflang.lower.decide import Argument, Decision, decide
from rooflang.lower.parts import Body
from rooflang.lower.rules import Rules
from rooflang.lowered import Condition, LocalOp, Routing, Tensor, Unit, Use
from rooflang.operators import Type, indexed, result_type


@dataclass(frozen=True, slots=True)
class Place:
    """Where one section of a unit runs: its pool, the pool's mesh axes, and the rules in force."""

    pool: str
    axes: tuple[str, ...]
    rules: Rules


@dataclass(frozen=True, slots=True)
class Setting:
    """What surrounds a unit: the place of every section inside it ("" is the unit itself), the lines
    that speak of single values, the values that live elsewhere than their section, and the memory of weights
    and states that are not in the device's own (by section and name)."""

    places: tuple[tuple[str, Place], ...]
    values: tuple[tuple[str, Rules], ...]
    homes: tuple[tuple[str, Place], ...] = ()
    tiers: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class _State:
    setting: Setting
    env: dict[str, Tensor]
    places: Mapping[str, Place]
    ops: list[LocalOp] = field(default_factory=list)
    weights: list[Tensor] = field(default_factory=list)
    states: list[Tensor] = field(default_factory=list)
    routings: dict[str, Routing] = field(default_factory=dict)
    converted: dict[tuple[Tensor, object], Tensor] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    used: dict[str, Tensor] = field(default_factory=dict)
    inputs: Mapping[str, Tensor] = field(default_factory=dict)

    def place(self, name: str, path: str) -> Place:
        """Where a value of a section is made or kept."""
        full = f"{path}.{name}" if path else name
        for own, place in self.setting.homes:
            if own == full:
                return place
        return self.places[path]

    def fresh(self, name: str) -> str:
        count = self.versions.get(name, 0)
        self.versions[name] = count + 1
        return name if count == 0 and name not in self.inputs else f"{name}~{count}"


@lru_cache(maxsize=4096)
def lower_unit(
    body: Body,
    setting: Setting,
    inputs: tuple[tuple[str, Tensor], ...],
    wanted: tuple[str, ...],
) -> Unit:
    """Lower statements that read `inputs` and must leave `wanted` values behind.

    Names and sections are relative to the unit, so that equal sections of different layers are one object;
    the caller gives the unit its path. Raises DesignError or LoweringError with the inner section and value.
    """
    given = dict(inputs)
    state = _State(setting, dict(given), dict(setting.places), inputs=given)
    _visit(body.statements, "", state)
    for name in wanted:
        _finish(name, state)
    outputs = tuple((n, state.env[n]) for n in wanted if n in state.env and state.env[n] is not given.get(n))
    read = tuple((n, state.used[n]) for n, _ in inputs if n in state.used)
    return Unit(
        "", state.places[""].pool, tuple(state.ops), read, outputs, tuple(state.weights), tuple(state.states),
        tuple(state.routings.values()), conditions_of(state.ops, state.weights, state.states),
    )  # fmt: skip


def _finish(name: str, state: _State) -> None:
    """A value whose rows are spread over the ranks that were chosen for them leaves its unit whole."""
    tensor = state.env.get(name)
    if tensor is None or tensor.kind != "value" or tensor is state.inputs.get(name):
        return
    if any(isinstance(c, Partial) and c.kind in ("one", "any") for _, c in tensor.layout):
        every = (*state.places.values(), *(p for _, p in state.setting.homes))
        place = next((p for p in every if p.pool == tensor.pool), state.places[""])
        whole: dict[str, Cell] = {a: c for a, c in tensor.layout if isinstance(c, Split)}
        state.env[name] = _bring(tensor, whole, place, "", state)


def conditions_of(
    ops: Sequence[LocalOp], weights: Sequence[Tensor], states: Sequence[Tensor]
) -> tuple[Condition, ...]:
    """What must divide by the axes that cut it, for every cut of these operators and tensors."""
    blocks = {op.operands[0].over: int(op.attribute("block") or 1) for op in ops if op.operator == "quantize"}
    seen: dict[tuple[str, Layout], None] = {}
    for tensor in (
        *weights,
        *states,
        *(t for op in ops for t in (op.result, *(u.tensor for u in op.operands))),
    ):
        for _, c in tensor.layout:
            if isinstance(c, Split):
                seen[c.dim, tensor.layout] = None
    found = {Condition(dim, axes_of(layout, dim), blocks.get(dim, 1)): None for dim, layout in seen}
    return tuple(found)


def _visit(body: tuple[Statement, ...], path: str, state: _State) -> None:
    for statement in body:
        match statement:
            case Section():
                _visit(statement.body, f"{path}.{statement.name}" if path else statement.name, state)
            case Weight() | State() | Input():
                _declare(statement, path, state)
            case Op():
                _lower_op(statement, path, state)
            case _:
                raise DesignError("a repeat cannot stand inside a section or another repeat", path)


def _declare(statement: Weight | State | Input, path: str, state: _State) -> None:
    cells: dict[str, Cell] = {}
    names = list(statement.dims)
    place = state.place(statement.name, path)
    full = f"{path}.{statement.name}" if path else statement.name
    for dim, axes in (*dict(state.setting.values).get(full, ()), *place.rules):
        for axis in axes:
            if axis not in cells and (dim in names or dim == WHOLE):
                cells[axis] = None if dim == WHOLE else Split(dim)
    kind = type(statement).__name__.lower()
    tensor = Tensor(
        full, kind, statement.dims, statement.dtype,
        layout_of(cells, place.axes), place.pool,
        rows=statement.rows if isinstance(statement, State) else "",
        span=statement.span if isinstance(statement, State) else 1,
        derived=statement.derived if isinstance(statement, Weight) else None,
        tier=dict(state.setting.tiers).get(full, ""),
    )  # fmt: skip
    state.env[statement.name] = tensor
    (state.states if kind == "state" else state.weights if kind == "weight" else []).append(tensor)


def _fetch(name: str, state: _State, where: str) -> Tensor:
    tensor = state.env.get(name)
    if tensor is None:
        raise DesignError(
            f"a value must be defined before it is used, but {name!r} is not{nearest(name, list(state.env))}",
            where,
        )
    if tensor is state.inputs.get(name):
        state.used[name] = tensor
    return tensor


def _argument(
    operand: Operand, place: Place, state: _State, where: str
) -> tuple[Argument, Tensor | None, Type]:
    tensor = _fetch(operand.name, state, where)
    if tensor.kind == "input" and tensor.pool != place.pool:
        # What is given from outside is given where it is read.
        tensor = replace(tensor, pool=place.pool, layout=REPLICATED)
        state.used[operand.name] = tensor
    foreign = tensor.pool != place.pool
    if foreign and tensor.kind != "value":
        raise LoweringError(
            f"{tensor.kind} {operand.name!r} lives on pool {tensor.pool!r} and cannot be read from "
            f"{place.pool!r}; "
            "move the section or send its result",
            where,
        )
    type_ = Type(tensor.dims, tensor.dtype, tensor.every)
    if operand.index is None:
        return Argument(tensor, tensor.dims, over=operand.over, foreign=foreign), None, type_
    ids = _fetch(operand.index, state, where)
    type_ = indexed(type_, Type(ids.dims, ids.dtype), where)
    target = index_dim(ids.dtype)
    tag = ids.name
    here = ids.layout if ids.pool == place.pool else None
    return Argument(tensor, type_.dims, target, ids.dims, tag, operand.over, foreign, here), ids, type_


def _lower_op(op: Op, path: str, state: _State) -> None:
    section = path
    where = f"{section}.{op.result}" if section else op.result
    place = state.place(op.operands[0].name if op.operator == "append" else op.result, path)
    found = [_argument(o, place, state, where) for o in op.operands]
    arguments = tuple(a for a, _, _ in found)
    indexes = [i for _, i, _ in found]
    type_ = result_type(
        op.operator, tuple(t for _, _, t in found), tuple(o.over for o in op.operands), op.dims, op.dtype,
        dict(op.attributes), where,
    )  # fmt: skip
    axes = place.axes
    second = op.attribute("with")
    second = second if isinstance(second, str) else None
    decisions = {a: decide(op.operator, a, arguments, type_.dims, place.rules, second) for a in axes}
    # The best of each shard are not enough for groups, nor to add noise to: those see the scores whole.
    if op.operator in ("topk", "sample") and len(arguments) == 1 and op.attribute("groups") is None:
        arguments = (_gather_top(op, arguments[0], place, section, state),)
        decisions = {a: decide(op.operator, a, arguments, type_.dims, place.rules, second) for a in axes}
    decisions = dict(agreed(arguments, decisions))
    uses: list[Use] = []
    for position, argument in enumerate(arguments):
        want = {a: decisions[a].needs[position] for a in axes}
        local = _bring(argument.tensor, want, place, section, state)
        index = indexes[position]
        if index is not None:
            index = _bring(
                index, {a: decisions[a].index_needs[position] for a in axes}, place, section, state
            )
        uses.append(Use(local, index, op.operands[position].over))
    _note_routing(arguments, decisions, state)
    if op.operator == "append":
        _append(op, uses, decisions, section, state)
        return
    layout = layout_of({a: d.result for a, d in decisions.items()}, axes)
    cells, deferred = _as_written(where, type_.dims, layout, axes, state)
    result = Tensor(
        state.fresh(op.result), "value", type_.dims, type_.dtype, layout, place.pool, type_.every,
        deferred=deferred,
    )  # fmt: skip
    state.ops.append(_local(op, result, uses, decisions, section, state))
    state.env[op.result] = _bring(result, cells, place, section, state) if cells else result


def _as_written(
    name: str, dims: tuple[str, ...], layout: Layout, axes: tuple[str, ...], state: _State
) -> tuple[dict[str, Cell], tuple[str, ...]]:
    """What the lines of a value make of its layout (nothing, where it has none), and the axes along which
    it may be read unfinished."""
    written = dict(state.setting.values).get(name)
    if not written:
        return {}, ()
    cells: dict[str, Cell] = {a: cell(layout, a) for a in axes}
    deferred: list[str] = []
    for axis in (a for a in axes if any(a in used for _, used in written)):
        known = (d for d, used in written if axis in used and (d in (WHOLE, PARTIAL) or d in dims))
        said = next(known, WHOLE)
        have = cells[axis]
        if said == PARTIAL:
            if isinstance(have, Partial) and have.kind == "sum" and not _by_experts(have, state):
                deferred.append(axis)
        else:
            cells[axis] = None if said == WHOLE else Split(said)
    return cells, tuple(deferred)


def _by_experts(have: Partial, state: _State) -> bool:
    """Whether a partial sum is spread by a choice of experts, whose rows go back to where they came from."""
    route = state.routings.get(have.routed or "")
    return have.routed is not None and (route is None or not route.of_state)


def _local(
    op: Op, result: Tensor, uses: list[Use], decisions: Mapping[str, Decision], section: str, state: _State
) -> LocalOp:
    cut: dict[str, list[str]] = {}
    for axis, decision in decisions.items():
        if decision.shard is not None:
            cut.setdefault(decision.shard, []).append(axis)
    kernel = f"{section}:{result.name}"
    return LocalOp(
        op.operator, result, tuple(uses), op.attributes,
        tuple((d, tuple(a)) for d, a in cut.items()), section=section, kernel=kernel,
    )  # fmt: skip


def _append(op: Op, uses: list[Use], decisions: Mapping[str, Decision], section: str, state: _State) -> None:
    cache = state.env[op.operands[0].name]
    if cache.kind != "state":
        raise DesignError(
            f"append needs a state first, but {op.operands[0].name!r} is a {cache.kind}", section
        )
    version = replace(cache, name=state.fresh(f"{cache.name}+"))
    state.ops.append(_local(op, version, uses, decisions, section, state))
    state.env[op.operands[0].name] = version


def _gather_top(op: Op, argument: Argument, place: Place, section: str, state: _State) -> Argument:
    """Scores cut along the ranked name: each rank offers its best candidates to the others."""
    tensor = argument.tensor
    axes = tuple(a for a, c in tensor.layout if isinstance(c, Split) and c.dim == argument.over)
    if not axes or argument.foreign:
        return argument
    if any(isinstance(c, Partial) for _, c in tensor.layout):  # parts of scores have no order
        whole = {a: c for a, c in tensor.layout if isinstance(c, Split)}
        tensor = _bring(tensor, whole, place, section, state)
    picks = [d for d in op.dims or () if d not in tensor.dims]
    layout = tuple((a, c) for a, c in tensor.layout if a not in axes)
    result = replace(tensor, name=state.fresh(f"{tensor.name}^"), layout=layout)
    attributes = (("dim", argument.over or ""), ("k", picks[0] if picks else ""))
    state.ops.append(
        LocalOp("gather_top", result, (Use(tensor),), attributes, axes=axes, section=section,
                kernel=f"{section}:{result.name}")
    )  # fmt: skip
    return replace(argument, tensor=result)


def _bring(tensor: Tensor, want: Mapping[str, Cell], place: Place, section: str, state: _State) -> Tensor:
    """The tensor in the wanted layout on this pool; conversions are made once and shared."""
    layout = layout_of(want, place.axes)
    if tensor.pool == place.pool and tensor.layout == layout:
        return tensor
    if tensor.kind in ("weight", "state") and not _only_kept(tensor, want, place, section):
        raise LoweringError(
            f"{tensor.kind} {tensor.name!r} is stored {show(tensor.layout)} but is needed otherwise; "
            "place its section alike",
            section,
        )
    key = (tensor, (place.pool, layout))
    found = state.converted.get(key)
    if found is None:
        suffix = f"@{len(state.converted)}"
        if tensor.pool == place.pool:
            ops, found = convert.apply(tensor, want, place.axes, section, suffix)
        else:
            ops, found = convert.send(tensor, want, place.pool, place.axes, section, suffix)
        state.ops.extend(ops)
        state.converted[key] = found
    return found


def _only_kept(tensor: Tensor, want: Mapping[str, Cell], place: Place, section: str) -> bool:
    """Whether a stored tensor becomes what is wanted by letting all ranks but one ignore it."""
    if tensor.pool != place.pool:
        return False
    return all(step.operator == "keep" for step in convert.plan(tensor, want, place.axes, section))


def _note_routing(arguments: tuple[Argument, ...], decisions: Mapping[str, Decision], state: _State) -> None:
    for a in arguments:
        if a.tag is None or a.target is None:
            continue
        axes = tuple(axis for axis, d in decisions.items() if d.shard == a.target)
        picks = tuple(d for d in a.picks if d not in ("B", "Q"))
        known = state.routings.get(a.tag)
        # The same choice may also pick from what no axis cuts: those that do decide where rows are sent.
        if known is None or len(axes) > len(known.axes):
            state.routings[a.tag] = Routing(a.tag, a.target, picks, axes, a.tensor.kind == "state")
