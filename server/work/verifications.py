"""Verifications: whether two designs compute the same, with a certificate that can be stored."""

from __future__ import annotations

from typing import Any

from agent.judge import verify_design
from agent.problem import identity
from agent.records import certificate_of
from agent.trial import Proofs
from rooflang.canonical import design_hash
from rooflang.parser import parse


def run(order: dict[str, Any]) -> dict[str, Any]:
    """`order` has the texts `reference` and `candidate`, and a `seed`."""
    reference, candidate = parse(order["reference"]), parse(order["candidate"])
    judgement = verify_design(reference, candidate, order["seed"], Proofs())
    certificate = certificate_of(identity(reference), identity(candidate), judgement)
    return {
        "verdict": certificate.verdict,
        "reference": design_hash(reference),
        "candidate": design_hash(candidate),
        "reference_structure": certificate.reference_structure_hash,
        "candidate_structure": certificate.candidate_structure_hash,
        "reasons": [{"code": code, "message": text} for code, text in judgement.reasons],
        "certificate": certificate.certificate_hash,
        "verifier_version": certificate.verifier_version,
        "milliseconds": judgement.milliseconds,
        "body": dict(certificate.body),
    }
