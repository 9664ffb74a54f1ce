"""Whole sections on simulated meshes equal the same sections on one device, exactly."""

from __future__ import annotations

import numpy as np
import pytest

from rooflang.design import Design, Section
from rooflang.lower import lower
from rooflang.run import Field, Step, Value, draw, leaves, shrink
from rooflang.size import const, floordiv, symbol
from tests.run.designs import (
    attention,
    design,
    moe,
    op,
    program,
    reference,
    run_steps,
    same,
    state,
    unit_of,
    weight,
)  # fmt: skip

SPARSE_SIZES = {
    "N": floordiv(symbol("S"), 4), "M": floordiv(symbol("S"), 128), "W": const(128), "t": const(512),
    "Z": const(2),
    "P": const(4), "C": const(448), "R": const(64), "CR": const(512), "J": const(32), "H": const(64),
    "Y": const(192),
}  # fmt: skip


def sparse() -> Section:
    """Compressed attention: a window, rows of 4 tokens chosen by an indexer, and rows of 128 tokens."""
    return Section(
        "sparse",
        (
            weight("wq", "D H CR"),
            weight("wkv", "D CR"), weight("wraw", "D Z CR"), weight("wscore", "D Z CR"),
            weight("bias", "P Z CR"), weight("wraw2", "D CR"), weight("wi", "D J R"), weight("wki", "D R"),
            weight("wo", "H CR D"), weight("sink", "H"), weight("wout", "Y D"), weight("wy", "D Y"),
            state("kv", "B W CR", "window", 128),
            state("raw", "B W Z CR", "window", 8), state("score", "B W Z CR", "window", 8),
            state("raw2", "B W CR", "window", 128), state("score2", "B W CR", "window", 128),
            state("ci", "B N R", "every", 4), state("c", "B N CR", "every", 4),
            state("c2", "B M CR", "every", 128),
            op("h", "norm", "x over D"),
            op("q0", "einsum", "h", "wq", dims="B Q H CR"),
            op("q", "rope", "q0 over CR", last=64),
            op("k0", "einsum", "h", "wkv", dims="B Q CR"),
            op("k1", "rope", "k0 over CR", last=64),
            op("kv", "append", "kv", "k1"),
            op("r", "einsum", "h", "wraw", dims="B Q Z CR"),
            op("sc", "einsum", "h", "wscore", dims="B Q Z CR"),
            op("raw", "append", "raw", "r"), op("score", "append", "score", "sc"),
            op("pc", "pool", "raw over W", "score over W", "bias", every=4, overlap=True),
            op("pn", "norm", "pc over CR"),
            op("pr", "rope", "pn over CR", last=64, every=4),
            op("c", "append", "c", "pr"),
            op("ki0", "slice", "pn over CR", start=448, dims="B Q R"),
            op("ki", "quantize", "ki0 over R", block=32),
            op("ci", "append", "ci", "ki"),
            op("r2", "einsum", "h", "wraw2", dims="B Q CR"),
            op("raw2", "append", "raw2", "r2"), op("score2", "append", "score2", "k0"),
            op("pc2", "pool", "raw2 over W", "score2 over W", every=128),
            op("pn2", "norm", "pc2 over CR"),
            op("c2", "append", "c2", "pn2"),
            op("qi", "einsum", "h", "wi", dims="B Q J R"),
            op("si0", "einsum", "qi", "ci", dims="B Q J N"),
            op("si1", "relu", "si0"),
            op("si", "einsum", "si1", dims="B Q N"),
            op("e", "topk", "si over N", dims="B Q t"),
            op("s1", "einsum", "q", "kv", dims="B Q H W"),
            op("s2", "einsum", "q", "c[e]", dims="B Q H t"),
            op("s3", "einsum", "q", "c2", dims="B Q H M"),
            op("l", "logsumexp", "s1 over W", "s2 over t", "s3 over M", "sink"),
            op("p1", "softmax", "s1", "l"), op("p2", "softmax", "s2", "l"), op("p3", "softmax", "s3", "l"),
            op("o1", "einsum", "p1", "kv", dims="B Q H CR"),
            op("o2", "einsum", "p2", "c[e]", dims="B Q H CR"),
            op("o3", "einsum", "p3", "c2", dims="B Q H CR"),
            op("o4", "add", "o1", "o2"), op("o5", "add", "o4", "o3"),
            op("o", "rope", "o5 over CR", last=64, inverse=True),
            op("y", "einsum", "o", "wo", dims="B Q D"),
            op("x", "add", "x", "y"),
        ),
    )  # fmt: skip


PLACEMENTS = [
    ("attention", "tp=4", ("attention: K over tp",), {}),
    ("attention", "dp=2 tp=4", ("attention: B over dp", "attention: K over tp"), {}),
    ("attention", "dp=2 cp=4", ("attention: B over dp", "attention: S over cp"), {}),
    ("attention", "cp=2 tp=4", ("attention: S over cp", "attention: K over tp"), {}),
    ("attention", "cp=4", ("attention: Q over cp",), {}),
    ("attention", "a=2 b=4", ("attention: S over a b",), {}),
    (
        "attention",
        "dp=2 cp=2 tp=2",
        ("attention: B over dp", "attention: S over cp", "attention: K over tp"),
        {},
    ),
    ("moe", "ep=8", ("experts: X over ep",), {}),
    ("moe", "ep=8", ("moe: B over ep", "experts: X over ep"), {}),
    ("moe", "dp=2 tp=4", ("moe: B over dp", "experts: X over tp"), {}),
    ("moe", "dp=2 tp=4", ("moe: B over dp tp", "experts: X over dp tp"), {}),
    ("moe", "dp=2 tp=4", ("moe: B over tp", "experts: X over dp tp"), {}),
    ("moe", "tp=4", ("moe: F over tp",), {}),
    ("moe", "dp=2 tp=4", ("moe: B over dp", "experts: X over dp", "experts: F over tp"), {}),
    ("moe", "dp=2 tp=4", ("moe: B over dp tp", "experts: X over dp", "experts: F over tp"), {}),
    ("moe", "dp=2 tp=4", ("moe: B over dp tp", "experts: X over ep"), {"experts": "ex"}),
    ("moe", "tp=2", ("moe: X over tp",), {}),
    ("sparse", "dp=2 tp=4", ("sparse: B over dp", "sparse: H over tp"), {}),
    ("sparse", "tp=4", ("sparse: H over tp", "sparse: J over tp"), {}),
    ("sparse", "cp=4", ("sparse: N over cp",), {}),
    ("sparse", "cp=4 dp=2", ("sparse: N over cp", "sparse: M over cp", "sparse: B over dp"), {}),
    ("sparse", "cp=4 tp=2", ("sparse: N over cp", "sparse: H over tp"), {}),
]


def built(section: str, axes: str, shards: tuple[str, ...], homes: dict[str, str]) -> Design:
    body = {"attention": attention, "moe": moe, "sparse": sparse}[section]()
    made = program(body, extra=SPARSE_SIZES if section == "sparse" else None)
    return design(made, axes, *shards, homes=homes, **({"ex": "ep=8"} if homes else {}))


@pytest.mark.parametrize("variant", [0, 1])
@pytest.mark.parametrize(("section", "axes", "shards", "homes"), PLACEMENTS)
def test_a_placed_section_equals_the_section(
    section: str, axes: str, shards: tuple[str, ...], homes: dict[str, str], variant: int
) -> None:
    d = built(section, axes, shards, homes)
    placed, plain = lower(d), reference(d)
    trial = shrink([plain, placed], variant)
    path = f"layer.{section}"
    got, states, failures = run_steps(unit_of(placed, path), trial.sizes, trial.steps)
    assert not failures
    want, wanted, failures = run_steps(unit_of(plain, path), trial.sizes, trial.steps)
    assert not failures
    for step, a, b in zip(trial.steps, got, want, strict=True):
        assert all(same(a[n], b[n], step.exists) for n in b)
        assert any(step.exists.any() and (v.data != 0).any() for v in b.values())
    assert set(states) == set(wanted)
    assert all(same(states[n], wanted[n]) for n in wanted)


@pytest.mark.parametrize("section", ["attention", "sparse"])
def test_ragged_steps_equal_one_step(section: str) -> None:
    d = built(section, "", (), {})
    lowered = reference(d)
    trial = shrink([lowered])
    unit = unit_of(lowered, f"layer.{section}")
    batch = trial.sizes.dim("B")
    whole = Step((0,) * batch, (8,) * batch, 8)
    tensor = dict(leaves(unit))["x"]
    x = draw("x", tensor, trial.sizes, whole, Field(), 0)
    once, final, failures = run_steps(unit, trial.sizes, (whole,), given={"x": x})
    assert not failures
    machine_states: dict[str, Value] = {}
    from rooflang.run import Machine, empty

    machine = Machine(trial.sizes)
    for step in trial.steps:
        part = np.zeros((3, batch, step.queries, x.data.shape[-1]), dtype=np.uint64)
        for b in range(batch):
            part[:, b, : step.valid[b]] = x.data[:, b, step.start[b] : step.end[b]]
        environment = {"x": Value(x.names, part)}
        for name, t in leaves(unit):
            if t.kind == "state":
                environment[name] = machine_states.get(name) or empty(t, trial.sizes, machine.arithmetic)
            elif name != "x":
                environment[name] = draw(name, t, trial.sizes, step, machine.arithmetic, 0)
        outcome = machine.execute(unit, environment, step)
        assert not outcome.failures
        machine_states.update(outcome.states)
        for b in range(batch):
            levels = min(len(once[0]["x"].data), len(outcome.outputs["x"].data))
            assert np.array_equal(
                outcome.outputs["x"].data[:levels, b, : step.valid[b]],
                once[0]["x"].data[:levels, b, step.start[b] : step.end[b]],
            )
    assert all(same(machine_states[n], final[n]) for n in final)


def test_experts_equal_a_loop_over_experts() -> None:
    d = built("moe", "ep=8", ("moe: B over ep", "experts: X over ep"), {})
    lowered = lower(d)
    trial = shrink([lowered])
    unit = unit_of(lowered, "layer.moe")
    step = trial.steps[0]
    f = Field()
    given = {n: draw(n, t, trial.sizes, step, f, 0) for n, t in leaves(unit)}
    got, _, failures = run_steps(unit, trial.sizes, (step,), given=given)
    assert not failures
    from rooflang.run.contract import contract
    from rooflang.run.field import word

    x = given["x"].data

    def ein(a: np.ndarray, an: str, b: np.ndarray, bn: str, out: str) -> np.ndarray:
        return contract(f, [(a, ("%", *an.split())), (b, ("%", *bn.split()))], ("%", *out.split()))

    square = f.reduce(f.mul(x[:1], x[:1]).sum(axis=-1, keepdims=True))
    h = f.hash(word("norm", (), ""), x[0], square[0], np.full_like(square[0], x.shape[-1]))
    g = ein(h, "B Q D", given["router"].data, "D X", "B Q X")
    gate = f.hash(word("sigmoid", (), ""), g[0])
    k = trial.sizes.dim("k")
    order = np.argsort(-g[0].astype(np.int64), axis=-1)[..., :k]
    chosen = (order[..., None] == np.arange(g.shape[-1])).any(axis=-2)
    total = f.inverse(f.reduce((gate * chosen).sum(axis=-1, keepdims=True)))
    z = np.zeros_like(x)
    for expert in range(g.shape[-1]):
        u = ein(h, "B Q D", given["experts.up"].data[:, expert], "D F", "B Q F")
        a = ein(h, "B Q D", given["experts.gate"].data[:, expert], "D F", "B Q F")
        s = f.hash(word("swiglu", (("limit", "7.0"),), ""), a[0], u[0]) * (a[0] != 0)
        y = ein(s, "B Q F", given["experts.dn"].data[:, expert], "F D", "B Q D")
        w = f.mul(gate[..., expert : expert + 1], total) * chosen[..., expert : expert + 1]
        z = f.add(z, f.mul(y, w))
    assert np.array_equal(got[0]["x"].data, f.add(x, z))
