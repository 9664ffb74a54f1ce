"""Ragged axes in closed form against sums over tokens."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflang.size import ceildiv, floordiv, maximum, minimum, mul, symbol
from rooflang.work.ragged import mean_seen

S, Q, R = symbol("S"), symbol("Q"), symbol("R")

GROWING = {
    "all rows": S,
    "a window": minimum(S, 128),
    "compressed rows": floordiv(S, 4),
    "a choice of compressed rows": minimum(floordiv(S, 4), 13),
    "rows dealt out to ranks": ceildiv(S, R),
    "a window dealt out to ranks": ceildiv(minimum(S, 50), R),
    "compressed rows dealt out to ranks": ceildiv(floordiv(S, 4), R),
    "a chosen share of compressed rows": ceildiv(minimum(floordiv(S, 4), 13), R),
    "rows beyond a window": S - minimum(S, 20),
    "at least a block": maximum(floordiv(S, 8), 5),
    "rows of the open chunk": S - mul(floordiv(S - 1, 64), 64),
    "twice the rows and one": S * 2 + 1,
    "blocks of blocks": floordiv(ceildiv(S + 3, 4), 2),
}


@pytest.mark.parametrize("size", GROWING.values(), ids=GROWING)
@given(context=st.integers(1, 300), queries=st.integers(1, 300), ranks=st.integers(1, 7))
def test_the_mean_over_tokens(size, context, queries, ranks):
    found = mean_seen(size, Q).at(S=context, Q=queries, R=ranks)
    held = min(queries, context)
    each = [size.at(S=s, R=ranks) for s in range(context - held + 1, context + 1)]
    assert found == Fraction(sum(each)) / held


@given(context=st.integers(1, 200), queries=st.integers(1, 200))
def test_other_forms_are_never_taken_too_large(context, queries):
    size = minimum(S, floordiv(S, 2) + 7, ceildiv(S * 3, 4))
    held = min(queries, context)
    each = [size.at(S=s) for s in range(context - held + 1, context + 1)]
    assert mean_seen(size, Q).at(S=context, Q=queries) <= Fraction(sum(each), held)


def test_one_token_sees_its_own_context():
    for size in GROWING.values():
        assert mean_seen(size, Q).at(S=1000, Q=1, R=3) == size.at(S=1000, R=3)
