"""Certificates as documents that anyone can replay: both designs, and what the verifier found out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mutations.verify.certificate import VERSION
from mutations.verify.verdict import Verdict
from mutations.verify.verifier import verify
from rooflang.canonical import structure_hash
from rooflang.design import Design
from rooflang.errors import RoofLangError
from rooflang.parser import parse
from rooflang.printer import print_design

# What a replay must find again, in words.
_SAME = {
    "primes": "the primes", "trials": "the number of trials", "units": "what was compared, and its degrees",
    "microbatches": "the micro-batches", "false_accept_bound": "the bound",
    "conditions": "the conditions of divisibility", "layers": "the layers",
}  # fmt: skip


class CertificateError(RoofLangError):
    """A document that is no certificate."""


@dataclass(frozen=True, slots=True)
class Replay:
    """Whether the recorded verdict stands; `differences` says what was found otherwise, and `verdict` what
    the verifier says now."""

    stands: bool
    differences: tuple[str, ...]
    verdict: Verdict


def document(reference: Design, candidate: Design, verdict: Verdict) -> dict[str, Any]:
    """A certificate with the text and structure hash of both designs. The verdict must be accepted."""
    if verdict.certificate is None:
        raise CertificateError("only an accepted design has a certificate, but this one is refused")
    return {
        **verdict.certificate,
        "verdict": verdict.verdict,
        "hashes": {"reference": structure_hash(reference), "candidate": structure_hash(candidate)},
        "designs": {"reference": print_design(reference), "candidate": print_design(candidate)},
    }


def replay(said: Mapping[str, Any]) -> Replay:
    """Verify the two designs of a document again. Raises CertificateError for what is no certificate."""
    designs, hashes = said.get("designs"), said.get("hashes")
    if not isinstance(designs, Mapping) or not {"reference", "candidate"} <= set(designs):
        raise CertificateError(
            "a certificate must hold the texts of both designs under 'designs', but this has none; "
            "write it with `seis verify REFERENCE CANDIDATE --certificate FILE`"
        )
    found = {name: parse(str(designs[name])) for name in ("reference", "candidate")}
    wrong = []
    for name, design in found.items():
        wanted = hashes.get(name) if isinstance(hashes, Mapping) else None
        if wanted != structure_hash(design):
            wrong.append(f"the {name} must have the structure {wanted}, but has {structure_hash(design)}")
    again = compared(found["reference"], found["candidate"], said)
    return Replay(again.stands and not wrong, (*wrong, *again.differences), again.verdict)


def compared(reference: Design, candidate: Design, said: Mapping[str, Any]) -> Replay:
    """Verify two designs again with the seed of a certificate, and compare what is found with it."""
    if said.get("version") != VERSION:
        has = said.get("version")
        raise CertificateError(f"a certificate must have version {VERSION}, but this one has {has}")
    seed = said.get("seed")
    if not isinstance(seed, int):
        raise CertificateError(f"a certificate must name the seed of its trials, but has {seed!r}")
    verdict = verify(reference, candidate, seed)
    if not verdict.accepted or verdict.certificate is None:
        reasons = tuple(f"it was accepted, but is refused now: {r}" for r in verdict.reasons)
        return Replay(False, reasons, verdict)
    now = verdict.certificate
    wrong = tuple(
        f"{text} must be {said.get(key)}, but is {now[key]}"
        for key, text in _SAME.items()
        if _plain(said.get(key)) != _plain(now[key])
    )
    return Replay(not wrong, wrong, verdict)


def _plain(value: Any) -> Any:
    """As JSON gives it back."""
    if isinstance(value, Mapping):
        return {k: _plain(v) for k, v in value.items()}
    return [_plain(v) for v in value] if isinstance(value, list | tuple) else value
