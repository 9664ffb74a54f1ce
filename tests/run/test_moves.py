"""Collectives: cut, move, put together = the same global value."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rooflang.layout import Cell, Layout, Partial, Split, layout_of
from rooflang.lower import convert
from rooflang.lowered import Tensor, Unit, Use
from rooflang.run import Field, Machine, Sizes, Step, Value
from rooflang.run.local import Local
from rooflang.run.moves import placed, shared, summed, whole
from rooflang.run.tokens import Tokens

AXES = ("a", "b", "c")
SIZES = Sizes(
    {"B": 12, "H": 24, "S": 12, "X": 12},
    {"main": (("a", 2), ("b", 3), ("c", 2)), "far": (("d", 2), ("e", 3))},
    frozenset({"S"}),
)
STEP = Step((0,) * 12, (1,) * 12, 1)
cells = st.sampled_from([None, Split("B"), Split("H"), Split("S"), Partial("sum")])
goals = st.sampled_from([None, Split("B"), Split("H"), Split("S")])


def devices() -> dict[str, Local]:
    made = {}
    for pool in SIZES.meshes:
        grid = SIZES.grid(pool)
        made[pool] = Local(Field(), SIZES, Tokens(STEP, grid, SIZES.rows), grid, {})
    return made


def tensor(layout: Layout, pool: str = "main") -> Tensor:
    return Tensor("x", "value", ("B", "S", "H"), "bf16", layout, pool)


def random_value() -> Value:
    return Value(("B", "S", "H"), Field().random(np.random.default_rng(0), (3, 12, 12, 24), 3))


def execute(pools: dict[str, Local], ops: list) -> None:  # type: ignore[type-arg]
    machine = Machine(SIZES)
    unit = Unit("u", "main", tuple(ops), (), (), (), ())
    for op in ops:
        pools[op.result.pool].values[op.result.name] = machine.run(op, unit, pools)


@settings(deadline=None, max_examples=150)
@given(st.tuples(cells, cells, cells), st.tuples(goals, goals, goals))
def test_conversions_keep_the_global_value(have: tuple[Cell, ...], want: tuple[Cell, ...]) -> None:
    pools = devices()
    source = tensor(layout_of(dict(zip(AXES, have, strict=True)), AXES))
    value = random_value()
    pools["main"].values["x"] = shared(pools["main"], source, value)
    ops, result = convert.apply(source, dict(zip(AXES, want, strict=True)), AXES, "u", "@")
    execute(pools, ops)
    got, agree = whole(pools["main"], result, pools["main"].values[result.name])
    assert agree
    assert np.array_equal(got.data, value.data)


@settings(deadline=None, max_examples=60)
@given(st.tuples(cells, cells, cells), st.tuples(goals, goals))
def test_sends_keep_the_global_value(have: tuple[Cell, ...], want: tuple[Cell, ...]) -> None:
    pools = devices()
    source = tensor(layout_of(dict(zip(AXES, have, strict=True)), AXES))
    value = random_value()
    pools["main"].values["x"] = shared(pools["main"], source, value)
    ops, result = convert.send(source, {"d": want[0], "e": want[1]}, "far", ("d", "e"), "u", "@")
    execute(pools, ops)
    got, agree = whole(pools["far"], result, pools["far"].values[result.name])
    assert agree
    assert np.array_equal(got.data, value.data)


@settings(deadline=None, max_examples=60)
@given(st.tuples(goals, goals, goals))
def test_keep_gives_every_entry_one_holder(have: tuple[Cell, ...]) -> None:
    pools = devices()
    source = tensor(layout_of(dict(zip(AXES, have, strict=True)), AXES))
    value = random_value()
    pools["main"].values["x"] = placed(pools["main"], source, value)
    ops, result = convert.apply(source, {a: Partial("one") for a in AXES}, AXES, "u", "@")
    execute(pools, ops)
    got, agree = summed(pools["main"], result, pools["main"].values[result.name])
    assert agree
    assert np.array_equal(got.data, value.data)
    held = pools["main"].values[result.name].mask
    assert held is not None
    assert got.mask is not None
    assert got.mask.array.all()
    count = np.broadcast_to(held.array, (2, 3, 2, *held.array.shape[3:])).sum(axis=(0, 1, 2))
    assert (count == 1).all()


def test_reducing_replicas_counts_every_rank() -> None:
    """A reduction of data that is already whole is not forgiven."""
    pools = devices()
    source = tensor((("a", Partial("sum")),))
    pools["main"].values["x"] = placed(pools["main"], source, random_value())
    ops, result = convert.apply(source, {}, AXES, "u", "@")
    execute(pools, ops)
    assert np.array_equal(
        pools["main"].values[result.name].data.reshape(3, 12, 12, 24), Field().scale(random_value().data, 2.0)
    )


def test_replicas_that_differ_are_noticed() -> None:
    pools = devices()
    cut = tensor((("a", Split("H")),))
    found = placed(pools["main"], cut, random_value())
    wrong = replace(cut, layout=())
    _, agree = whole(pools["main"], wrong, found)
    assert not agree
    assert Use(wrong).tensor.layout == ()
