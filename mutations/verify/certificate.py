"""The record of an accepted candidate: plain JSON that anyone can replay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mutations.verify.execute import ASSIGNMENTS
from mutations.verify.pairing import Pair
from rooflang.lowered import Lowered
from rooflang.run import CONTEXT, PRIMES

VERSION = 2
ASSUMPTIONS = (
    "Schwartz-Zippel covers polynomials and quotients in random residues; each size assignment counts as one "
    "trial, and a difference is assumed to show at test sizes of both assignments",
    "exponentials and hashed functions are taken for random functions of their arguments",
    "weights and states correspond by section, name and order",
)
NOT_PROVEN = (
    "rounding order in bf16 or fp8",
    "the correctness of kernels",
    "that published rates are true",
    "equalities that need axioms nobody declared (they are refused)",
)


def certificate(
    reference: Lowered,
    candidate: Lowered,
    seed: int,
    changed: list[Pair],
    pairs: int,
    degrees: list[int],
    trials: list[int],
    chance: float,
    layers: tuple[str, ...],
    hashes: Mapping[str, str],
) -> dict[str, Any]:
    """Everything needed to replay the comparison, and what it does not show."""
    return {
        "version": VERSION,
        "hashes": dict(hashes),
        "layers": list(layers),
        "primes": list(PRIMES),
        "seed": seed,
        "trials": max(trials, default=ASSIGNMENTS),
        "steps": 3,
        "context": CONTEXT,
        "units": {
            "compared": [p.path for p in changed],
            "identical": pairs - len(changed),
            "degrees": list(degrees),
            "trials": list(trials),
        },
        "microbatches": min(candidate.design.schedule.microbatches, 2),
        "false_accept_bound": chance,
        "assumptions": list(ASSUMPTIONS),
        "conditions": [
            {"dim": c.dim, "size": str(candidate.sizes[c.dim]), "axes": list(c.axes), "multiple": c.multiple}
            for c in candidate.conditions
        ],
        "not_proven": list(NOT_PROVEN),
    }
