"""Speculative decoding keeps the target's law, exactly; wrong acceptance rules do not."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from mutations.verify.speculation import accept, agreement, completed, emitted, law, mean_emitted, residual


def model(seed: int, vocabulary: int, zeros: bool):
    """A distribution for every prefix; with `zeros`, some tokens are impossible."""

    def of(prefix):
        rng = random.Random(f"{seed}/{prefix}")
        weights = [rng.randrange(0 if zeros else 1, 6) for _ in range(vocabulary)]
        weights[rng.randrange(vocabulary)] += 1
        return law(weights)

    return of


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("vocabulary", "depth"), [(2, 1), (2, 4), (3, 2), (3, 3), (4, 2)])
@pytest.mark.parametrize("zeros", [False, True])
def test_every_sequence_has_the_target_s_chance(seed, vocabulary, depth, zeros):
    target, draft = model(seed, vocabulary, zeros), model(seed + 100, vocabulary, zeros)
    found = completed(emitted(target, draft, depth), target, depth + 1)
    alone = completed({(): Fraction(1)}, target, depth + 1)
    assert sum(found.values()) == 1
    assert found == alone


def test_the_length_of_a_round_follows_from_the_agreement():
    """With laws that do not depend on the prefix: 1 + a + … + a^d tokens."""
    p, q, depth = law((1, 2, 3)), law((3, 2, 1)), 3
    a = agreement(p, q)
    assert mean_emitted(emitted(lambda _: p, lambda _: q, depth)) == sum(a**i for i in range(depth + 1))
    assert mean_emitted(emitted(lambda _: p, lambda _: p, depth)) == depth + 1


WRONG = {
    "every draft accepted": {"accepts": lambda p, q, t: Fraction(1)},
    "accepted by p alone": {"accepts": lambda p, q, t: p.get(t, Fraction(0))},
    "drawn again from p": {"instead": lambda p, q: p},
    "drawn again from q": {"instead": lambda p, q: q},
    "residual of the other sign": {"instead": lambda p, q: residual(q, p)},
    "accepted a little more": {
        "accepts": lambda p, q, t: min(Fraction(1), accept(p, q, t) * Fraction(11, 10))
    },
}


@pytest.mark.parametrize("name", WRONG)
def test_another_rule_has_another_law(name):
    target, draft = model(1, 3, False), model(2, 3, False)
    found = completed(emitted(target, draft, 2, **WRONG[name]), target, 3)
    assert found != completed({(): Fraction(1)}, target, 3)
