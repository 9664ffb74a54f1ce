"""Every operator in float64 against an independent computation."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from scipy import special

from rooflang.design import Design, Program, Section, Statement
from rooflang.lower import lower
from rooflang.run import Machine, Reals, Sizes, Step, Value, draw, empty, leaves
from rooflang.size import const
from tests.run.designs import op, state, weight

DIMS = {
    "B": 3, "D": 6, "H": 8, "G": 4, "J": 2, "C": 5, "R": 2, "RC": 7, "X": 6, "k": 2, "S": 10, "N": 5, "W": 10,
    "E": 4, "t": 3, "P": 2, "Z": 2,
}  # fmt: skip
STEP = Step((0, 2, 4), (5, 5, 5), 5)
Q = STEP.queries


def run(
    inputs: dict[str, str], *body: Statement, out: str, sizes: dict[str, int] | None = None
) -> tuple[Value, dict[str, np.ndarray]]:
    """The value called `out`, and what everything else was (without its level axis)."""
    given = tuple(weight(n, d) for n, d in inputs.items())
    dims = {**DIMS, **(sizes or {})}
    unit_program = Program(
        tuple((n, const(v)) for n, v in dims.items() if n != "B"), (Section("s", (*given, *body)),), (out,)
    )
    unit = lower(Design("t", unit_program)).segments[0].units[0]
    rows = frozenset(t.dims[1] for t in unit.states)
    machine = Machine(Sizes(dims, {}, rows), Reals())
    environment = {}
    for name, tensor in leaves(unit):
        if tensor.kind == "state":
            environment[name] = empty(tensor, machine.sizes, machine.arithmetic)
        else:
            environment[name] = draw(name, tensor, machine.sizes, STEP, machine.arithmetic, 0)
    outcome = machine.execute(unit, environment, STEP)
    assert not outcome.failures, outcome.failures
    found = {n: v.data[0] for n, v in environment.items()}
    return outcome.outputs[out], found


def test_einsum() -> None:
    y, v = run({"a": "B Q D", "b": "D C", "c": "Q C"}, op("y", "einsum", "a", "b", "c", dims="C B"), out="y")
    assert np.allclose(y.data[0], np.einsum("bqd,dc,qc->cb", v["a"], v["b"], v["c"]))


def test_add_mul_scale_cast() -> None:
    y, v = run(
        {"a": "B Q D", "b": "D Q"},
        op("c", "add", "a", "b"),
        op("d", "mul", "c", "b"),
        op("e", "scale", "d", by=0.25),
        op("y", "cast", "e"),
        out="y",
    )
    b = np.swapaxes(v["b"], 0, 1)[None]
    assert np.allclose(y.data[0], (v["a"] + b) * b / 4)


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("silu", lambda x: x * special.expit(x)),
        ("relu", lambda x: np.where(x > 0, x, 0)),
        ("sigmoid", special.expit),
        ("exp", lambda x: np.array([np.e ** float(y) for y in x.flat]).reshape(x.shape)),
        ("softplus", lambda x: -special.log_expit(-x)),
        ("sqrtsoftplus", lambda x: np.sqrt(np.log1p(np.exp(x)))),
    ],
)
def test_functions(name: str, function) -> None:  # type: ignore[no-untyped-def]
    y, v = run({"a": "B Q D"}, op("y", name, "a"), out="y")
    assert np.allclose(y.data[0], function(v["a"]))


def test_swiglu() -> None:
    y, v = run(
        {"a": "B D", "b": "B D"}, op("y", "swiglu", "a", "b", limit=0.5, alpha=1.7, offset=1.0), out="y"
    )
    for index, gate in np.ndenumerate(v["a"]):
        gate = min(gate, 0.5)
        up = max(min(v["b"][index], 0.5), -0.5)
        assert y.data[0][index] == pytest.approx(gate * special.expit(1.7 * gate) * (up + 1.0))


def test_norms() -> None:
    for kind, function in {
        "rms": lambda r, g: r / sqrt(sum(x * x for x in r) / len(r) + 1e-5) * g,
        "l2": lambda r, g: r / sqrt(sum(x * x for x in r) + 1e-5) * g,
    }.items():
        y, v = run({"a": "B C D", "g": "D"}, op("y", "norm", "a over D", "g", kind=kind, eps=1e-5), out="y")
        for b, c in np.ndindex(3, 5):
            assert np.allclose(y.data[0, b, c], function(v["a"][b, c], v["g"]))
    y, v = run({"a": "B C"}, op("y", "norm", "a over C", kind="sum"), out="y")
    assert np.allclose(y.data[0], v["a"] / v["a"].sum(1)[:, None])


def test_sinkhorn_is_doubly_stochastic() -> None:
    names = {"with": "J"}
    y, _ = run(
        {"a": "B G J"},
        op("y", "norm", "a over G", kind="sinkhorn", iterations=200, **names),
        out="y",
        sizes={"G": 2},
    )
    assert np.allclose(y.data[0].sum(1), 1)
    assert np.allclose(y.data[0].sum(2), 1)


def test_views() -> None:
    y, v = run(
        {"a": "B R", "b": "B C", "h": "B H"},
        op("ab", "concat", "a over R", "b over C", dims="B RC"),
        op("y", "slice", "ab over RC", start=1, dims="B C"),
        out="y",
    )
    assert np.array_equal(y.data[0], np.concatenate([v["a"], v["b"]], axis=1)[:, 1:6])
    y, v = run({"h": "B H"}, op("y", "split", "h over H", dims="G B J"), out="y")
    assert np.array_equal(y.data[0], np.transpose(v["h"].reshape(3, 4, 2), (1, 0, 2)))
    y, v = run({"h": "G B J"}, op("y", "merge", "h over G", dims="H B"), out="y")
    assert np.array_equal(y.data[0], np.transpose(v["h"], (0, 2, 1)).reshape(8, 3))


def test_topk_and_picked_einsum() -> None:
    y, v = run(
        {"g": "B Q X", "h": "B Q D", "w": "X D C"},
        op("e", "topk", "g over X", dims="B Q k"),
        op("y", "einsum", "h", "w[e]", dims="B Q k C"),
        out="y",
    )
    for b, q in np.ndindex(3, Q):
        best = sorted(range(6), key=lambda x: -v["g"][b, q, x])[:2]
        for j, x in enumerate(best):
            assert np.allclose(y.data[0, b, q, j], v["h"][b, q] @ v["w"][x])


def test_topk_of_groups() -> None:
    y, v = run({"g": "B X"}, op("y", "topk", "g over X", dims="B k", groups=3, keep=1), out="y")
    for b in range(3):
        groups = v["g"][b].reshape(3, 2)
        group = max(range(3), key=lambda i: groups[i].sum())
        assert sorted(y.data[0, b]) == [2 * group, 2 * group + 1]
        assert v["g"][b, y.data[0, b, 0]] > v["g"][b, y.data[0, b, 1]]


def test_sample() -> None:
    y, v = run({"a": "B X", "n": "B X"}, op("y", "sample", "a over X", "n"), out="y")
    assert y.data[0].tolist() == [max(range(6), key=lambda i: (v["a"] + v["n"])[b, i]) for b in range(3)]


def rotated(x: np.ndarray, position: int, last: int, sign: int = 1) -> np.ndarray:
    out = x.copy()
    pairs = last // 2
    tail = x[len(x) - last :]
    turned = (tail[::2] + 1j * tail[1::2]) * np.exp(
        sign * 1j * position / 10000.0 ** (np.arange(pairs) / pairs)
    )
    out[len(x) - last :: 2], out[len(x) - last + 1 :: 2] = turned.real, turned.imag
    return out


def test_rope() -> None:
    y, v = run({"a": "B Q G D"}, op("y", "rope", "a over D", last=4), out="y")
    z, _ = run(
        {"a": "B Q G D"}, op("b", "rope", "a over D"), op("y", "rope", "b over D", inverse=True), out="y"
    )
    w, _ = run({"a": "B Q G D"}, op("y", "rope", "a over D", inverse=True), out="y")
    for b, q, g in np.ndindex(3, Q, 4):
        assert np.allclose(y.data[0, b, q, g], rotated(v["a"][b, q, g], STEP.start[b] + q, 4))
        assert np.allclose(w.data[0, b, q, g], rotated(v["a"][b, q, g], STEP.start[b] + q, 6, -1))
    assert np.allclose(z.data[0], v["a"])


def test_attention_over_a_window_and_a_sink() -> None:
    y, v = run(
        {"q": "B Q G D", "kv": "B Q D", "sink": "G"},
        state("c", "B S D", "append"),
        state("w", "B W D", "window", 3),
        op("c", "append", "c", "kv"),
        op("w", "append", "w", "kv"),
        op("s", "einsum", "q", "c", dims="B Q G S"),
        op("t", "einsum", "q", "w", dims="B Q G W"),
        op("l", "logsumexp", "s over S", "t over W", "sink"),
        op("p", "softmax", "s", "l"),
        op("r", "softmax", "t", "l"),
        op("o", "einsum", "p", "c", dims="B Q G D"),
        op("u", "einsum", "r", "w", dims="B Q G D"),
        op("y", "add", "o", "u"),
        out="y",
    )
    for b, q, g in np.ndindex(3, Q, 4):
        rows = np.zeros((10, 6))
        rows[STEP.start[b] : STEP.start[b] + 5] = v["kv"][b]
        p = STEP.start[b] + q
        near = range(max(p - 2, 0), p + 1)
        scores = np.concatenate(
            [rows[: p + 1] @ v["q"][b, q, g], rows[list(near)] @ v["q"][b, q, g], [v["sink"][g]]]
        )
        weights = special.softmax(scores)
        expected = weights[: p + 1] @ rows[: p + 1] + weights[p + 1 : -1] @ rows[list(near)]
        assert np.allclose(y.data[0, b, q, g], expected)


@pytest.mark.parametrize("overlap", [False, True])
def test_pool(overlap: bool) -> None:
    names = "B W Z E" if overlap else "B W E"
    new = "B Q Z E" if overlap else "B Q E"
    y, v = run(
        {"a": new, "s": new, "bias": "P Z E" if overlap else "P E"},
        state("raw", names, "window", 4),
        state("score", names, "window", 4),
        op("raw", "append", "raw", "a"),
        op("score", "append", "score", "s"),
        op("y", "pool", "raw over W", "score over W", "bias", every=2, overlap=overlap),
        out="y",
    )
    for b, q in np.ndindex(3, Q):
        p = STEP.start[b] + q
        if p % 2 == 0:
            assert (y.data[0, b, q] == 0).all()
            continue
        parts = [(r, r - (p - 1), 0) for r in (p - 1, p)]
        if overlap and p >= 3:
            parts = [(r, r - (p - 3), 1) for r in (p - 3, p - 2)] + parts
        for e in range(4):
            values, scores = [], []
            for row, place, z in parts:
                i = row - STEP.start[b]
                at = (z, e) if overlap else (e,)
                values.append(v["a"][(b, i, *at)] if i >= 0 else 0.0)
                scores.append((v["s"][(b, i, *at)] if i >= 0 else 0.0) + v["bias"][(place, *at)])
            assert y.data[0, b, q, e] == pytest.approx(special.softmax(scores) @ np.array(values))


def test_rows_of_blocks_and_picked_rows() -> None:
    """A cache with one row per two tokens, ranked and read by index; want of rows gives absent picks."""
    y, v = run(
        {"kv": "B Q D", "g": "D", "h": "B Q D"},
        state("c", "B N D", "every", 2),
        op("c", "append", "c", "kv"),
        op("s", "einsum", "c", "g", dims="B N"),
        op("s2", "einsum", "h", "c", dims="B Q N"),
        op("e", "topk", "s2 over N", dims="B Q t"),
        op("y", "einsum", "h", "c[e]", dims="B Q t"),
        out="y",
    )
    for b, q in np.ndindex(3, Q):
        p = STEP.start[b] + q
        rows = []
        for r in range((p + 1) // 2):
            i = 2 * r + 1 - STEP.start[b]
            rows.append(v["kv"][b, i] @ v["h"][b, q] if i >= 0 else 0.0)
        expected = [*sorted(rows, reverse=True)[:3], 0.0, 0.0, 0.0][:3]
        assert np.allclose(y.data[0, b, q], expected)


def test_logsumexp_is_held_by_its_exponential() -> None:
    y, v = run({"a": "B X", "b": "B C"}, op("y", "logsumexp", "a over X", "b over C"), out="y")
    joint = np.concatenate([v["a"], v["b"]], axis=1)
    assert y.carrier
    assert np.allclose(np.log(y.data[0]), special.logsumexp(joint, axis=1))
