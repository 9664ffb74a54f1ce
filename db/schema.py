"""The tables. A row is live and stays inside `db`; callers see the frozen records of `db.records`.

A change here needs a new file in `migrations/versions` and a new last entry in `db.revisions.KNOWN`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    ForeignKey,
    Identity,
    Index,
    Integer,
    MetaData,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from db.columns import Finite, PlainText, Sha256, UtcTime, Whole
from db.records import Author, CandidateStatus, HypothesisVerdict, JobState, SearchState, Verdict

NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
    "pk": "pk_%(table_name)s",
}


class Base(DeclarativeBase):
    """The parent of every row."""

    metadata = MetaData(naming_convention=NAMES)


class DesignRow(Base):
    """A design, named by its content."""

    __tablename__ = "designs"
    __table_args__ = (Index(None, "model", "created_at"),)

    design_hash: Mapped[str] = mapped_column(Sha256, primary_key=True)
    structure_hash: Mapped[str] = mapped_column(Sha256, index=True)
    text: Mapped[str] = mapped_column(PlainText)
    model: Mapped[str] = mapped_column(PlainText)
    summary: Mapped[str] = mapped_column(PlainText)
    rule: Mapped[str] = mapped_column(PlainText)
    created_at: Mapped[datetime] = mapped_column(UtcTime, index=True)


class LineageRow(Base):
    """One step from a design to another: which rule, where, with which parameters."""

    __tablename__ = "lineage"

    child_hash: Mapped[str] = mapped_column(ForeignKey("designs.design_hash"), primary_key=True)
    parent_hash: Mapped[str] = mapped_column(ForeignKey("designs.design_hash"), primary_key=True, index=True)
    rule: Mapped[str] = mapped_column(PlainText, primary_key=True)
    site: Mapped[str] = mapped_column(PlainText)
    parameters: Mapped[Any] = mapped_column(JSON)


class CertificateRow(Base):
    """What the verifier said about a pair of structures."""

    __tablename__ = "certificates"
    __table_args__ = (
        UniqueConstraint(
            "reference_structure_hash",
            "candidate_structure_hash",
            "verifier_version",
            name="uq_certificates_pair",
        ),
        CheckConstraint("verdict IN ('accepted', 'refused')", name="verdict"),
    )

    certificate_hash: Mapped[str] = mapped_column(Sha256, primary_key=True)
    verdict: Mapped[Verdict] = mapped_column(PlainText)
    reference_structure_hash: Mapped[str] = mapped_column(Sha256)
    candidate_structure_hash: Mapped[str] = mapped_column(Sha256, index=True)
    verifier_version: Mapped[str] = mapped_column(PlainText)
    body: Mapped[Any] = mapped_column(JSON)
    created_at: Mapped[datetime] = mapped_column(UtcTime, index=True)


class EvaluationRow(Base):
    """The frontier of one design under one set of conditions; the primary key is the result key."""

    __tablename__ = "evaluations"

    design_hash: Mapped[str] = mapped_column(ForeignKey("designs.design_hash"), primary_key=True)
    scenario_hash: Mapped[str] = mapped_column(PlainText, primary_key=True)
    device_hash: Mapped[str] = mapped_column(PlainText, primary_key=True)
    evaluator_version: Mapped[str] = mapped_column(PlainText, primary_key=True)
    setting: Mapped[str] = mapped_column(PlainText, primary_key=True)
    clock: Mapped[str] = mapped_column(PlainText, primary_key=True)
    points: Mapped[Any] = mapped_column(JSON)
    seconds: Mapped[float] = mapped_column(Finite)
    created_at: Mapped[datetime] = mapped_column(UtcTime)


class BaselineRow(Base):
    """The conventional frontier that a search is compared with."""

    __tablename__ = "baselines"

    model: Mapped[str] = mapped_column(PlainText, primary_key=True)
    count: Mapped[int] = mapped_column(Whole, primary_key=True)
    scenario_hash: Mapped[str] = mapped_column(PlainText, primary_key=True)
    device_hash: Mapped[str] = mapped_column(PlainText, primary_key=True)
    evaluator_version: Mapped[str] = mapped_column(PlainText, primary_key=True)
    setting: Mapped[str] = mapped_column(PlainText, primary_key=True)
    clock: Mapped[str] = mapped_column(PlainText, primary_key=True)
    points: Mapped[Any] = mapped_column(JSON)
    created_at: Mapped[datetime] = mapped_column(UtcTime)


class SearchRow(Base):
    """A search, with all that is needed to continue it after its process was killed."""

    __tablename__ = "searches"
    __table_args__ = (
        CheckConstraint("state IN ('running', 'done', 'interrupted')", name="state"),
        Index(None, "model", "device", "scenario_hash"),
    )

    id: Mapped[str] = mapped_column(PlainText, primary_key=True)
    owner: Mapped[str] = mapped_column(PlainText)
    model: Mapped[str] = mapped_column(PlainText)
    device: Mapped[str] = mapped_column(PlainText)
    count: Mapped[int] = mapped_column(Whole)
    scenario: Mapped[Any] = mapped_column(JSON)
    scenario_hash: Mapped[str] = mapped_column(PlainText)
    seed: Mapped[int] = mapped_column(Whole)
    setting: Mapped[str] = mapped_column(PlainText)
    clock: Mapped[str] = mapped_column(PlainText)
    state: Mapped[SearchState] = mapped_column(PlainText)
    counters: Mapped[Any] = mapped_column(JSON)
    cursor: Mapped[Any] = mapped_column(JSON)
    created_at: Mapped[datetime] = mapped_column(UtcTime, index=True)
    updated_at: Mapped[datetime] = mapped_column(UtcTime)
    heartbeat_at: Mapped[datetime] = mapped_column(UtcTime)


class CandidateRow(Base):
    """What became of one design in one search; the partial index serves the list of discoveries."""

    __tablename__ = "candidates"
    __table_args__ = (
        CheckConstraint("status IN ('proposed', 'accepted', 'refused', 'failed')", name="status"),
        Index(None, "search_id", "sequence_number"),
        Index(
            "ix_candidates_discoveries",
            "gain",
            sqlite_where=text("status = 'accepted'"),
            postgresql_where=text("status = 'accepted'"),
        ),
    )

    search_id: Mapped[str] = mapped_column(ForeignKey("searches.id"), primary_key=True)
    design_hash: Mapped[str] = mapped_column(ForeignKey("designs.design_hash"), primary_key=True, index=True)
    status: Mapped[CandidateStatus] = mapped_column(PlainText)
    reasons: Mapped[Any] = mapped_column(JSON)
    detail: Mapped[str] = mapped_column(PlainText)
    certificate_hash: Mapped[str | None] = mapped_column(ForeignKey("certificates.certificate_hash"))
    round_number: Mapped[int] = mapped_column(Whole)
    sequence_number: Mapped[int] = mapped_column(Whole)
    proposer: Mapped[str] = mapped_column(PlainText)
    gain: Mapped[float | None] = mapped_column(Finite)
    parent_hash: Mapped[str | None] = mapped_column(PlainText)
    rule: Mapped[str | None] = mapped_column(PlainText)


class SectionProofRow(Base):
    """A cached result of the verifier for one unit of its work."""

    __tablename__ = "section_proofs"

    key: Mapped[str] = mapped_column(PlainText, primary_key=True)
    value: Mapped[Any] = mapped_column(JSON)


class RuleStatisticsRow(Base):
    """How a rule fared where one resource binds; the scope is a search, or empty for all searches."""

    __tablename__ = "rule_statistics"

    scope: Mapped[str] = mapped_column(PlainText, primary_key=True)
    rule: Mapped[str] = mapped_column(PlainText, primary_key=True)
    resource: Mapped[str] = mapped_column(PlainText, primary_key=True)
    proposed: Mapped[int] = mapped_column(Whole)
    accepted: Mapped[int] = mapped_column(Whole)
    improved: Mapped[int] = mapped_column(Whole)
    gained: Mapped[float] = mapped_column(Finite, server_default="0")


class JobRow(Base):
    """A job; the partial index serves the claim of the next one."""

    __tablename__ = "jobs"
    __table_args__ = (
        CheckConstraint(
            "state IN ('queued', 'running', 'paused', 'done', 'failed', 'cancelled')", name="state"
        ),
        Index(
            "ix_jobs_waiting",
            "priority",
            "created_at",
            sqlite_where=text("state = 'queued'"),
            postgresql_where=text("state = 'queued'"),
        ),
        Index(
            "ix_jobs_running",
            "heartbeat_at",
            sqlite_where=text("state = 'running'"),
            postgresql_where=text("state = 'running'"),
        ),
        Index(None, "created_at", "id"),
    )

    id: Mapped[str] = mapped_column(PlainText, primary_key=True)
    kind: Mapped[str] = mapped_column(PlainText)
    state: Mapped[JobState] = mapped_column(PlainText)
    wanted: Mapped[str] = mapped_column(PlainText)
    priority: Mapped[int] = mapped_column(Whole)
    subject: Mapped[str] = mapped_column(PlainText)
    request: Mapped[Any] = mapped_column(JSON)
    search_id: Mapped[str | None] = mapped_column(PlainText)
    owner: Mapped[str] = mapped_column(PlainText)
    attempts: Mapped[int] = mapped_column(Whole)
    spent_seconds: Mapped[float] = mapped_column(Finite)
    progress: Mapped[Any] = mapped_column(JSON)
    result: Mapped[Any] = mapped_column(JSON(none_as_null=True), nullable=True)
    problem: Mapped[Any] = mapped_column(JSON(none_as_null=True), nullable=True)
    created_at: Mapped[datetime] = mapped_column(UtcTime)
    updated_at: Mapped[datetime] = mapped_column(UtcTime)
    heartbeat_at: Mapped[datetime] = mapped_column(UtcTime)
    started_at: Mapped[datetime | None] = mapped_column(UtcTime)
    finished_at: Mapped[datetime | None] = mapped_column(UtcTime)


class EventRow(Base):
    """What happened, in order. The newest row is never removed, so no number is used twice."""

    __tablename__ = "events"
    __table_args__ = (Index(None, "subject", "number"),)

    number: Mapped[int] = mapped_column(
        BigInteger().with_variant(Integer(), "sqlite"), Identity(), primary_key=True
    )
    kind: Mapped[str] = mapped_column(PlainText)
    subject: Mapped[str] = mapped_column(PlainText)
    data: Mapped[Any] = mapped_column(JSON)
    created_at: Mapped[datetime] = mapped_column(UtcTime, index=True)


class AnswerRow(Base):
    """The first answer to a request with a key."""

    __tablename__ = "answers"

    key: Mapped[str] = mapped_column(Sha256, primary_key=True)
    request_hash: Mapped[str] = mapped_column(Sha256)
    status: Mapped[int] = mapped_column(Whole)
    headers: Mapped[Any] = mapped_column(JSON)
    body: Mapped[str] = mapped_column(PlainText)
    created_at: Mapped[datetime] = mapped_column(UtcTime, index=True)


class ExchangeContentRow(Base):
    """A text of an exchange, named by its content."""

    __tablename__ = "exchange_contents"

    content_hash: Mapped[str] = mapped_column(Sha256, primary_key=True)
    text: Mapped[str] = mapped_column(PlainText)


class ExchangeRow(Base):
    """One thing that a search asked of the world outside, and the answer."""

    __tablename__ = "exchanges"

    search_id: Mapped[str] = mapped_column(ForeignKey("searches.id"), primary_key=True)
    number: Mapped[int] = mapped_column(Whole, primary_key=True)
    kind: Mapped[str] = mapped_column(PlainText)
    request_hash: Mapped[str] = mapped_column(ForeignKey("exchange_contents.content_hash"))
    answer_hash: Mapped[str] = mapped_column(ForeignKey("exchange_contents.content_hash"))
    created_at: Mapped[datetime] = mapped_column(UtcTime)


class ModelCallRow(Base):
    """One call of a language model and what it cost; its worst until it has ended."""

    __tablename__ = "model_calls"

    number: Mapped[int] = mapped_column(
        BigInteger().with_variant(Integer(), "sqlite"), Identity(), primary_key=True
    )
    search_id: Mapped[str] = mapped_column(PlainText, index=True)
    endpoint: Mapped[str] = mapped_column(PlainText)
    model: Mapped[str] = mapped_column(PlainText)
    outcome: Mapped[str] = mapped_column(PlainText)
    prompt_tokens: Mapped[int] = mapped_column(Whole)
    output_tokens: Mapped[int] = mapped_column(Whole)
    reasoning_tokens: Mapped[int] = mapped_column(Whole)
    cost: Mapped[float | None] = mapped_column(Finite)
    seconds: Mapped[float] = mapped_column(Finite)
    created_at: Mapped[datetime] = mapped_column(UtcTime, index=True)


class ModelEndpointRow(Base):
    """What a model at an endpoint can do, found out once."""

    __tablename__ = "model_endpoints"

    key: Mapped[str] = mapped_column(Sha256, primary_key=True)
    endpoint: Mapped[str] = mapped_column(PlainText)
    model: Mapped[str] = mapped_column(PlainText)
    capabilities: Mapped[Any] = mapped_column(JSON)
    updated_at: Mapped[datetime] = mapped_column(UtcTime)


class NoteRow(Base):
    """A thought that somebody wants to be remembered, named by its content."""

    __tablename__ = "notes"
    __table_args__ = (CheckConstraint("author IN ('person', 'llm', 'search')", name="author"),)

    note_id: Mapped[str] = mapped_column(Sha256, primary_key=True)
    text: Mapped[str] = mapped_column(PlainText)
    author: Mapped[Author] = mapped_column(PlainText)
    model: Mapped[str] = mapped_column(PlainText)
    search_id: Mapped[str] = mapped_column(PlainText)
    tags: Mapped[Any] = mapped_column(JSON)
    created_at: Mapped[datetime] = mapped_column(UtcTime, index=True)


class HypothesisRow(Base):
    """What somebody expects of a rule, and what was measured."""

    __tablename__ = "hypotheses"
    __table_args__ = (
        CheckConstraint("author IN ('person', 'llm', 'search')", name="author"),
        CheckConstraint("verdict IN ('open', 'confirmed', 'refuted')", name="verdict"),
    )

    hypothesis_id: Mapped[str] = mapped_column(Sha256, primary_key=True)
    statement: Mapped[str] = mapped_column(PlainText)
    author: Mapped[Author] = mapped_column(PlainText)
    rule: Mapped[str] = mapped_column(PlainText)
    resource: Mapped[str] = mapped_column(PlainText)
    model: Mapped[str] = mapped_column(PlainText)
    search_id: Mapped[str] = mapped_column(PlainText)
    verdict: Mapped[HypothesisVerdict] = mapped_column(PlainText)
    prediction: Mapped[float | None] = mapped_column(Finite)
    measurement: Mapped[float | None] = mapped_column(Finite)
    trials: Mapped[int] = mapped_column(Whole)
    created_at: Mapped[datetime] = mapped_column(UtcTime)
    updated_at: Mapped[datetime] = mapped_column(UtcTime)


class ExperienceRow(Base):
    """The problem of a search in another database whose rule statistics were imported."""

    __tablename__ = "experiences"

    search_id: Mapped[str] = mapped_column(PlainText, primary_key=True)
    problem: Mapped[Any] = mapped_column(JSON)
    created_at: Mapped[datetime] = mapped_column(UtcTime)
