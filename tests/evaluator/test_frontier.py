"""Frontiers and gains on points small enough to check by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.frontier import Point, front, hypervolume_gain, matched_gains, pareto, simultaneous_gain


def points(*pairs):
    return [Point(x, y, 1) for x, y in pairs]


@given(st.lists(st.tuples(st.floats(0.1, 1e4), st.floats(0.1, 1e4)), min_size=1, max_size=40))
def test_pareto_keeps_exactly_the_undominated(pairs):
    x, y = np.array(pairs).T
    kept = {(x[i], y[i]) for i in pareto(x, y)}
    undominated = {p for p in pairs if not any((q[0] >= p[0] and q[1] >= p[1]) and q != p for q in pairs)}
    assert kept == undominated


def test_front_runs_from_interactive_to_productive():
    kept = front(points((1, 9), (5, 5), (4, 4), (9, 1)))
    assert [(p.tokens_per_second_per_user, p.tokens_per_second_per_gpu) for p in kept] == [
        (9, 1),
        (5, 5),
        (1, 9),
    ]


def test_simultaneous_gain_takes_the_smaller_axis():
    gain, old, new = simultaneous_gain(points((10, 10), (20, 5)), points((12, 15), (21, 6)))
    assert gain == pytest.approx(0.2)
    assert (old.tokens_per_second_per_user, new.tokens_per_second_per_user) == (10, 12)


def test_no_gain_is_not_positive():
    gain, _, _ = simultaneous_gain(points((10, 10)), points((11, 9)))
    assert gain < 0


def test_matched_gains():
    throughput, interactivity = matched_gains(points((10, 10)), points((10, 13), (18, 10)))
    assert throughput == pytest.approx(0.3)
    assert interactivity == pytest.approx(0.8)


def test_a_dominated_design_adds_no_hypervolume():
    assert hypervolume_gain(points((10, 10)), points((9, 9))) == 0
    assert hypervolume_gain(points((10, 10)), points((9, 12))) > 0
