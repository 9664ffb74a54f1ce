"""Lines of placement and schedule that speak of nothing are refused, with what is there."""

from __future__ import annotations

import pytest

from catalogue.models import load_model
from mutations.start import starting_designs
from mutations.verify import verify
from rooflang.parser import parse
from rooflang.printer import print_design

MODEL = "llama-3.1-8b"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("schedule {\n  stream mpl", "schedule.target"),
        ("schedule {\n  prefetch mpl", "schedule.target"),
        ("schedule {\n  cascade atention", "schedule.target"),
        ("schedule {\n  fuse mpl: u m_gate", "fusion.section"),
        ("schedule {\n  fuse mlp: u m_gat", "fusion.value"),
        ("placement {\n  mpl: FD over tp", "placement.target"),
        ("placement {\n  attention.kees in host", "placement.target"),
        ("placement {\n  mlp.keys in host", "placement.target"),
        ("placement {\n  mpl on main", "placement.target"),
    ],
)
def test_a_line_must_name_something(line: str, code: str) -> None:
    model = load_model(MODEL)
    text = print_design(starting_designs(model)[0])
    verdict = verify(model, parse(text.replace(line.partition("\n")[0], line, 1)))
    assert [r.code for r in verdict.reasons] == [code]
    assert "known:" in verdict.reasons[0].message or "did you mean" in verdict.reasons[0].message
