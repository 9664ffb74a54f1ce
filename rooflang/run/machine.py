"""Execution of one unit, or of a run of units, on simulated devices for one step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from rooflang.dtype import index_dim
from rooflang.layout import Partial
from rooflang.lowered import LocalOp, Tensor, Unit
from rooflang.run import attention, caches, functions, linear, moves, recurrence
from rooflang.run.field import Field, Reals
from rooflang.run.local import Local
from rooflang.run.sizes import Sizes
from rooflang.run.tokens import Step, Tokens
from rooflang.run.value import ExecutionError, RowRule, Value

_OPERATORS: Mapping[str, Callable[[Local, LocalOp], Value]] = {
    "einsum": linear.einsum, "add": linear.add, "mul": linear.mul, "scale": linear.scale, "cast": linear.cast,
    "gather": linear.gather, "concat": linear.concat, "slice": linear.slice_, "split": linear.split,
    "merge": linear.merge, "silu": functions.elementwise, "relu": functions.elementwise,
    "sigmoid": functions.elementwise, "softplus": functions.elementwise, "swiglu": functions.elementwise,
    "sqrtsoftplus": functions.elementwise, "exp": functions.exp,
    "quantize": functions.quantize, "norm": functions.norm, "logsumexp": attention.logsumexp,
    "softmax": attention.softmax, "rope": attention.rope, "topk": attention.topk, "sample": attention.sample,
    "pool": attention.pool, "append": caches.append, "conv": recurrence.conv, "scan": recurrence.scan,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Failure:
    """Something that a unit does wrong: `where` is the value, in its section."""

    code: str
    where: str
    message: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """Global values by program name (their mesh axes gone), the states after the step, and failures."""

    outputs: Mapping[str, Value] = field(default_factory=dict)
    states: Mapping[str, Value] = field(default_factory=dict)
    failures: tuple[Failure, ...] = ()


@dataclass(slots=True)
class Machine:
    """Simulated pools at given sizes. `notice`, if given, is told what each operator does (see tally)."""

    sizes: Sizes
    arithmetic: Field | Reals = field(default_factory=Field)
    notice: Callable[..., None] | None = None
    _tokens: dict[object, Tokens] = field(default_factory=dict)

    def locals(self, unit: Unit, step: Step) -> dict[str, Local]:
        pools = {unit.pool, *self.sizes.meshes}
        for op in unit.ops:
            pools.update((op.result.pool, *(u.tensor.pool for u in op.operands)))
        made: dict[str, Local] = {}
        for pool in pools:
            grid = self.sizes.grid(pool)
            tokens = self._tokens.setdefault((grid, step), Tokens(step, grid, self.sizes.rows))
            made[pool] = Local(self.arithmetic, self.sizes, tokens, grid, {}, self.notice)
        return made

    def rules(self, tensor: Tensor, fresh: bool) -> tuple[RowRule, ...]:
        """Which rows of a state a query sees; a state of the last token has no rows."""
        if tensor.rows == "last":
            return ()
        span = self.sizes.literal(tensor.rows, tensor.span) if tensor.rows != "append" else 1
        return (RowRule(tensor.dims[1], tensor.rows, span, fresh),)

    def execute(self, unit: Unit, environment: Mapping[str, Value], step: Step) -> Outcome:
        """Run one unit. `environment` holds global values: inputs by program name, weights and states by
        their name in the unit. Wrong programs give failures, never exceptions."""
        pools = self.locals(unit, step)
        where = unit.path
        try:
            self._load(unit, environment, pools)
            for op, done in zip(unit.ops, _done(unit), strict=True):
                where = ".".join(p for p in (unit.path, op.section, op.result.name) if p)
                pools[op.result.pool].values[op.result.name] = self.run(op, unit, pools)
                for pool, name in done:
                    pools[pool].values.pop(name, None)
            where = unit.path
            return self._leave(unit, pools)
        except ExecutionError as error:
            return Outcome(failures=(Failure(error.code, where, str(error)),))
        except (ValueError, IndexError, KeyError, TypeError, OverflowError) as error:
            return Outcome(failures=(Failure("execution.shape", where, f"local shapes do not fit: {error}"),))

    def trace(self, unit: Unit, environment: Mapping[str, Value], step: Step) -> list[tuple[Tensor, Value]]:
        """Every value of a unit, whole (or its partial sums added up). Raises ExecutionError."""
        pools = self.locals(unit, step)
        self._load(unit, environment, pools)
        found: list[tuple[Tensor, Value]] = []
        for op in unit.ops:
            home = pools[op.result.pool]
            value = home.values[op.result.name] = self.run(op, unit, pools)
            kinds = {c.kind for _, c in op.result.layout if isinstance(c, Partial)}
            if "any" not in kinds:
                found.append((op.result, moves.summed(home, op.result, value)[0]))
        return found

    def run(self, op: LocalOp, unit: Unit, pools: Mapping[str, Local]) -> Value:
        local = pools[op.result.pool]
        if op.is_collective:
            origin = op.operands[0].tensor.pool
            value = moves.move(local, op, unit, None if origin == op.result.pool else pools[origin])
        else:
            function = _OPERATORS.get(op.operator)
            if function is None:
                raise ExecutionError("execution.operator", f"{op.operator} cannot be executed yet")
            value = function(local, op)
        if value.names != op.result.dims:
            raise ExecutionError(
                "execution.names",
                f"dims [{', '.join(value.names)}] must be those of the type [{', '.join(op.result.dims)}]",
            )
        if self.notice:
            self.notice("done", local, op, pools, value)
        return value

    def _load(self, unit: Unit, environment: Mapping[str, Value], pools: Mapping[str, Local]) -> None:
        for name, tensor in leaves(unit):
            value = environment.get(name)
            if value is None:
                raise ExecutionError(
                    "graph.undefined", f"{tensor.kind} {name!r} is read but nothing gives it"
                )
            home = pools[tensor.pool]
            if tensor.kind == "state":
                rules = self.rules(tensor, name not in _own(unit))
                value = Value(value.names, value.data, value.mask, rules)
            home.values[tensor.name] = moves.shared(home, tensor, value)

    def _leave(self, unit: Unit, pools: Mapping[str, Local]) -> Outcome:
        outputs: dict[str, Value] = {}
        states: dict[str, Value] = {}
        failures: list[Failure] = []
        made = {op.result.name for op in unit.ops}
        wanted = [(n, t, outputs) for n, t in unit.outputs if t.kind == "value" and t.name in made]
        wanted += [(t.name, last, states) for t, last in final_states(unit)]
        for name, tensor, into in wanted:
            home = pools[tensor.pool]
            value, agree = moves.summed(home, tensor, home.value(tensor.name))
            if not agree:
                failures.append(
                    Failure(
                        "replica.mismatch",
                        f"{unit.path}.{name}",
                        f"ranks that must hold the same {name} hold different data",
                    )
                )
            into[name] = value
        return Outcome(outputs, states, tuple(failures))


@lru_cache(maxsize=4096)
def _done(unit: Unit) -> tuple[tuple[tuple[str, str], ...], ...]:
    """By operator: the values (pool, name) that nothing needs after it, so that they need not be held.

    Choices are asked for wherever rows are routed by them, under the name in a layout or an attribute.
    """
    kept = {t.name for _, t in unit.outputs} | {t.name for _, t in final_states(unit)}
    kept |= {t.name for op in unit.ops for t in _choices(op)}
    last: dict[tuple[str, str], int] = {}
    for number, op in enumerate(unit.ops):
        for tensor in (op.result, *(u.tensor for u in op.operands)):
            if tensor.kind == "value" and tensor.name not in kept:
                last[tensor.pool, tensor.name] = number
    found: list[list[tuple[str, str]]] = [[] for _ in unit.ops]
    for value, number in last.items():
        found[number].append(value)
    return tuple(map(tuple, found))


def _choices(op: LocalOp) -> Iterator[Tensor]:
    """Values of an operator that hold positions."""
    for tensor in (op.result, *(t for u in op.operands for t in (u.tensor, u.index) if t is not None)):
        if index_dim(tensor.dtype) is not None:
            yield tensor


def _own(unit: Unit) -> frozenset[str]:
    return frozenset(t.name for t in unit.states)


def leaves(unit: Unit) -> list[tuple[str, Tensor]]:
    """What must be given: weights, states, inputs and program inputs that are read, by name."""
    made = {op.result.name for op in unit.ops}
    found: dict[str, Tensor] = dict(unit.inputs)
    inner = {t.name for t in found.values()}
    for tensor in (*unit.weights, *unit.states):
        found[tensor.name] = tensor
    for op in unit.ops:
        for use in op.operands:
            for t in (use.tensor, use.index):
                if t is not None and t.name not in made and t.name not in inner and t.name not in found:
                    found[t.name] = t
    return list(found.items())


def final_states(unit: Unit) -> list[tuple[Tensor, Tensor]]:
    """Every state that the unit holds or is given, with its last version."""
    last: dict[str, Tensor] = {}
    origin: dict[str, str] = {}
    for op in unit.ops:
        if op.operator == "append":
            before = op.operands[0].tensor.name
            root = origin.get(before, before)
            origin[op.result.name] = root
            last[root] = op.result
    given = [t for _, t in unit.inputs if t.kind == "state"]
    return [(t, last[t.name]) for t in (*unit.states, *given) if t.name in last]
