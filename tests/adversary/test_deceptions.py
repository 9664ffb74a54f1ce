"""Rewrites made to deceive: each computes another model, or is stored or priced below what it needs."""

import pytest

from catalogue.models import load_model
from mutations.verify import verify
from rooflang.parser import parse
from rooflang.printer import print_design

L, G, F = "llama-3.1-70b", "gpt-oss-120b", "deepseek-v4-flash"


def edit(model, *changes):
    text = print_design(load_model(model)).partition("\nschedule {")[0]
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return parse(text)


def picks(size):
    return (
        (" k=4", f" k=4 k2={size}"),
        ("-> B Q k)", "-> B Q k2)"),
        ("over k)", "over k2)"),
        ("-> B Q k F)", "-> B Q k2 F)"),
    )


def rows(size):
    return (
        ("A4=4", f"A4=4 T2={size}"),
        ("N4 -> B Q T)", "N4 -> B Q T2)"),
        ("picks] -> B Q H T)", "picks] -> B Q H T2)"),
        ("s_far over T", "s_far over T2"),
    )


def views(one, two):
    return (
        (
            "m_gate = einsum(u, gate -> B Q FD)",
            "gv = split(gate over FD -> D F1 F2)\n mg = einsum(u, gv -> B Q F1 F2)\n"
            " m_gate = merge(mg over F1 -> B Q FD)",
        ),
        (" FD=28672", f" FD=28672 F1={one} F2={two}"),
    )


def joined(size):
    return (
        (
            "m_gate = einsum(u, gate -> B Q FD)\n      m_up = einsum(u, up -> B Q FD)",
            "weight gu: bf16[D, F2] = concat(gate over FD, up over FD -> D F2)\n"
            " m = einsum(u, gu -> B Q F2)\n"
            " m_gate = slice(m over F2, start=0 -> B Q FD)\n m_up = slice(m over F2, start=28672 -> B Q FD)",
        ),
        (" FD=28672", f" FD=28672 F2={size}"),
    )


Q = "q = einsum(h, wq ->"
HOLES = {
    "split sizes": (L, views(2, 3)),
    "concat sizes": (L, joined(30000)),
    "picks fall with context": (G, picks("min(floor(S, 8192), 4)")),
    "picks of one by max": (G, picks("max(1, 3-floor(S, 100))")),
    "rows fall with context": (F, rows("min(floor(S, 4096), 512)")),
    "derived narrower": (L, ((Q, "weight w4: mxfp4[D, K, G, C] = cast(wq)\n q = einsum(h, w4 ->"),)),
    "norm over padding": (
        F,
        (
            (
                "q_h = norm(q_b over C, eps=1e-06)",
                "q_z = scale(q_b, by=0.0)\n q_c = concat(q_b over C, q_z over C -> B Q H CC)\n"
                " q_n9 = norm(q_c over CC, eps=1e-06)\n q_h = slice(q_n9 over CC, start=0 -> B Q H C)",
            ),
            (" R=1024", " R=1024 CC=1024"),
        ),
    ),
    "scale by the prime + 1": (
        L,
        (("m_act = swiglu(m_gate", "m_s = scale(m_gate, by=2147454840.0)\n m_act = swiglu(m_s"),),
    ),
    "derived from an input": (
        L,
        ((Q, "weight w4: bf16[D, K, G, C] = einsum(wq, noise -> D K G C)\n q = einsum(h, w4 ->"),),
    ),
}


@pytest.mark.parametrize("name", HOLES)
def test_refused(name):
    model, changes = HOLES[name]
    try:
        candidate = edit(model, *changes)
    except ValueError:
        return
    assert not verify(load_model(model), candidate).accepted


def test_verdicts_do_not_depend_on_what_was_verified_before():
    verify(load_model(G), edit(G, *picks("4")))
    assert not verify(load_model(G), edit(G, *picks("1"))).accepted
