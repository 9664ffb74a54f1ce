"""Short convolution and linear recurrence against loops over tokens, and over steps and layouts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from rooflang.design import Design, Input, Op, Program, Section, Statement
from rooflang.errors import DesignError
from rooflang.lower import lower
from rooflang.lowered import Tensor
from rooflang.run import Field, Reals, Sizes, Step, Value, draw, leaves
from rooflang.size import const
from rooflang.typing import type_program
from tests.run.designs import op, run_steps, same, state

# Three sequences over two steps: ragged, one that adds nothing in the second, one that has only begun.
STEPS = (Step((0, 0, 0), (4, 5, 1), 5), Step((4, 5, 1), (2, 0, 3), 3))
DIMS = {"G": 2, "J": 2, "H": 4, "K": 4, "V": 6, "C": 5, "A": 4, "W": 3}
TYPES = {
    "grouped": {"k": "B Q G K", "v": "B Q G J V", "beta": "B Q G J", "s": "B G J K V", "q": "B Q G K"},
    "alone": {"k": "B Q H K", "v": "B Q H V", "beta": "B Q H", "s": "B H K V", "q": "B Q H K"},
}


def inputs(**dims: str) -> tuple[Statement, ...]:
    return tuple(Input(name, "f32", tuple(d.split())) for name, d in dims.items())


def section(*body: Statement, sizes: Mapping[str, int] = DIMS, out: str = "y") -> Program:
    given = tuple(s for s in body if isinstance(s, Input))
    rest = tuple(s for s in body if not isinstance(s, Input))
    dims = tuple((n, const(v)) for n, v in sizes.items())
    return Program(dims, (*given, Section("mix", rest)), (out,))


def recurrence(kind: str, decay: str, delta: bool = True, *extra: Op) -> Program:
    t = TYPES[kind]
    given = {n: t[n] for n in ("k", "v", "q", *(["beta"] if delta else []))}
    read = t["v"]
    return section(
        *inputs(**given, decay=decay),
        state("s", t["s"], "last"),
        op("h", "scan", "s", "k", "v", "decay", *(["beta"] if delta else [])),
        op("s", "append", "s", "h"),
        op("y", "einsum", "q", "h", dims=read),
        *extra,
    )


def executed(program: Program, steps: tuple[Step, ...] = STEPS) -> tuple[list[np.ndarray], np.ndarray]:
    """The value `y` of every step, and the final state, in float64 on fresh inputs per step."""
    unit = lower(Design("t", program)).segments[-1].units[-1]
    rows = frozenset(t.dims[1] for t in unit.states if t.rows != "last")
    sizes = Sizes({**DIMS, "B": 3, **({"W": 12} if rows else {})}, {}, rows)
    outputs, states, failures = run_steps(unit, sizes, steps, Reals())
    assert not failures, failures
    (final,) = states.values()
    return [o["y"].data[0] for o in outputs], final.data[0]


def drawn(name: str, dims: str, number: int) -> np.ndarray:
    """What the run was given under this name in this step."""
    tensor = Tensor(name, "input", tuple(dims.split()), "f32", (), "main")
    sizes = Sizes({**DIMS, "B": 3})
    return draw(f"{name}/{number}", tensor, sizes, STEPS[number], Reals(), 0).data[0]


@pytest.mark.parametrize("decay", ["B Q G J", "B Q G K", "B Q G J K", "G J"])
@pytest.mark.parametrize("delta", [True, False])
def test_scan_is_a_loop_over_tokens(decay: str, delta: bool) -> None:
    got, final = executed(recurrence("grouped", decay, delta))
    t = TYPES["grouped"]
    now = np.zeros((3, 2, 2, 4, 6))
    for number, step in enumerate(STEPS):
        x = {n: drawn(n, t[n], number) for n in ("k", "v", "q", "beta")}
        a = drawn("decay", decay, number)
        for b in range(3):
            for i in range(step.valid[b]):
                for g, j in np.ndindex(2, 2):
                    place = {"B": b, "Q": i, "G": g, "J": j}
                    at = a[tuple(place.get(n, slice(None)) for n in decay.split())]
                    key, value = x["k"][b, i, g], x["v"][b, i, g, j]
                    old = np.diag(np.broadcast_to(at, 4)) @ now[b, g, j]
                    if delta:
                        value = x["beta"][b, i, g, j] * (value - old.T @ key)
                    now[b, g, j] = old + np.outer(key, value)
                    expected = now[b, g, j].T @ x["q"][b, i, g]
                    assert np.allclose(got[number][b, i, g, j], expected)
    assert np.allclose(final, now)


def test_conv_sees_tokens_of_earlier_steps() -> None:
    program = section(
        *inputs(x="B Q C", w="A C"),
        state("rows", "B W C", "window", 3),
        op("y", "conv", "x", "w over A", "rows"),
        op("rows", "append", "rows", "x"),
    )
    got, _ = executed(program)
    taps = [drawn("w", "A C", number) for number in range(2)]
    history = {b: [np.zeros(5)] * 3 for b in range(3)}
    for number, step in enumerate(STEPS):
        x = drawn("x", "B Q C", number)
        for b in range(3):
            for i in range(step.valid[b]):
                history[b] = [*history[b], x[b, i]]
                for c in range(5):
                    recent = [row[c] for row in history[b][-4:]]
                    assert got[number][b, i, c] == pytest.approx(float(np.dot(recent, taps[number][:, c])))


def test_one_step_of_many_tokens_is_many_steps_of_one() -> None:
    """The state after every token is exact in the field, so steps may be cut anywhere."""
    program = recurrence("alone", "B Q H")
    unit = lower(Design("t", program)).segments[-1].units[-1]
    sizes = Sizes({**DIMS, "B": 1})
    steps = tuple(Step((token,), (1,), 1) for token in range(6))
    apart, kept, failures = run_steps(unit, sizes, steps)
    assert not failures
    tokens = {
        name: [draw(f"{name}/{n}", tensor, sizes, step, Field(), 0) for n, step in enumerate(steps)]
        for name, tensor in leaves(unit)
        if tensor.kind == "input"
    }
    whole = {
        name: Value(found[0].names, np.concatenate([v.data for v in found], axis=2))
        for name, found in tokens.items()
    }
    once, final, failures = run_steps(unit, sizes, (Step((0,), (6,), 6),), given=whole)
    assert not failures
    joined = np.concatenate([outputs["y"].data for outputs in apart], axis=2)
    assert np.array_equal(once[0]["y"].data, joined)
    assert all(same(kept[n], final[n]) for n in final)


WRONG = {
    "scan needs a state of kind last": (
        {"s": "B G J K V", "k": "B Q G K", "v": "B Q G J V", "a": "B Q G"},
        op("y", "scan", "s", "k", "v", "a"),
    ),
    "keys with a name that values lack": (
        {"k": "B Q G J V", "v": "B Q G J V", "a": "B Q G"},
        state("s", "B G J V", "last"),
        op("y", "scan", "s", "k", "v", "a"),
    ),
    "names of its keys and its values": (
        {"k": "B Q G K", "v": "B Q G V", "a": "B Q G"},
        state("s", "B G J K V", "last"),
        op("y", "scan", "s", "k", "v", "a"),
    ),
    "beta must have names of its state": (
        {"k": "B Q G K", "v": "B Q G V", "a": "B Q G", "b": "B Q G K"},
        state("s", "B G K V", "last"),
        op("y", "scan", "s", "k", "v", "a", "b"),
    ),
    "a window of one row less": (
        {"x": "B Q C", "w": "A C"},
        state("rows", "B W C", "window", 4),
        op("y", "conv", "x", "w over A", "rows"),
    ),
    "of the same channels": (
        {"x": "B Q C", "w": "A V"},
        state("rows", "B W C", "window", 3),
        op("y", "conv", "x", "w over A", "rows"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("message", WRONG)
def test_what_does_not_fit_is_refused_in_words(message: str) -> None:
    given, *body = WRONG[message]
    with pytest.raises(DesignError, match=message):
        type_program(section(*inputs(**given), *body))
