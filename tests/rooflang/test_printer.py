"""Printing and parsing are inverse, in all three forms."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings

from rooflang.design import Design, Op, Operand, Program
from rooflang.errors import DesignError
from rooflang.json_form import from_json, to_json
from rooflang.parser import parse, parse_size
from rooflang.printer import print_design
from rooflang.size import Size, const, routing, symbol
from rooflang.text.sizes import print_size, size_problem
from rooflang.typing import type_program
from tests.rooflang.strategies import designs, sizes

CANONICAL = """design "small"

program {
  dims   D=64 F=256 S=S N=floor(S, 4)
  input  x: bf16[B, Q, D]
  weight gain: f32[D]

  repeat 2 as layer draft {
    section mlp {
      weight up: fp8[D, F]
      weight down: fp8[F, D]
      state  c: v4_row[B, N, D] every 4
      h = norm(x over D, gain, kind="rms", eps=1e-06)
      append(c, h)
      u: f32 = einsum(h, up -> B Q F)
      a = silu(u)
      o = einsum(a, down -> B Q D)
      x = x + o
    }
  }

  output x
}

system {
  pool main = 8 x b300-sxm
}

placement {
  mesh main = dp:2 tp:4
  mlp: B over dp, F over tp
  x: B over dp
  mlp on main
}

schedule {
  microbatches 2
  overlap links
  stream mlp
  fuse mlp: u a o
}
"""


def test_the_canonical_text_prints_to_the_letter() -> None:
    assert print_design(parse(CANONICAL)) == CANONICAL


@given(designs())
@settings(max_examples=200, deadline=None)
def test_text_round_trip(design: Design) -> None:
    type_program(design.program)
    text = print_design(design)
    assert parse(text) == design
    assert print_design(parse(text)) == text


@given(designs())
@settings(max_examples=100, deadline=None)
def test_json_round_trip(design: Design) -> None:
    value = json.loads(json.dumps(to_json(design), sort_keys=True))
    assert from_json(value) == design
    assert to_json(from_json(value)) == to_json(design)


@given(sizes())
@settings(max_examples=500, deadline=None)
def test_sizes_parse_back_to_the_same_node(size: Size) -> None:
    if size_problem(size) is None:
        assert parse_size(print_size(size)) is size


@pytest.mark.parametrize("text", ["S - 4", "-S", "3/2*S", "2*(B + S)", "min(B*S, 128)", "ratio(S, B)", "0"])
def test_sizes_print_as_people_write_them(text: str) -> None:
    assert print_size(parse_size(text)) == text


def test_what_text_cannot_carry_is_refused() -> None:
    design = parse(CANONICAL)
    bad = {
        "routing": replace(design.program, dims=(("D", routing("distinct", 8, 2, symbol("B"), tag="t")),)),
        "reserved": Program((), (Op("over", "silu", (Operand("x"),)),)),
        "number": replace(design.program, dims=(("D", const(10**16)),)),
        "infinite": Program((), (Op("y", "scale", (Operand("x"),), (("by", float("inf")),)),)),
    }
    for program in bad.values():
        with pytest.raises(DesignError):
            print_design(replace(design, program=program))


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (
            ("schedule", "microbatches"),
            "2",
            "schedule.microbatches: the value must be a whole number, but got str",
        ),
        (("schedule", "microbatches"), 0, "micro-batches must be a whole number from 1"),
        (("schedule", "streem"), [], "did you mean 'streams'"),
        (("program", "body"), [{"opp": 1}], "a statement must have one of the keys"),
        (("program", "dims"), [["D", "floor(S"]], "program.dims[0]: the size must be as in the text"),
        (("system",), 5, "system: the value must be a list, but got int"),
        (("program", "outputs"), ["nope"], "an output must be defined"),
    ],
)
def test_json_errors_name_the_place(path: tuple[str, ...], value: object, message: str) -> None:
    whole = to_json(parse(CANONICAL))
    part = whole
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    with pytest.raises(DesignError) as caught:
        from_json(whole)
    assert message in str(caught.value)
