"""Sizes are one object per value: by construction, and across processes."""

from __future__ import annotations

import pickle
import subprocess
import sys

from rooflang.size import add, ceildiv, const, factored, minimum, mul, symbol

B, S, Q = symbol("B"), symbol("S"), symbol("Q")


def test_equal_expressions_are_one_object():
    assert add(B, S, B) is add(mul(2, B), S)
    assert mul(S, B, 2) is mul(B, 2, S)
    assert minimum(S, 128) is minimum(128, S)


def test_a_size_pickled_in_another_process_is_the_same_object():
    """The other process meets the symbols in another order."""
    script = (
        "import pickle, sys; from rooflang.size import *; S, B = symbol('S'), symbol('B');"
        "sys.stdout.buffer.write(pickle.dumps([minimum(S, 128), mul(S, B), add(S, B, 3), ceildiv(B, S)]))"
    )
    sent = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout
    expected = [minimum(128, S), mul(B, S), add(B, S, 3), ceildiv(B, S)]
    assert all(a is b for a, b in zip(pickle.loads(sent), expected, strict=True))


def test_factoring_keeps_the_value():
    size = add(mul(B, S, 3), mul(B, Q, 5), mul(S, 7), 11)
    values = {"B": 13, "S": 17, "Q": 19}
    assert factored(size).at(**values) == size.at(**values)


def test_division_is_exact():
    assert ceildiv(B, 8).at(B=9) == 2
    assert mul(const(17), B).at(B=2) == 34
