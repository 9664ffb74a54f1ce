"""The verifier as the search asks it: a verdict with plain reasons and a certificate without timings."""

from __future__ import annotations

from agent.trial import Judgement
from rooflang.design import Design


def verify_design(reference: Design, candidate: Design, seed: int) -> Judgement:
    """What the verifier says of a pair of designs. Comparisons of sections are kept for the process's life."""
    from mutations.verify import verify

    found = verify(reference, candidate, seed=seed)
    reasons = tuple((r.code, str(r)) for r in found.reasons)
    return Judgement(found.accepted, reasons, dict(found.certificate or {}), found.milliseconds)
