"""The verifier as the search asks it: a verdict with plain reasons and a certificate without timings."""

from __future__ import annotations

from agent.trial import Judgement, Proofs
from rooflang.design import Design


def verify_design(reference: Design, candidate: Design, seed: int, proofs: Proofs) -> Judgement:
    """What the verifier says of a pair of designs. Comparisons of sections are shared in `proofs`."""
    from mutations.verify import verify

    found = verify(reference, candidate, seed=seed, cache=proofs)
    reasons = tuple((r.code, str(r)) for r in found.reasons)
    return Judgement(found.accepted, reasons, dict(found.certificate or {}), found.milliseconds)
