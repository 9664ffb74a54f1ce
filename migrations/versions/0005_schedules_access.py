"""Schedules, their runs and the lease of their leader; tokens and sessions."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision: str | None = "0004"
branch_labels: str | None = None
depends_on: str | None = None

ACTIVE = sa.text("state IN ('waiting', 'running', 'paused')")


def _time(name: str, nullable: bool = False) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=nullable)


def _texts(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text(), nullable=False) for name in names]


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "schedules",
        *_texts("id", "name", "cron", "timezone"),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        _time("next_fire_at", nullable=True),
        sa.Column("grace_seconds", sa.BigInteger(), nullable=False),
        *_texts("catch_up", "overlap", "window_start", "window_end", "turn"),
        sa.Column("jobs", sa.JSON(), nullable=False),
        sa.Column("budget", sa.JSON(), nullable=False),
        sa.Column("notify", sa.Boolean(), nullable=False),
        _time("created_at"),
        _time("updated_at"),
        sa.CheckConstraint("catch_up IN ('none', 'latest', 'all')", name=op.f("ck_schedules_catch_up")),
        sa.CheckConstraint("overlap IN ('skip', 'queue', 'cancel')", name=op.f("ck_schedules_overlap")),
        sa.CheckConstraint("turn IN ('all', 'one')", name=op.f("ck_schedules_turn")),
        sa.PrimaryKeyConstraint("id", name="pk_schedules"),
        sa.UniqueConstraint("name", name="uq_schedules_name"),
    )
    op.create_index(
        "ix_schedules_due", "schedules", ["next_fire_at"],
        sqlite_where=sa.text("enabled"), postgresql_where=sa.text("enabled"),
    )  # fmt: skip
    op.create_table(
        "runs",
        *_texts("id", "schedule_id"),
        _time("fire_at"),
        *_texts("state", "reason"),
        sa.Column("jobs", sa.JSON(), nullable=False),
        sa.Column("held", sa.JSON(), nullable=False),
        sa.Column("report", sa.JSON(none_as_null=True), nullable=True),
        *_texts("delivery"),
        sa.Column("deliveries", sa.BigInteger(), nullable=False),
        _time("created_at"),
        _time("started_at", nullable=True),
        _time("finished_at", nullable=True),
        sa.CheckConstraint(
            "state IN ('waiting', 'running', 'paused', 'done', 'failed', 'cancelled', 'skipped', 'missed')",
            name=op.f("ck_runs_state"),
        ),
        sa.CheckConstraint("delivery IN ('none', 'due', 'sent', 'failed')", name=op.f("ck_runs_delivery")),
        sa.ForeignKeyConstraint(
            ["schedule_id"], ["schedules.id"], name="fk_runs_schedule_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
        sa.UniqueConstraint("schedule_id", "fire_at", name="uq_runs_schedule_id_fire_at"),
    )
    op.create_index("ix_runs_active", "runs", ["fire_at"], sqlite_where=ACTIVE, postgresql_where=ACTIVE)
    op.create_index("ix_runs_created_at_id", "runs", ["created_at", "id"])
    op.create_table(
        "leases",
        *_texts("name", "owner"),
        _time("expires_at"),
        sa.PrimaryKeyConstraint("name", name="pk_leases"),
    )
    op.create_table(
        "tokens",
        *_texts("id"),
        sa.Column("token_hash", sa.String(64), nullable=False),
        *_texts("name", "scope"),
        _time("created_at"),
        *(_time(name, nullable=True) for name in ("expires_at", "revoked_at", "used_at")),
        sa.CheckConstraint("scope IN ('read', 'submit', 'admin')", name=op.f("ck_tokens_scope")),
        sa.PrimaryKeyConstraint("id", name="pk_tokens"),
    )
    op.create_table(
        "sessions",
        sa.Column("session_hash", sa.String(64), nullable=False),
        *_texts("token_id"),
        _time("created_at"),
        _time("expires_at"),
        sa.ForeignKeyConstraint(["token_id"], ["tokens.id"], name="fk_sessions_token_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("session_hash", name="pk_sessions"),
    )
    op.create_index("ix_sessions_token_id", "sessions", ["token_id"])
    op.create_index("ix_sessions_expires_at", "sessions", ["expires_at"])


def downgrade() -> None:
    """Remove the tables and their data."""
    for table in ("sessions", "tokens", "leases", "runs", "schedules"):
        op.drop_table(table)
