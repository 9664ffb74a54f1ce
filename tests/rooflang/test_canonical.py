"""Identities: what they must not see (names, order) and what they must see (everything else)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooflang.canonical import design_hash, structure_hash
from rooflang.design import Design, Op, Operand, Repeat, Section, State, Statement, Weight
from rooflang.errors import DesignError
from rooflang.parser import parse
from rooflang.size import const
from tests.rooflang.rewriting import edited, renamed, reordered
from tests.rooflang.strategies import designs

PROGRAM = """design "d" program {{
  dims D=64 F=256 S=S V=100
  input x: bf16[B, Q, D]
  {body}
  output y
}}"""


def of(body: str) -> str:
    return structure_hash(parse(PROGRAM.format(body=body)))


@given(designs(), st.randoms(use_true_random=False))
@settings(max_examples=150, deadline=None)
def test_names_and_order_do_not_count(design: Design, random: Random) -> None:
    def other(prefix: str) -> Callable[[str], str]:
        given_: dict[str, str] = {}
        salt = random.randrange(1000)
        return lambda name: given_.setdefault(name, f"{prefix}{(len(given_) * 7919 + salt) % 10007}")

    new = renamed(reordered(design, random), *map(other, "vdbap"))
    assert structure_hash(new) == structure_hash(design)
    assert design_hash(new) == design_hash(design)


def changes(statement: Statement) -> Iterator[Statement]:
    match statement:
        case Op():
            yield replace(statement, operator="max" if statement.operator != "max" else "min")
            yield replace(statement, attributes=(*statement.attributes, ("extra", 1)))
            yield replace(statement, dtype="int8")
            for key, value in statement.attributes:
                if isinstance(value, int | float):
                    yield replace(statement, attributes=((key, value + 1),))
            if statement.dims:
                yield replace(statement, dims=statement.dims[::-1])
            # swiglu(g, u) turned round is the same design with the two weights' names exchanged.
            if len(statement.operands) > 1 and statement.operator != "swiglu":
                yield replace(statement, operands=statement.operands[::-1])
            for i, use in enumerate(statement.operands):
                new = Operand(use.name, use.index, "D" if use.over is None else None)
                yield replace(
                    statement, operands=(*statement.operands[:i], new, *statement.operands[i + 1 :])
                )
        case Weight():
            yield replace(statement, dtype="int8")
            yield replace(statement, dims=statement.dims[::-1] if len(statement.dims) > 1 else ("D", "F"))
        case State():
            yield replace(statement, dtype="int8")
            yield replace(statement, rows="window", span=statement.span + 1)
        case Repeat():
            yield replace(statement, count=statement.count + 1)
            yield replace(statement, draft=not statement.draft)
        case Section():
            yield Section(statement.name, (Section("inner", statement.body),))


@given(designs(), st.data())
@settings(max_examples=100, deadline=None)
def test_any_change_of_a_statement_counts(design: Design, data: st.DataObject) -> None:
    before = structure_hash(design)

    def numbered(number: int) -> Callable[[Statement], Statement | None]:
        return lambda statement: next(islice(changes(statement), number, None), None)

    variants = [new for number in range(8) for new in edited(design, numbered(number))]
    for new in data.draw(st.lists(st.sampled_from(variants), min_size=1, max_size=12)):
        assert structure_hash(new) != before


@given(designs())
@settings(max_examples=60, deadline=None)
def test_sizes_shards_and_fusions_count(design: Design) -> None:
    before = structure_hash(design)
    program, placement, schedule = design.program, design.placement, design.schedule
    for i, (name, size) in enumerate(program.dims):
        dims = (*program.dims[:i], (name, size + const(1)), *program.dims[i + 1 :])
        assert structure_hash(replace(design, program=replace(program, dims=dims))) != before
    for i, shard in enumerate(placement.shards):
        rest = placement.shards[:i] + placement.shards[i + 1 :]
        assert structure_hash(replace(design, placement=replace(placement, shards=rest))) != before
        new = replace(shard, axes=(*shard.axes, "pp"))
        moved = replace(placement, shards=(*placement.shards[:i], new, *placement.shards[i + 1 :]))
        assert structure_hash(replace(design, placement=moved)) != before
    for i, fusion in enumerate(schedule.fusions):
        new_fusion = replace(fusion, values=fusion.values[1:])
        fusions = (*schedule.fusions[:i], new_fusion, *schedule.fusions[i + 1 :])
        assert structure_hash(replace(design, schedule=replace(schedule, fusions=fusions))) != before
    links = replace(schedule, overlap_links=not schedule.overlap_links)
    assert structure_hash(replace(design, schedule=links)) != before


@given(designs())
@settings(max_examples=60, deadline=None)
def test_numbers_count_in_the_design_alone(design: Design) -> None:
    pools = tuple(replace(p, count=p.count + 1) for p in design.pools)
    devices = tuple(replace(p, device="another") for p in design.pools)
    axes = tuple(replace(m, axes=tuple((a, n * 2) for a, n in m.axes)) for m in design.placement.meshes)
    more = max(2, design.schedule.microbatches) + 1
    variants = [replace(design, pools=pools), replace(design, pools=devices)] if pools else []
    if axes:
        variants.append(replace(design, placement=replace(design.placement, meshes=axes)))
    for new in variants:
        assert structure_hash(new) == structure_hash(design)
        assert design_hash(new) != design_hash(design)
    many = replace(design, schedule=replace(design.schedule, microbatches=more))
    assert design_hash(many) != design_hash(design)
    assert (structure_hash(many) == structure_hash(design)) is (design.schedule.microbatches > 1)


def test_weights_used_differently_differ() -> None:
    head = "weight a: fp8[D, F] weight b: fp8[D, F] u = einsum(x, a -> B Q F) v = einsum(x, b -> B Q F) "
    assert of(head + "y = swiglu(u, v)") == of(head + "y = swiglu(v, u)")  # the same under a <-> b
    assert of(head + "y = swiglu(u, v)") != of(head + "y = swiglu(u, u)")
    mixed = "weight a: fp8[D, F] weight b: fp8[D, F] u = einsum(x, a -> B Q F) v = einsum(x, a -> B Q F) "
    assert of(head + "y = swiglu(u, v)") != of(mixed + "y = swiglu(u, v)")


def test_reading_before_and_after_an_append_differ() -> None:
    start = "state c: fp8[B, S, D] "
    read = "s = einsum(x, c -> B Q S) y = silu(s) "
    assert of(start + "append(c, x) " + read) != of(start + read + "append(c, x)")


def test_a_carried_value_differs_from_one_that_is_made_anew() -> None:
    loop = "h = silu(x) repeat 4 as layer {{ {inner} }} y = silu(h)"
    assert of(loop.format(inner="h = relu(h)")) != of(loop.format(inner="h = relu(x)"))


def test_symmetric_leftovers_do_not_disturb() -> None:
    twins = [f"weight w{i}: fp8[D, F] a{i} = einsum(x, w{i} -> B Q F)" for i in range(4)]
    same = of(" ".join(twins) + " y = silu(x)")
    assert same == of(" ".join(reversed(twins)) + " y = silu(x)")


def test_an_undefined_name_is_an_error() -> None:
    design = parse(PROGRAM.format(body="y = silu(x)"))
    with pytest.raises(DesignError, match="must be defined"):
        structure_hash(replace(design, program=replace(design.program, outputs=("z",))))


def test_hashes_are_stable() -> None:
    """A changed value here makes every stored certificate unreachable: change it on purpose only."""
    design = parse(PROGRAM.format(body="y = silu(x)"))
    assert len(structure_hash(design)) == len(design_hash(design)) == 64
    assert structure_hash(design)[:16] == "7a2a420b2450d057"
    assert design_hash(design)[:16] == "f97d3e0c6725c521"


@pytest.mark.bench
def test_hash_time() -> None:
    layer = "weight w{i}: fp8[D, F] weight v{i}: fp8[F, D] u{i} = einsum(x, w{i} -> B Q F) g{i} = silu(u{i}) "
    layer += "o{i} = einsum(g{i}, v{i} -> B Q D) x{i} = x + o{i} "
    design = parse(PROGRAM.format(body="".join(layer.format(i=i) for i in range(75)) + " y = silu(x)"))
    start = time.perf_counter()
    design_hash(design)
    print(f"design_hash of {75 * 4 + 1} operators: {(time.perf_counter() - start) * 1e3:.1f} ms")
