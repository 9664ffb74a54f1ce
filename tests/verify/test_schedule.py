"""Fusions that name nothing, or a value twice, are refused with the place and what must hold."""

from __future__ import annotations

import pytest

from mutations.verify import verify
from rooflang.parser import parse

BLOCK = """design "one mlp"
program {
  dims   D=64 F=128
  input  x: bf16[B, Q, D]
  section mlp {
    weight up, gate: bf16[D, F]
    weight down: bf16[F, D]
    u = einsum(x, up -> B Q F)
    g = einsum(x, gate -> B Q F)
    a = swiglu(g, u)
    section inner {
      y = einsum(a, down -> B Q D)
    }
  }
  output y
}
schedule {
  %s
}
"""


@pytest.mark.parametrize(
    ("fusions", "code", "words"),
    [
        ("fuse mlq: u g", "fusion.section", "did you mean 'mlp'?"),
        ("fuse inner: y", "fusion.section", "outermost section that holds operators"),
        ("fuse mlp: u z", "fusion.value", "'z' is none"),
        ("fuse mlp: u x", "fusion.value", "'x' is none"),
        ("fuse mlp: u g\n  fuse mlp: g a", "fusion.twice", "'g' is fused twice"),
    ],
)
def test_a_fusion_that_cannot_be_made_is_refused(fusions: str, code: str, words: str) -> None:
    verdict = verify(parse(BLOCK % "microbatches 1"), parse(BLOCK % fusions))
    assert [r.code for r in verdict.reasons] == [code]
    assert words in verdict.reasons[0].message


def test_a_fusion_over_inner_sections_is_accepted() -> None:
    assert verify(parse(BLOCK % "microbatches 1"), parse(BLOCK % "fuse mlp: u g a y")).accepted
