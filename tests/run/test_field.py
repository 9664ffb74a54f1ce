"""The algebra of the prime chain, against Python integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflang.run.contract import contract
from rooflang.run.field import PRIMES, Field

FIELD = Field()
residues = st.lists(st.integers(0, 2**31 - 1), min_size=3, max_size=3)


def is_prime(n: int) -> bool:
    """Miller-Rabin with bases that are sufficient below 3.3e24."""
    d, s = n - 1, 0
    while d % 2 == 0:
        d, s = d // 2, s + 1
    for a in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37):
        x = pow(a, d, n)
        if x in (1, n - 1):
            continue
        for _ in range(s - 1):
            x = x * x % n
            if x == n - 1:
                break
        else:
            return False
    return True


def value(numbers: list[int]) -> np.ndarray:
    return np.array([n % p for n, p in zip(numbers, PRIMES, strict=True)], dtype=np.uint64)[:, None]


def test_the_chain_is_of_primes() -> None:
    assert all(is_prime(p) for p in PRIMES)
    assert [PRIMES[0], PRIMES[1]] == [2 * PRIMES[1] + 1, 2 * PRIMES[2] + 1]
    assert all(pow(4, PRIMES[i + 1], PRIMES[i]) == 1 for i in (0, 1))


@given(residues, residues)
def test_exponentials_of_sums_are_products(a: list[int], b: list[int]) -> None:
    x, y = value(a), value(b)
    left = FIELD.exp(FIELD.add(x, y))
    assert np.array_equal(left, FIELD.mul(FIELD.exp(x), FIELD.exp(y)))
    assert [int(v) for v in FIELD.exp(x)[:, 0]] == [pow(4, int(x[i + 1, 0]), PRIMES[i]) for i in (0, 1)]


@given(st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=9))
def test_inverse(numbers: list[int]) -> None:
    x = np.array([[n % p for n in numbers] for p in PRIMES], dtype=np.uint64)
    expected = [[pow(n, -1, p) if n % p else 0 for n in numbers] for p in PRIMES]
    assert FIELD.inverse(x).tolist() == expected


def test_hashes_differ_and_repeat() -> None:
    x = np.arange(1000, dtype=np.uint64)
    assert len(np.unique(FIELD.hash(1, x)[0])) == 1000
    assert not (FIELD.hash(1, x) == FIELD.hash(2, x)).any()
    assert np.array_equal(FIELD.hash(1, x), FIELD.hash(1, x))


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (1, 40, 30, 20), (7, 1, 5, 1)])
def test_contractions_are_exact(shape: tuple[int, int, int, int]) -> None:
    rng = np.random.default_rng(0)
    b, m, k, n = shape
    x = FIELD.random(rng, (3, b, m, k), 3)
    y = FIELD.random(rng, (3, k, b, n), 3)
    got = contract(FIELD, [(x, ("%", "b", "m", "k")), (y, ("%", "k", "b", "n"))], ("%", "m", "n", "b"))
    for level, p in enumerate(PRIMES):
        exact = np.einsum("bmk,kbn->mnb", x[level].astype(object), y[level].astype(object)) % p
        assert (got[level] == exact).all()


def test_rotations_turn_back() -> None:
    cosine, sine = FIELD.turns(10000.0, 3, 16)
    one = FIELD.add(FIELD.mul(cosine, cosine), FIELD.mul(sine, sine))
    assert (one == 1).all()
    assert len(np.unique(cosine[0])) > 40
