"""A Sinkhorn norm acts on two names: neither may be cut, and both must be named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mutations.faults.judge import with_unit
from mutations.verify import verify
from rooflang.check import check
from rooflang.errors import DesignError
from rooflang.layout import Split
from rooflang.lower import lower
from rooflang.parser import parse

TEXT = """
design "two streams"
program {
  dims D=64 N=4 M=4
  input x: bf16[B, Q, N, D]
  section mix {
    weight w: bf16[D, M]
    a = einsum(x, w -> B Q N M)
    y = norm(a over M, kind="sinkhorn", iterations=20, with="N")
    z = einsum(y, x -> B Q M D)
  }
  output z
}
"""
PLACED = """
system { pool main = 2 x any }
placement {
  mesh main = tp:2
  mix: N over tp
}
"""


def test_the_second_name_is_gathered() -> None:
    reference, placed = parse(TEXT), parse(TEXT + PLACED)
    verdict = verify(reference, placed)
    assert verdict.accepted, verdict.reasons
    (norm,) = (op for _, u in lower(placed).units() for op in u.ops if op.operator == "norm")
    assert not norm.result.layout


def test_a_cut_second_name_is_found() -> None:
    lowered = lower(parse(TEXT + PLACED))
    unit = next(u for _, u in lowered.units() if u.path == "mix")
    made = next(op for op in unit.ops if op.result.name == "a")
    ops = tuple(
        replace(op, operands=(replace(op.operands[0], tensor=made.result),),
                result=replace(op.result, layout=(("tp", Split("N")),)))
        if op.operator == "norm" else op
        for op in unit.ops
    )  # fmt: skip
    broken = with_unit(lowered, unit, replace(unit, ops=ops))
    assert "placement.over" in {p.code for p in check(broken, numbers=False)}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [(', with="N"', "", "got None"), ('with="N"', 'with="D"', "got D"), ('with="N"', 'with="M"', "got M"),
     ('kind="sinkhorn", iterations=20', 'kind="sum"', "sinkhorn alone")],
)  # fmt: skip
def test_both_names_must_be_said(old: str, new: str, said: str) -> None:
    with pytest.raises(DesignError, match=said):
        lower(parse(TEXT.replace(old, new)))
