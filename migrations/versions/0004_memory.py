"""Memory: notes, hypotheses, searches of elsewhere, what rules gained, and whom a candidate grew from."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision: str | None = "0003"
branch_labels: str | None = None
depends_on: str | None = None


def upgrade() -> None:
    """Create the tables of memory; what rules gained before is not known and counts as nothing."""
    op.add_column("rule_statistics", sa.Column("gained", sa.Float(53), server_default="0", nullable=False))
    for name in ("parent_hash", "rule"):
        op.add_column("candidates", sa.Column(name, sa.Text(), nullable=True))
    op.create_table(
        "notes",
        sa.Column("note_id", sa.String(64), nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("text", "author", "model", "search_id")),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("author IN ('person', 'llm', 'search')", name=op.f("ck_notes_author")),
        sa.PrimaryKeyConstraint("note_id", name="pk_notes"),
    )
    op.create_index("ix_notes_created_at", "notes", ["created_at"])
    op.create_table(
        "hypotheses",
        sa.Column("hypothesis_id", sa.String(64), nullable=False),
        *(
            sa.Column(name, sa.Text(), nullable=False)
            for name in ("statement", "author", "rule", "resource", "model", "search_id", "verdict")
        ),
        sa.Column("prediction", sa.Float(53), nullable=True),
        sa.Column("measurement", sa.Float(53), nullable=True),
        sa.Column("trials", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("author IN ('person', 'llm', 'search')", name=op.f("ck_hypotheses_author")),
        sa.CheckConstraint("verdict IN ('open', 'confirmed', 'refuted')", name=op.f("ck_hypotheses_verdict")),
        sa.PrimaryKeyConstraint("hypothesis_id", name="pk_hypotheses"),
    )
    op.create_table(
        "experiences",
        sa.Column("search_id", sa.Text(), nullable=False),
        sa.Column("problem", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("search_id", name="pk_experiences"),
    )


def downgrade() -> None:
    """Remove the tables of memory and their data."""
    for table in ("experiences", "hypotheses", "notes"):
        op.drop_table(table)
    with op.batch_alter_table("candidates") as candidates:
        for name in ("rule", "parent_hash"):
            candidates.drop_column(name)
    with op.batch_alter_table("rule_statistics") as statistics:
        statistics.drop_column("gained")
