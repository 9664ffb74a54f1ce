"""The law of speculative decoding, by exact enumeration: what is emitted has the target's law.

A draft proposes d tokens, each drawn from q(· | prefix). The target accepts token x with the chance
min(1, p(x)/q(x)); at the first rejection it draws from the residual max(0, p − q), normalised; if all are
accepted it draws one more from p. Proof that the next token then has the law p: x is emitted by acceptance
with the chance q(x)·min(1, p(x)/q(x)) = min(p(x), q(x)); a rejection has the chance
1 − Σ min(p, q) = Σ max(0, p − q), and then gives x with max(0, p(x) − q(x)) / Σ max(0, p − q). The sum is
min(p(x), q(x)) + max(0, p(x) − q(x)) = p(x). After an accepted token the same holds for the next one given
it, so by induction every emitted sequence has the target's law (Leviathan et al. 2023, Chen et al. 2023).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

Prefix = tuple[int, ...]
Law = Mapping[int, Fraction]
Model = Callable[[Prefix], Law]
# The chance of accepting a token under target p and draft q, and what is drawn instead of a rejected one.
Accept = Callable[[Law, Law, int], Fraction]
Instead = Callable[[Law, Law], Law]


def accept(p: Law, q: Law, token: int) -> Fraction:
    """min(1, p/q)."""
    return min(Fraction(1), p.get(token, Fraction(0)) / q[token])


def residual(p: Law, q: Law) -> Law:
    """max(0, p − q), normalised."""
    rest = {t: max(Fraction(0), c - q.get(t, Fraction(0))) for t, c in p.items()}
    total = sum(rest.values(), Fraction(0))
    return {t: c / total for t, c in rest.items()} if total else dict(p)


def emitted(
    target: Model, draft: Model, depth: int, *, accepts: Accept = accept, instead: Instead = residual
) -> dict[Prefix, Fraction]:
    """The law of what one round emits: 1 to depth + 1 tokens, by enumeration of every draft and verdict."""
    found: dict[Prefix, Fraction] = {}

    def note(tokens: Prefix, chance: Fraction) -> None:
        if chance:
            found[tokens] = found.get(tokens, Fraction(0)) + chance

    def go(prefix: Prefix, chance: Fraction) -> None:
        p = target(prefix)
        if len(prefix) == depth:
            for token, c in p.items():
                note((*prefix, token), chance * c)
            return
        q = draft(prefix)
        for token, c in q.items():
            if not c:
                continue
            kept = accepts(p, q, token)
            if kept:
                go((*prefix, token), chance * c * kept)
            for other, share in instead(p, q).items() if kept != 1 else ():
                note((*prefix, other), chance * c * (1 - kept) * share)

    go((), Fraction(1))
    return found


def completed(law: Mapping[Prefix, Fraction], target: Model, length: int) -> dict[Prefix, Fraction]:
    """The law of the first `length` tokens, if what a round emits is continued by the target."""
    found: dict[Prefix, Fraction] = {}

    def go(prefix: Prefix, chance: Fraction) -> None:
        if len(prefix) >= length:
            found[prefix[:length]] = found.get(prefix[:length], Fraction(0)) + chance
            return
        for token, c in target(prefix).items():
            if c:
                go((*prefix, token), chance * c)

    for prefix, chance in law.items():
        go(prefix, chance)
    return found


def mean_emitted(law: Mapping[Prefix, Fraction]) -> Fraction:
    """Expected tokens of a round."""
    return sum((len(tokens) * chance for tokens, chance in law.items()), Fraction(0))


def agreement(p: Law, q: Law) -> Fraction:
    """Σ min(p, q): the chance that a drafted token is accepted."""
    return sum((min(c, q.get(t, Fraction(0))) for t, c in p.items()), Fraction(0))


def law(weights: Sequence[int]) -> Law:
    """Whole weights as a distribution."""
    total = sum(weights)
    return {token: Fraction(w, total) for token, w in enumerate(weights)}
