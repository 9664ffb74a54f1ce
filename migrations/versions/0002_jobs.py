"""Jobs, events, and answers to requests that may be sent again."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision: str | None = "0001"
branch_labels: str | None = None
depends_on: str | None = None


def upgrade() -> None:
    """Create the tables of the service."""
    _create_jobs()
    op.create_table(
        "events",
        sa.Column(
            "number",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            sa.Identity(),
            nullable=False,
        ),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_events"),
    )
    op.create_index("ix_events_subject_number", "events", ["subject", "number"])
    op.create_index("ix_events_created_at", "events", ["created_at"])
    op.create_table(
        "answers",
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("request_hash", sa.String(64), nullable=False),
        sa.Column("status", sa.BigInteger(), nullable=False),
        sa.Column("headers", sa.JSON(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_answers"),
    )
    op.create_index("ix_answers_created_at", "answers", ["created_at"])


def downgrade() -> None:
    """Remove the tables of the service and their data."""
    for table in ("answers", "events", "jobs"):
        op.drop_table(table)


def _create_jobs() -> None:
    op.create_table(
        "jobs",
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("id", "kind", "state", "wanted")),
        sa.Column("priority", sa.BigInteger(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("request", sa.JSON(), nullable=False),
        sa.Column("search_id", sa.Text(), nullable=True),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("attempts", sa.BigInteger(), nullable=False),
        sa.Column("spent_seconds", sa.Float(53), nullable=False),
        sa.Column("progress", sa.JSON(), nullable=False),
        sa.Column("result", sa.JSON(), nullable=True),
        sa.Column("problem", sa.JSON(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("heartbeat_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "state IN ('queued', 'running', 'paused', 'done', 'failed', 'cancelled')",
            name=op.f("ck_jobs_state"),
        ),
        sa.PrimaryKeyConstraint("id", name="pk_jobs"),
    )
    for name, columns, state in (
        ("ix_jobs_waiting", ["priority", "created_at"], "queued"),
        ("ix_jobs_running", ["heartbeat_at"], "running"),
    ):
        where = sa.text(f"state = '{state}'")
        op.create_index(name, "jobs", columns, sqlite_where=where, postgresql_where=where)
    op.create_index("ix_jobs_created_at_id", "jobs", ["created_at", "id"])
