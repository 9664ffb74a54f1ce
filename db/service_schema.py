"""Tables of the service beside its jobs: schedules, their runs, leases, tokens and sessions."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Boolean, CheckConstraint, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from db.columns import PlainText, Sha256, UtcTime, Whole
from db.schema import Base
from db.service_records import CatchUp, Delivery, Overlap, RunState, TokenScope, Turn

ACTIVE = "state IN ('waiting', 'running', 'paused')"


class ScheduleRow(Base):
    """When which jobs are begun; the partial index serves the look for what is due."""

    __tablename__ = "schedules"
    __table_args__ = (
        UniqueConstraint("name"),
        CheckConstraint("catch_up IN ('none', 'latest', 'all')", name="catch_up"),
        CheckConstraint("overlap IN ('skip', 'queue', 'cancel')", name="overlap"),
        CheckConstraint("turn IN ('all', 'one')", name="turn"),
        Index(
            "ix_schedules_due", "next_fire_at", sqlite_where=text("enabled"), postgresql_where=text("enabled")
        ),
    )

    id: Mapped[str] = mapped_column(PlainText, primary_key=True)
    name: Mapped[str] = mapped_column(PlainText)
    cron: Mapped[str] = mapped_column(PlainText)
    timezone: Mapped[str] = mapped_column(PlainText)
    enabled: Mapped[bool] = mapped_column(Boolean)
    next_fire_at: Mapped[datetime | None] = mapped_column(UtcTime)
    grace_seconds: Mapped[int] = mapped_column(Whole)
    catch_up: Mapped[CatchUp] = mapped_column(PlainText)
    overlap: Mapped[Overlap] = mapped_column(PlainText)
    window_start: Mapped[str] = mapped_column(PlainText)
    window_end: Mapped[str] = mapped_column(PlainText)
    turn: Mapped[Turn] = mapped_column(PlainText)
    jobs: Mapped[Any] = mapped_column(JSON)
    budget: Mapped[Any] = mapped_column(JSON)
    notify: Mapped[bool] = mapped_column(Boolean)
    created_at: Mapped[datetime] = mapped_column(UtcTime)
    updated_at: Mapped[datetime] = mapped_column(UtcTime)


class RunRow(Base):
    """One fire of a schedule; the unique pair is what keeps two servers from firing twice."""

    __tablename__ = "runs"
    __table_args__ = (
        UniqueConstraint("schedule_id", "fire_at"),
        CheckConstraint(
            "state IN ('waiting', 'running', 'paused', 'done', 'failed', 'cancelled', 'skipped', 'missed')",
            name="state",
        ),
        CheckConstraint("delivery IN ('none', 'due', 'sent', 'failed')", name="delivery"),
        Index("ix_runs_active", "fire_at", sqlite_where=text(ACTIVE), postgresql_where=text(ACTIVE)),
        Index(None, "created_at", "id"),
    )

    id: Mapped[str] = mapped_column(PlainText, primary_key=True)
    schedule_id: Mapped[str] = mapped_column(ForeignKey("schedules.id", ondelete="CASCADE"))
    fire_at: Mapped[datetime] = mapped_column(UtcTime)
    state: Mapped[RunState] = mapped_column(PlainText)
    reason: Mapped[str] = mapped_column(PlainText)
    jobs: Mapped[Any] = mapped_column(JSON)
    held: Mapped[Any] = mapped_column(JSON)
    report: Mapped[Any] = mapped_column(JSON(none_as_null=True), nullable=True)
    delivery: Mapped[Delivery] = mapped_column(PlainText)
    deliveries: Mapped[int] = mapped_column(Whole)
    created_at: Mapped[datetime] = mapped_column(UtcTime)
    started_at: Mapped[datetime | None] = mapped_column(UtcTime)
    finished_at: Mapped[datetime | None] = mapped_column(UtcTime)


class LeaseRow(Base):
    """What one of several servers may do at a time."""

    __tablename__ = "leases"

    name: Mapped[str] = mapped_column(PlainText, primary_key=True)
    owner: Mapped[str] = mapped_column(PlainText)
    expires_at: Mapped[datetime] = mapped_column(UtcTime)


class TokenRow(Base):
    """A token, of which the hash alone is kept."""

    __tablename__ = "tokens"
    __table_args__ = (CheckConstraint("scope IN ('read', 'submit', 'admin')", name="scope"),)

    id: Mapped[str] = mapped_column(PlainText, primary_key=True)
    token_hash: Mapped[str] = mapped_column(Sha256)
    name: Mapped[str] = mapped_column(PlainText)
    scope: Mapped[TokenScope] = mapped_column(PlainText)
    created_at: Mapped[datetime] = mapped_column(UtcTime)
    expires_at: Mapped[datetime | None] = mapped_column(UtcTime)
    revoked_at: Mapped[datetime | None] = mapped_column(UtcTime)
    used_at: Mapped[datetime | None] = mapped_column(UtcTime)


class SessionRow(Base):
    """A browser that has shown a token, by the hash of its cookie."""

    __tablename__ = "sessions"

    session_hash: Mapped[str] = mapped_column(Sha256, primary_key=True)
    token_id: Mapped[str] = mapped_column(ForeignKey("tokens.id", ondelete="CASCADE"), index=True)
    created_at: Mapped[datetime] = mapped_column(UtcTime)
    expires_at: Mapped[datetime] = mapped_column(UtcTime, index=True)
