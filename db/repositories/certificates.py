"""The verifier's certificates, and its cache of section proofs."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from db.errors import ConflictError
from db.records import Certificate, JsonObject
from db.repositories.store import (
    Older,
    Store,
    find_by_prefix,
    from_record,
    insert_once,
    older,
    rows,
    to_record,
)
from db.schema import CertificateRow, SectionProofRow


class Certificates(Store):
    """One certificate stands per pair of structures and version of the verifier: the first one saved."""

    def save_certificate(self, certificate: Certificate) -> str:
        """Save a certificate; returns the hash of the one that stands, which candidates must refer to.

        Raises ConflictError if the hash already names a certificate of another pair.
        """
        with self._writing() as session:
            if insert_once(session, CertificateRow, from_record(certificate)):
                return certificate.certificate_hash
            standing = _find(
                session,
                certificate.reference_structure_hash,
                certificate.candidate_structure_hash,
                certificate.verifier_version,
            )
        if standing is None:
            raise ConflictError(
                "a certificate's hash must name one pair of structures, but "
                f"{certificate.certificate_hash} names another pair already; hash the whole certificate"
            )
        return standing.certificate_hash

    def get_certificate(self, prefix: str) -> Certificate:
        """The certificate whose hash is, or begins with, `prefix`; NotFoundError, AmbiguousPrefixError."""
        with self._reading() as session:
            column = CertificateRow.certificate_hash
            return to_record(
                Certificate, find_by_prefix(session, CertificateRow, column, prefix, "certificate")
            )

    def list_certificates(
        self, *, structure_hash: str | None = None, before: Older | None = None, limit: int | None = None
    ) -> tuple[Certificate, ...]:
        """Certificates, newest first; a page continues `before` the last one's time and hash."""
        time, name = CertificateRow.created_at, CertificateRow.certificate_hash
        statement = select(CertificateRow).order_by(time.desc(), name).limit(limit)
        if structure_hash is not None:
            statement = statement.where(CertificateRow.candidate_structure_hash == structure_hash)
        if before is not None:
            statement = statement.where(older(time, name, before))
        with self._reading() as session:
            return tuple(to_record(Certificate, row) for row in rows(session, statement))

    def find_certificate(
        self, reference_structure_hash: str, candidate_structure_hash: str, verifier_version: str
    ) -> Certificate | None:
        """The standing certificate for a pair of structures, or None."""
        with self._reading() as session:
            return _find(session, reference_structure_hash, candidate_structure_hash, verifier_version)

    def put_proof(self, key: str, value: JsonObject) -> bool:
        """Cache a result of the verifier; the first one stays; True if it was new."""
        with self._writing() as session:
            return insert_once(session, SectionProofRow, {"key": key, "value": dict(value)})

    def get_proof(self, key: str) -> JsonObject | None:
        """The cached result, or None."""
        with self._reading() as session:
            found = rows(session, select(SectionProofRow).where(SectionProofRow.key == key))
            return dict(found[0].value) if found else None


def _find(session: Session, reference: str, candidate: str, version: str) -> Certificate | None:
    statement = select(CertificateRow).where(
        CertificateRow.reference_structure_hash == reference,
        CertificateRow.candidate_structure_hash == candidate,
        CertificateRow.verifier_version == version,
    )
    found = rows(session, statement)
    return to_record(Certificate, found[0]) if found else None
