"""Exchanges with a language model, what its calls cost, and what its endpoints can do."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision: str | None = "0002"
branch_labels: str | None = None
depends_on: str | None = None


def upgrade() -> None:
    """Create the tables of the language model."""
    op.create_table(
        "exchange_contents",
        sa.Column("content_hash", sa.String(64), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("content_hash", name="pk_exchange_contents"),
    )
    op.create_table(
        "exchanges",
        sa.Column("search_id", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("request_hash", sa.String(64), nullable=False),
        sa.Column("answer_hash", sa.String(64), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["search_id"], ["searches.id"], name="fk_exchanges_search_id"),
        sa.ForeignKeyConstraint(
            ["request_hash"], ["exchange_contents.content_hash"], name="fk_exchanges_request_hash"
        ),
        sa.ForeignKeyConstraint(
            ["answer_hash"], ["exchange_contents.content_hash"], name="fk_exchanges_answer_hash"
        ),
        sa.PrimaryKeyConstraint("search_id", "number", name="pk_exchanges"),
    )
    op.create_table(
        "model_calls",
        sa.Column(
            "number",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            sa.Identity(),
            nullable=False,
        ),
        *(
            sa.Column(name, sa.Text(), nullable=False)
            for name in ("search_id", "endpoint", "model", "outcome")
        ),
        *(
            sa.Column(name, sa.BigInteger(), nullable=False)
            for name in ("prompt_tokens", "output_tokens", "reasoning_tokens")
        ),
        sa.Column("cost", sa.Float(53), nullable=True),
        sa.Column("seconds", sa.Float(53), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_model_calls"),
    )
    op.create_index("ix_model_calls_search_id", "model_calls", ["search_id"])
    op.create_index("ix_model_calls_created_at", "model_calls", ["created_at"])
    op.create_table(
        "model_endpoints",
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("endpoint", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("capabilities", sa.JSON(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_model_endpoints"),
    )


def downgrade() -> None:
    """Remove the tables of the language model and their data."""
    for table in ("model_endpoints", "model_calls", "exchanges", "exchange_contents"):
        op.drop_table(table)
