"""Candidates: what a search proposed, and what became of each."""

from __future__ import annotations

from collections import Counter
from functools import cache

from sqlalchemy import func, select

from db.records import Candidate, CandidateStatus, ReasonCount
from db.repositories.store import Insert, Store, execute, from_record, insert, rows, to_record
from db.schema import Base, CandidateRow, DesignRow


@cache
def _record(dialect: str, kind: type[Base]) -> Insert:
    statement = insert(dialect, kind)
    verdict = ("status", "reasons", "detail", "certificate_hash", "gain")
    return statement.on_conflict_do_update(
        index_elements=["search_id", "design_hash"],
        set_={name: statement.excluded[name] for name in verdict},
        where=(CandidateRow.status == "proposed") & (statement.excluded.status != "proposed"),
    )


class Candidates(Store):
    """Candidates by search and design; a verdict, once recorded, stays."""

    def record_candidate(self, candidate: Candidate) -> bool:
        """Record a candidate, or the verdict on a proposed one; True if this changed anything."""
        with self._writing() as session:
            return execute(session, _record, CandidateRow, from_record(candidate)) > 0

    def list_candidates(
        self,
        search_id: str,
        *,
        status: CandidateStatus | None = None,
        after_sequence: int | None = None,
        limit: int | None = None,
    ) -> tuple[Candidate, ...]:
        """Candidates in the order of proposal; pages continue after a sequence number."""
        statement = (
            select(CandidateRow)
            .where(CandidateRow.search_id == search_id)
            .order_by(CandidateRow.sequence_number, CandidateRow.design_hash)
            .limit(limit)
        )
        if status is not None:
            statement = statement.where(CandidateRow.status == status)
        if after_sequence is not None:
            statement = statement.where(CandidateRow.sequence_number > after_sequence)
        with self._reading() as session:
            return tuple(to_record(Candidate, row) for row in rows(session, statement))

    def best_candidates(self, search_id: str, limit: int = 10) -> tuple[Candidate, ...]:
        """Accepted candidates with a gain, largest first."""
        statement = (
            select(CandidateRow)
            .where(
                CandidateRow.search_id == search_id,
                CandidateRow.status == "accepted",
                CandidateRow.gain.is_not(None),
            )
            .order_by(CandidateRow.gain.desc(), CandidateRow.sequence_number, CandidateRow.design_hash)
            .limit(limit)
        )
        with self._reading() as session:
            return tuple(to_record(Candidate, row) for row in rows(session, statement))

    def list_discoveries(
        self, *, search_id: str | None = None, above: float = 0.0, offset: int = 0, limit: int | None = None
    ) -> tuple[tuple[Candidate, str], ...]:
        """Accepted candidates with a gain above this one, largest first, each with its design's summary."""
        statement = (
            select(CandidateRow, DesignRow.summary)
            .join(DesignRow, DesignRow.design_hash == CandidateRow.design_hash)
            .where(CandidateRow.status == "accepted", CandidateRow.gain > above)
            .order_by(CandidateRow.gain.desc(), CandidateRow.search_id, CandidateRow.design_hash)
            .offset(offset)
            .limit(limit)
        )
        if search_id is not None:
            statement = statement.where(CandidateRow.search_id == search_id)
        with self._reading() as session:
            return tuple((to_record(Candidate, row), text) for row, text in session.execute(statement))

    def seen_designs(self, search_id: str) -> frozenset[str]:
        """The hashes of every design that the search recorded, so that none is tried twice."""
        with self._reading() as session:
            statement = select(CandidateRow.design_hash).where(CandidateRow.search_id == search_id)
            return frozenset(session.scalars(statement))

    def count_candidates(self, search_id: str) -> dict[CandidateStatus, int]:
        """How many candidates have each status; statuses without any are 0."""
        counts: dict[CandidateStatus, int] = {"proposed": 0, "accepted": 0, "refused": 0, "failed": 0}
        statement = (
            select(CandidateRow.status, func.count())
            .where(CandidateRow.search_id == search_id)
            .group_by(CandidateRow.status)
        )
        with self._reading() as session:
            for status, number in session.execute(statement):
                counts[status] = number
        return counts

    def count_reasons(self, search_id: str) -> tuple[ReasonCount, ...]:
        """Why candidates were refused or failed, most frequent first, with one example each."""
        counts: Counter[str] = Counter()
        examples: dict[str, Candidate] = {}
        for candidate in self.list_candidates(search_id):
            if candidate.status in ("refused", "failed"):
                for reason in dict.fromkeys(candidate.reasons):
                    counts[reason] += 1
                    examples.setdefault(reason, candidate)
        ordered = sorted(counts, key=lambda reason: (-counts[reason], reason))
        return tuple(ReasonCount(reason=name, count=counts[name], example=examples[name]) for name in ordered)
