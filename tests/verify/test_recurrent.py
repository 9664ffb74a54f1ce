"""Recurrent layers: right placements and rewrites are accepted, wrong ones refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mutations.verify import verify, verify_lowered
from rooflang.layout import Partial, Split
from rooflang.lower import lower
from rooflang.lowered import LocalOp, Unit, Use
from rooflang.parser import parse
from tests.verify.faults import rebuilt, with_unit

TEXT = """
design "delta"
program {
  dims D=64 G=4 J=2 K=16 V=8 A=4 W=3
  input x: bf16[B, Q, D]
  section mix {
    weight wq, wk: bf16[D, G, K]
    weight wv: bf16[D, G, J, V]
    weight wa, wb: bf16[D, G, J]
    weight taps: bf16[A, G, J, V]
    weight wo: bf16[G, J, V, D]
    state rows: bf16[B, W, G, J, V] window 3
    state s: f32[B, G, J, K, V] last
    v0 = einsum(x, wv -> B Q G J V)
    v = conv(v0, taps over A, rows)
    append(rows, v0)
    k = einsum(x, wk -> B Q G K)
    q = einsum(x, wq -> B Q G K)
    beta = sigmoid(einsum(x, wb -> B Q G J))
    a: f32 = einsum(x, wa -> B Q G J)
    decay = exp(a)
    h = scan(s, k, v, decay, beta)
    append(s, h)
    o = einsum(q, h -> B Q G J V)
    y = einsum(o, wo -> B Q D)
    z = x + y
  }
  output z
}
"""
PLAIN = TEXT.replace("decay, beta)", "decay)")  # no delta rule
PLACED = """
system {{ pool main = 4 x b300-sxm }}
placement {{
  mesh main = dp:2 tp:2
  mix: {}
}}
"""


def placed(text: str, line: str) -> str:
    return text + PLACED.format(line)


RIGHT = {
    "heads": (TEXT, placed(TEXT, "B over dp, G over tp")),
    "value heads of each key head": (TEXT, placed(TEXT, "B over dp, J over tp")),
    "width of values": (TEXT, placed(TEXT, "B over dp, V over tp")),
    "heads on both axes": (TEXT, placed(TEXT, "G over dp tp")),
    "width of keys, without a delta rule": (PLAIN, placed(PLAIN, "B over dp, K over tp")),
    "micro-batches": (TEXT, TEXT + "schedule { microbatches 2 }"),
    "a decay of two factors": (
        TEXT, TEXT.replace("exp(a)", "exp(scale(a, by=0.5)) * exp(scale(a, by=0.5))"),
    ),
    "queries scaled after reading": (
        TEXT.replace("einsum(q, h", "einsum(scale(q, by=0.25), h"),
        TEXT.replace("y = einsum(o, wo", "y = einsum(scale(o, by=0.25), wo"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_right_rewrites_are_accepted(name: str) -> None:
    reference, candidate = (parse(text) for text in RIGHT[name])
    verdict = verify(reference, candidate)
    assert verdict.accepted, [str(r) for r in verdict.reasons]
    assert "work" in verdict.layers


def test_a_cut_of_the_keys_leaves_a_partial_read() -> None:
    lowered = lower(parse(placed(PLAIN, "K over tp")))
    cells = {op.result.name: dict(op.result.layout).get("tp") for _, u in lowered.units() for op in u.ops}
    assert (cells["h"], cells["o"]) == (Split("K"), Partial("sum"))


DELTA = "h = scan(s, k, v, decay, beta)"
WRONG = {
    "decay dropped": (("decay = exp(a)", "decay = exp(scale(a, by=0.0))"),),
    "another decay": (("decay = exp(a)", "decay = sigmoid(a)"),),
    "beta dropped": ((DELTA, "h = scan(s, k, v, decay)"),),
    "beta applied to the result instead": (
        (DELTA, "h0 = scan(s, k, v, decay)\n    h: f32 = einsum(h0, beta -> B Q G J K V)"),
    ),
    "keys and queries exchanged": ((DELTA, "h = scan(s, q, v, decay, beta)"), ("einsum(q, h", "einsum(k, h")),
    "another grouping of heads": (
        ("k = einsum(x, wk -> B Q G K)", "k0 = einsum(x, wk -> B Q G K)\n"
         "    k1 = merge(k0 over K -> B Q GK)\n    k = split(k1 over GK -> B Q G K)"),
        ("W=3", "W=3 GK=64"),
    ),
    "read before the update": (("einsum(q, h -> B Q G J V)", "einsum(q, s -> B Q G J V)"),
                               ("    append(s, h)\n", ""), ("    z = x", "    append(s, h)\n    z = x")),
    "read after the step": (("einsum(q, h -> B Q G J V)", "einsum(q, s -> B Q G J V)"),),
    "state not kept": (("    append(s, h)\n", ""),),
    "only the last product kept": (("append(s, h)", "append(s, einsum(k, v -> B Q G J K V))"),),
    "convolution dropped": (("v = conv(v0, taps over A, rows)", "v = cast(v0)"),),
    "taps turned round": (
        ("conv(v0, taps over A", "conv(v0, turned over A"),
        ("    v0 = ", "    t0 = slice(taps over A, start=0 -> A3 G J V)\n"
         "    t1 = slice(taps over A, start=3 -> A1 G J V)\n"
         "    turned = concat(t1 over A1, t0 over A3 -> A G J V)\n    v0 = "),
        ("W=3", "W=3 A1=1 A3=3"),
    ),
    "convolved values kept": (("append(rows, v0)", "append(rows, v)"),),
    "a longer window": (("window 3", "window 4"), ("A=4", "A=5"), ("W=3", "W=4")),
    "a narrower state": (("state s: f32", "state s: bf16"),),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_rewrites_are_refused(name: str) -> None:
    text = TEXT
    for old, new in WRONG[name]:
        assert old in text, old
        text = text.replace(old, new, 1)
    verdict = verify(parse(TEXT), parse(text))
    assert not verdict.accepted
    assert all(r.message and r.code for r in verdict.reasons)


@pytest.mark.parametrize("line", ["K over tp", "A over tp", "W over tp"])
def test_what_must_be_whole_is_not_cut(line: str) -> None:
    verdict = verify(parse(TEXT), parse(placed(TEXT, line)))
    assert not verdict.accepted
    assert {r.code for r in verdict.reasons} == {"placement.lowering"}


def test_a_lowered_delta_rule_on_cut_keys_is_refused() -> None:
    """Lowering never makes one; whoever hands one in is told."""
    lowered = lower(parse(placed(PLAIN, "K over tp")))

    def with_beta(unit: Unit) -> Unit:
        beta = next(op.result for op in unit.ops if op.result.name == "beta")

        def change(op: LocalOp) -> LocalOp:
            return replace(op, operands=(*op.operands, Use(beta)))

        return rebuilt(unit, "h", change)

    verdict = verify_lowered(parse(TEXT), with_unit(lowered, "mix", with_beta))
    assert {(r.code, r.where) for r in verdict.reasons} == {("placement.over", "mix.h")}
