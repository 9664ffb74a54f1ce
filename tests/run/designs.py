"""Small designs and helpers for the tests of the simulated devices."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rooflang.design import (
    Attribute,
    Design,
    Mesh,
    Op,
    Operand,
    Placement,
    Pool,
    Program,
    Repeat,
    Section,
    Shard,
    State,
    Statement,
    Weight,
)
from rooflang.lower import lower
from rooflang.lowered import Lowered, Unit
from rooflang.run import Field, Machine, Reals, Sizes, Step, Trial, Value, draw, empty, leaves
from rooflang.size import const, symbol


def op(result: str, operator: str, *operands: str, dims: str | None = None, **attributes: Attribute) -> Op:
    """`x`, `x[ids]` and `x over D` as in the text."""
    uses = []
    for text in operands:
        name, _, over = text.partition(" over ")
        name, _, index = name.partition("[")
        uses.append(Operand(name, index.rstrip("]") or None, over or None))
    names = tuple(dims.split()) if dims is not None else None
    dtype = attributes.pop("dtype", None)
    return Op(
        result,
        operator,
        tuple(uses),
        tuple(attributes.items()),
        names,
        str(dtype) if dtype else None,
    )


def weight(name: str, dims: str, dtype: str = "bf16") -> Weight:
    return Weight(name, dtype, tuple(dims.split()))


def state(name: str, dims: str, rows: str = "append", span: int = 1) -> State:
    return State(name, "bf16", tuple(dims.split()), rows, span)


def attention(*, extra: tuple[Statement, ...] = ()) -> Section:
    return Section(
        "attention",
        (
            weight("wq", "D K G E"),
            weight("wk", "D K E"),
            weight("wv", "D K E"),
            weight("wo", "K G E D"),
            weight("sink", "K G"),
            state("k", "B S K E"),
            state("v", "B S K E"),
            op("h", "norm", "x over D"),
            op("q0", "einsum", "h", "wq", dims="B Q K G E"),
            op("q", "rope", "q0 over E", last=64),
            op("kk0", "einsum", "h", "wk", dims="B Q K E"),
            op("kk", "rope", "kk0 over E", last=64),
            op("vv", "einsum", "h", "wv", dims="B Q K E"),
            op("k", "append", "k", "kk"),
            op("v", "append", "v", "vv"),
            op("s", "einsum", "q", "k", dims="B Q K G S"),
            op("l", "logsumexp", "s over S", "sink"),
            op("p", "softmax", "s", "l"),
            op("o", "einsum", "p", "v", dims="B Q K G E"),
            op("y", "einsum", "o", "wo", dims="B Q D"),
            op("x", "add", "x", "y"),
            *extra,
        ),
    )


def moe() -> Section:
    return Section(
        "moe",
        (
            weight("router", "D X"),
            op("hm", "norm", "x over D"),
            op("g", "einsum", "hm", "router", dims="B Q X"),
            op("e", "topk", "g over X", dims="B Q k"),
            op("gs", "sigmoid", "g"),
            op("w", "gather", "gs[e]"),
            op("wn", "norm", "w over k", kind="sum"),
            Section(
                "experts",
                (
                    weight("up", "X D F", "mxfp4"),
                    weight("gate", "X D F", "mxfp4"),
                    weight("dn", "X F D", "mxfp4"),
                    op("u", "einsum", "hm", "up[e]", dims="B Q k F"),
                    op("ga", "einsum", "hm", "gate[e]", dims="B Q k F"),
                    op("a", "swiglu", "ga", "u", limit=7.0),
                    op("z0", "einsum", "a", "dn[e]", dims="B Q k D"),
                ),
            ),
            op("z", "einsum", "z0", "wn", dims="B Q D"),
            op("x", "add", "x", "z"),
        ),
    )


SIZES: Mapping[str, int] = {
    "D": 8192, "K": 8, "G": 16, "E": 128, "F": 2048, "X": 64, "k": 4, "V": 100000,
}  # fmt: skip


def program(*sections: Section, extra: Mapping[str, object] | None = None) -> Program:
    sizes = {n: const(v) for n, v in SIZES.items()}
    dims = (*sizes.items(), ("S", symbol("S")), *((extra or {}).items()))
    from rooflang.design import Input

    return Program(
        dims,  # type: ignore[arg-type]
        (
            Input("ids", "index<V>", ("B", "Q")),
            weight("emb", "V D"),
            op("x", "gather", "emb[ids]"),
            Repeat("layer", 80, sections),
        ),
        ("x",),
    )


def design(
    program_: Program, axes: str = "", *shards: str, homes: Mapping[str, str] | None = None, **pools: str
) -> Design:
    """`axes` is `dp=2 tp=4`; a shard is `section: dim over axis ...`; other pools by keyword."""
    meshes = {"main": axes, **pools}
    lines = []
    for text in shards:
        target, _, rest = text.partition(": ")
        dim, _, names = rest.partition(" over ")
        lines.append(Shard(target, dim, tuple(names.split())))
    made = tuple(
        Mesh(p, tuple((a.split("=")[0], int(a.split("=")[1])) for a in text.split()))
        for p, text in meshes.items()
        if text
    )
    return Design(
        "test",
        program_,
        tuple(Pool(p, "h100-sxm", 8) for p in meshes),
        Placement(made, tuple(lines), tuple((homes or {}).items())),
    )


def unit_of(lowered: Lowered, path: str) -> Unit:
    return next(u for _, u in lowered.units() if u.path == path)


def reference(d: Design) -> Lowered:
    return lower(d.with_(pools=(), placement=Placement()))


def run_steps(
    unit: Unit,
    sizes: Sizes,
    steps: tuple[Step, ...],
    arithmetic: Field | Reals | None = None,
    given: Mapping[str, Value] | None = None,
    seed: int = 0,
) -> tuple[list[Mapping[str, Value]], dict[str, Value], list[object]]:
    """Outputs per step, final states, failures. Fresh inputs per step; states start empty."""
    machine = Machine(sizes, arithmetic or Field())
    states: dict[str, Value] = {}
    outputs = []
    own = {t.name for t in unit.states}
    for number, step in enumerate(steps):
        environment = {}
        for name, tensor in leaves(unit):
            if name in own:
                environment[name] = states.get(name) or empty(tensor, sizes, machine.arithmetic)
            elif given and name in given:
                environment[name] = given[name]
            else:
                key = name if tensor.kind == "weight" else f"{name}/{number}"
                environment[name] = draw(key, tensor, sizes, step, machine.arithmetic, seed)
        outcome = machine.execute(unit, environment, step)
        if outcome.failures:
            return outputs, states, list(outcome.failures)
        states.update(outcome.states)
        outputs.append(outcome.outputs)
    return outputs, states, []


def same(a: Value, b: Value, exists: np.ndarray | None = None) -> bool:
    """Equal at the levels that both have, at tokens that exist."""
    levels = min(len(a.data), len(b.data))
    equal = a.data[:levels] == b.data[:levels]
    if exists is not None and "Q" in a.names:
        place = tuple(a.names.index(n) for n in ("B", "Q"))
        shape = [exists.shape[place.index(i)] if i in place else 1 for i in range(len(a.names))]
        equal = equal | ~exists.reshape(shape)
    return a.names == b.names and bool(equal.all())


def trial_run(lowered: Lowered, path: str, trial: Trial, seed: int = 0):  # type: ignore[no-untyped-def]
    return run_steps(unit_of(lowered, path), trial.sizes, trial.steps, seed=seed)
