"""Layer 2: two units run on simulated devices from the same random inputs, and are compared exactly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from mutations.verify.pairing import keys
from mutations.verify.verdict import Reason
from rooflang.lowered import LocalOp, Tensor, Unit, Use
from rooflang.run import (
    ExecutionError,
    Field,
    Machine,
    Outcome,
    Reals,
    Step,
    Trial,
    Value,
    draw,
    empty,
    leaves,
)

Environment = dict[str, Value]
Unequal = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two units, with names for its weights and states that both sides share."""

    unit: Unit
    weights: Mapping[str, str]
    states: Mapping[str, str]

    @property
    def kinds(self) -> dict[str, Tensor]:
        return {self.weights[t.name]: t for t in self.unit.weights} | {
            self.states[t.name]: t for t in self.unit.states
        }


def side(unit: Unit) -> Side:
    return Side(unit, keys(unit, unit.weights), keys(unit, unit.states))


def correspond(path: str, reference: Side, candidate: Side) -> tuple[Reason, ...]:
    """Weights and states must be those of the reference, but for weights that are derived from them."""
    found: list[Reason] = []
    ours, theirs = reference.kinds, candidate.kinds
    for key, tensor in theirs.items():
        known = ours.get(key)
        where = f"{path}.{key.partition('#')[0]}"
        if tensor.derived is not None and (known is None or known.derived is None):
            continue
        if known is None or known.kind != tensor.kind:
            found.append(
                Reason("graph.unknown", where, f"{tensor.kind} {where} is not one of the reference's")
            )
        elif set(known.dims) != set(tensor.dims):
            dims = [", ".join(t.dims) for t in (known, tensor)]
            message = f"{tensor.kind} must have the dims [{dims[0]}], but has [{dims[1]}]"
            found.append(Reason("type.dims", where, message))
        elif (known.rows, known.span) != (tensor.rows, tensor.span):
            message = (
                f"a state of {known.rows} {known.span} must not become one of {tensor.rows} {tensor.span}"
            )
            found.append(Reason("type.state", where, message))
    for key, tensor in ours.items():
        if key not in theirs and tensor.kind == "state":
            where = f"{path}.{key.partition('#')[0]}"
            found.append(Reason("graph.state", where, "a state of the reference must be kept, but is gone"))
    return tuple(found)


class Runner:
    """One side through the steps of a trial."""

    def __init__(
        self,
        here: Side,
        shapes: Mapping[str, Tensor],
        trial: Trial,
        seed: int,
        draws: dict[tuple[str, tuple[str, ...]], Value] | None = None,
        arithmetic: Field | Reals | None = None,
    ) -> None:
        self.side, self.trial, self.seed = here, trial, seed
        self.machine = Machine(trial.sizes, arithmetic or Field())
        self.shapes = shapes  # the tensors of the reference, whose dims order the random draws
        self.draws = {} if draws is None else draws  # shared by both sides
        self.states: Environment = {}
        self.fixed: Environment = {}
        self.leaves = leaves(here.unit)

    def environment(self, number: int, step: Step) -> Environment:
        found: Environment = {}
        given = {n for n, _ in self.side.unit.inputs}
        derived: list[Tensor] = []
        for name, tensor in self.leaves:
            if name in given:
                found[name] = self._draw(f"given/{name}", tensor, step, number)
            elif name in self.side.states:
                found[name] = self.states.get(name) or self._empty(tensor)
            elif name in self.side.weights:
                if name not in self.fixed and tensor.derived is not None:
                    derived.append(tensor)
                    continue
                if name not in self.fixed:
                    self.fixed[name] = self._draw(self.side.weights[name], tensor, step, 0)
                found[name] = self.fixed[name]
            else:
                found[name] = self._draw(f"given/{name}", tensor, step, number)
        for tensor in derived:
            self.fixed[tensor.name] = found[tensor.name] = self._derive(tensor, {**found, **self.fixed})
        return found

    def _draw(self, label: str, tensor: Tensor, step: Step, number: int) -> Value:
        """Random contents in the order of the reference's dims, turned to this tensor's. Weights are the
        same in all steps."""
        shape = self.shapes.get(label)
        like = tensor if shape is None else replace(tensor, dims=shape.dims)
        name = label if tensor.kind == "weight" else f"{label}/{number}"
        key = (name, like.dims)
        value = self.draws.get(key)
        if value is None:
            value = draw(name, like, self.trial.sizes, step, self.machine.arithmetic, self.seed)
            self.draws[key] = value
        if like.dims == tensor.dims:
            return value
        order = [0, *(1 + like.dims.index(d) for d in tensor.dims)]
        return Value(tensor.dims, value.data.transpose(order), value.mask, index=value.index)

    def _empty(self, tensor: Tensor) -> Value:
        return empty(tensor, self.trial.sizes, self.machine.arithmetic)

    def _derive(self, tensor: Tensor, known: Environment) -> Value:
        """A derived weight, by its formula, whole on one device."""
        op = tensor.derived
        if op is None:
            raise ValueError(f"{tensor.name} is not derived")
        prefix = tensor.name.rpartition(".")[0]
        uses = []
        values = {}
        for operand in op.operands:
            inner = f"{prefix}.{operand.name}" if prefix else operand.name
            name = inner if inner in known else operand.name
            t = Tensor(name, "weight", known[name].names, "bf16", (), "whole")
            values[name] = known[name]
            uses.append(Use(t, None, operand.over))
        result = Tensor(tensor.name, "value", tensor.dims, tensor.dtype, (), "whole")
        local = LocalOp(op.operator, result, tuple(uses), op.attributes)
        unit = Unit(
            "derived",
            "whole",
            (local,),
            tuple((u.tensor.name, u.tensor) for u in uses),
            (("w", result),),
            (),
            (),
        )
        machine = Machine(replace(self.trial.sizes, meshes={"whole": ()}), self.machine.arithmetic)
        outcome = machine.execute(unit, values, self.trial.steps[0])
        if outcome.failures:
            wrong = outcome.failures[0]
            raise ExecutionError(wrong.code, f"the derived weight {tensor.name} fails: {wrong.message}")
        return outcome.outputs["w"]

    def step(self, number: int, step: Step) -> Outcome:
        outcome = self.machine.execute(self.side.unit, self.environment(number, step), step)
        self.states.update(outcome.states)
        return outcome


def differs(a: Value, b: Value, exists: np.ndarray | None, unequal: Unequal = np.not_equal) -> str:
    """How two global values differ, or nothing. Tokens that do not exist are not compared."""
    if set(a.names) != set(b.names):
        return f"has dims [{', '.join(b.names)}] where the reference has [{', '.join(a.names)}]"
    order = [b.names.index(n) for n in a.names]
    levels = min(len(a.data), len(b.data))
    if a.data.shape[1:] != tuple(b.data.shape[1 + o] for o in order):
        return "does not have the sizes that it must have: its layout is not what it claims"
    wrong = unequal(a.data[:levels], b.data[:levels].transpose([0, *(1 + o for o in order)]))
    if exists is not None and {"B", "Q"} <= set(a.names):
        place = [a.names.index("B"), a.names.index("Q")]
        turned = exists if place[0] < place[1] else exists.T
        wrong = wrong & turned.reshape([n if i in place else 1 for i, n in enumerate(wrong.shape[1:])])
    if a.mask is not None or b.mask is not None:
        seen = [_exists(v, a.names, wrong.shape[1:]) for v in (a, b)]
        hidden = seen[0] != seen[1]
        if exists is not None and {"B", "Q"} <= set(a.names):
            hidden = hidden & turned.reshape([n if i in place else 1 for i, n in enumerate(hidden.shape)])
        if hidden.any():
            return "exists for other tokens or rows than in the reference"
    if not wrong.any():
        return ""
    first = np.argwhere(wrong.any(axis=0))[0]
    at = ", ".join(f"{n}={i}" for n, i in zip(a.names, first, strict=True))
    share = wrong.any(axis=0).mean()
    return f"differs in {share:.0%} of its entries, first at {at}"


def _exists(v: Value, names: tuple[str, ...], shape: tuple[int, ...]) -> np.ndarray:
    if v.mask is None:
        return np.ones(shape, dtype=bool)
    order = [v.mask.names.index(n) for n in names if n in v.mask.names]
    array = v.mask.array.transpose(order)
    sizes = iter(array.shape)
    return np.broadcast_to(array.reshape([next(sizes) if n in v.mask.names else 1 for n in names]), shape)
