"""How likely two different programs agree by chance on random residues."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log, prod

from rooflang.lowered import Unit
from rooflang.run import CONTEXT, PRIMES, Trial

_FRESH = frozenset(
    ("silu", "relu", "sigmoid", "exp", "softplus", "sqrtsoftplus", "swiglu", "quantize", "topk", "sample")
)
_CAP = 10**6
MOST = 1e-9  # the largest chance that a certificate may state


def degree(unit: Unit, trial: Trial) -> int:
    """A bound of the degree of every value of the unit, as numerator plus denominator, in its inputs,
    its hashed values and its exponentials."""
    dims = trial.sizes.dims
    found: dict[str, tuple[int, int]] = {}
    most = 1
    for op in unit.ops:
        parts = [found.get(u.tensor.name, (1, 0)) for u in op.operands]
        top, below = max(p[0] for p in parts), max(p[1] for p in parts)
        if op.operator in _FRESH or (op.operator == "norm" and op.attribute("kind") != "sum"):
            top, below = (1, 0) if op.operator != "norm" else (1 + sum(p[0] for p in parts[1:]), 0)
        elif op.operator in ("einsum", "mul"):
            names = {d for u in op.operands for d in u.tensor.dims}
            terms = prod(dims.get(d, 1) for d in names - set(op.result.dims))
            below = sum(p[1] for p in parts) * terms
            top = sum(p[0] for p in parts) + below
        elif op.operator == "conv":
            below = sum(p[1] for p in parts) * trial.sizes.dim(op.operands[1].over or "")
            top = sum(p[0] for p in parts) + below
        elif op.operator == "scan":
            # Every token of the context multiplies: by its decay, by its key twice, and by its beta.
            top, below = (CONTEXT * (sum(p[i] for p in parts) + parts[1][i]) for i in (0, 1))
            top = top + below
        elif op.operator in ("softmax", "norm"):
            top, below = 1, 1
        elif op.operator in ("add", "concat", "pool"):
            below = sum(p[1] for p in parts) + (op.operator == "pool")
            top = top + below
        elif op.operator == "rope":
            top += below
        found[op.result.name] = (min(top, _CAP), min(below, _CAP))
        most = max(most, min(top + below, _CAP))
    return most


def trials(degree: int, units: int) -> int:
    """How many trials hold one of so many units to its share of MOST: two (the size assignments) or more."""
    chance = 2 * degree / PRIMES[0]
    return max(2, ceil(log(MOST / max(units, 1)) / log(chance) - 1e-9))


def bound(degrees: Sequence[int], counts: Sequence[int]) -> float:
    """The chance that a wrong unit passes its trials: the sum over units of (2·degree / p0)^trials."""
    return sum((2 * d / PRIMES[0]) ** n for d, n in zip(degrees, counts, strict=True))
