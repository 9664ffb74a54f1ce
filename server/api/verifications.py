"""Verifications, and the certificates that they leave."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator

from db import Certificate
from server.api.common import (
    Cursor,
    Json,
    Limit,
    Page,
    Sha,
    Utc,
    decode,
    immutable,
    moment,
    page_of,
    problems,
)
from server.jobs.request import Strict
from server.services import Here
from server.work.verifications import run

router = APIRouter(tags=["verifications"])


class Side(Strict):
    """A design by its hash or text."""

    design: str | None = Field(None, pattern=Sha)
    text: str | None = Field(None, min_length=1, max_length=1_000_000)

    @model_validator(mode="after")
    def _one(self) -> Side:
        if (self.design is None) == (self.text is None):
            raise ValueError("exactly one of design and text must be given")
        return self


class VerificationIn(Strict):
    """Two designs of which the candidate claims to compute what the reference does."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"reference": {"text": "$PLACED"}, "candidate": {"text": "$PLACED"}}]}
    )

    reference: Side
    candidate: Side
    seed: int = Field(0, ge=0, le=2**31 - 1)


class Reason(BaseModel):
    """Why a candidate was refused."""

    code: str
    message: str


class VerificationOut(BaseModel):
    """The verdict; `certificate` is the hash under which it is kept."""

    verdict: str
    reference: str
    candidate: str
    reasons: list[Reason]
    certificate: str
    verifier_version: str
    milliseconds: float


class CertificateOut(BaseModel):
    """What the verifier said of a pair of structures."""

    certificate_hash: str
    verdict: str
    reference_structure_hash: str
    candidate_structure_hash: str
    verifier_version: str
    body: Json
    created_at: Utc


@router.post(
    "/verifications", response_model=VerificationOut,
    responses=problems("not_found", "ambiguous", "syntax", "timed_out", "overloaded"),
)  # fmt: skip
async def verify(body: VerificationIn, here: Here) -> Any:
    """Say whether two designs compute the same, and keep the certificate."""

    def text(side: Side) -> str:
        return side.text if side.text is not None else here.database.get_design(side.design or "").text

    order = {"reference": text(body.reference), "candidate": text(body.candidate), "seed": body.seed}
    found = await here.compute.run(run, order)
    standing = here.database.save_certificate(
        Certificate(
            certificate_hash=found["certificate"], verdict=found["verdict"],
            reference_structure_hash=found["reference_structure"],
            candidate_structure_hash=found["candidate_structure"],
            verifier_version=found["verifier_version"], body=found["body"],
        )
    )  # fmt: skip
    return {**found, "certificate": standing}


def shown(c: Certificate) -> Json:
    """A certificate as JSON."""
    return {
        "certificate_hash": c.certificate_hash, "verdict": c.verdict,
        "reference_structure_hash": c.reference_structure_hash,
        "candidate_structure_hash": c.candidate_structure_hash, "verifier_version": c.verifier_version,
        "body": dict(c.body), "created_at": c.created_at.isoformat().replace("+00:00", "Z"),
    }  # fmt: skip


@router.get("/certificates", responses=problems("invalid_cursor"))
def list_certificates(
    here: Here,
    structure: Annotated[str | None, Query(pattern=r"^[0-9a-f]{64}$", description="The candidate's.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[CertificateOut]:
    """Certificates, newest first."""
    before = None
    if cursor is not None:
        when, name = decode(cursor, str, str)
        before = (moment(when), name)
    found = here.database.list_certificates(structure_hash=structure, before=before, limit=limit + 1)
    page = page_of(found, limit, shown, lambda c: (c.created_at.isoformat(), c.certificate_hash))
    return Page[CertificateOut](**page)


@router.get(
    "/certificates/{certificate_hash}", response_model=CertificateOut,
    responses=problems("not_found", "ambiguous"),
)  # fmt: skip
def get_certificate(
    certificate_hash: Annotated[str, Path(pattern=Sha)], here: Here, request: Request
) -> Response:
    """One certificate by its hash or a unique beginning."""
    found = here.database.get_certificate(certificate_hash)
    return immutable(request, shown(found), seconds=86_400 if len(certificate_hash) == 64 else 0)
