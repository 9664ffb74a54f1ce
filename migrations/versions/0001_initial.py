"""The first tables: designs and lineage, certificates, evaluations and baselines, searches and candidates."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision: str | None = None
branch_labels: str | None = None
depends_on: str | None = None


def upgrade() -> None:
    """Create every table."""
    _create_designs()
    _create_evaluations()
    _create_searches()
    op.create_table(
        "section_proofs",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_section_proofs"),
    )
    op.create_table(
        "rule_statistics",
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("resource", sa.Text(), nullable=False),
        sa.Column("proposed", sa.BigInteger(), nullable=False),
        sa.Column("accepted", sa.BigInteger(), nullable=False),
        sa.Column("improved", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("scope", "rule", "resource", name="pk_rule_statistics"),
    )


def downgrade() -> None:
    """Remove every table and all data."""
    for table in (
        "rule_statistics",
        "section_proofs",
        "candidates",
        "searches",
        "baselines",
        "evaluations",
        "certificates",
        "lineage",
        "designs",
    ):
        op.drop_table(table)


def _create_designs() -> None:
    op.create_table(
        "designs",
        sa.Column("design_hash", sa.String(64), nullable=False),
        sa.Column("structure_hash", sa.String(64), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("design_hash", name="pk_designs"),
    )
    op.create_index("ix_designs_structure_hash", "designs", ["structure_hash"])
    op.create_index("ix_designs_model", "designs", ["model"])
    op.create_table(
        "lineage",
        sa.Column("child_hash", sa.String(64), nullable=False),
        sa.Column("parent_hash", sa.String(64), nullable=False),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("site", sa.Text(), nullable=False),
        sa.Column("parameters", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["child_hash"], ["designs.design_hash"], name="fk_lineage_child_hash"),
        sa.ForeignKeyConstraint(["parent_hash"], ["designs.design_hash"], name="fk_lineage_parent_hash"),
        sa.PrimaryKeyConstraint("child_hash", "parent_hash", "rule", name="pk_lineage"),
    )
    op.create_index("ix_lineage_parent_hash", "lineage", ["parent_hash"])
    op.create_table(
        "certificates",
        sa.Column("certificate_hash", sa.String(64), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("reference_structure_hash", sa.String(64), nullable=False),
        sa.Column("candidate_structure_hash", sa.String(64), nullable=False),
        sa.Column("verifier_version", sa.Text(), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("verdict IN ('accepted', 'refused')", name=op.f("ck_certificates_verdict")),
        sa.PrimaryKeyConstraint("certificate_hash", name="pk_certificates"),
        sa.UniqueConstraint(
            "reference_structure_hash",
            "candidate_structure_hash",
            "verifier_version",
            name="uq_certificates_pair",
        ),
    )
    op.create_index("ix_certificates_candidate_structure_hash", "certificates", ["candidate_structure_hash"])


def _create_evaluations() -> None:
    conditions = ("scenario_hash", "device_hash", "evaluator_version", "setting", "clock")
    op.create_table(
        "evaluations",
        sa.Column("design_hash", sa.String(64), nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in conditions),
        sa.Column("points", sa.JSON(), nullable=False),
        sa.Column("seconds", sa.Float(53), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["design_hash"], ["designs.design_hash"], name="fk_evaluations_design_hash"),
        sa.PrimaryKeyConstraint("design_hash", *conditions, name="pk_evaluations"),
    )
    op.create_table(
        "baselines",
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in conditions),
        sa.Column("points", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("model", "count", *conditions, name="pk_baselines"),
    )


def _create_searches() -> None:
    op.create_table(
        "searches",
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("id", "owner", "model", "device")),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("scenario", sa.JSON(), nullable=False),
        sa.Column("scenario_hash", sa.Text(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("setting", "clock", "state")),
        sa.Column("counters", sa.JSON(), nullable=False),
        sa.Column("cursor", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("heartbeat_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("state IN ('running', 'done', 'interrupted')", name=op.f("ck_searches_state")),
        sa.PrimaryKeyConstraint("id", name="pk_searches"),
    )
    op.create_index(
        "ix_searches_model_device_scenario_hash", "searches", ["model", "device", "scenario_hash"]
    )
    op.create_index("ix_searches_created_at", "searches", ["created_at"])
    op.create_table(
        "candidates",
        sa.Column("search_id", sa.Text(), nullable=False),
        sa.Column("design_hash", sa.String(64), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("reasons", sa.JSON(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("certificate_hash", sa.String(64), nullable=True),
        sa.Column("round_number", sa.BigInteger(), nullable=False),
        sa.Column("sequence_number", sa.BigInteger(), nullable=False),
        sa.Column("proposer", sa.Text(), nullable=False),
        sa.Column("gain", sa.Float(53), nullable=True),
        sa.CheckConstraint(
            "status IN ('proposed', 'accepted', 'refused', 'failed')", name=op.f("ck_candidates_status")
        ),
        sa.ForeignKeyConstraint(
            ["certificate_hash"], ["certificates.certificate_hash"], name="fk_candidates_certificate_hash"
        ),
        sa.ForeignKeyConstraint(["design_hash"], ["designs.design_hash"], name="fk_candidates_design_hash"),
        sa.ForeignKeyConstraint(["search_id"], ["searches.id"], name="fk_candidates_search_id"),
        sa.PrimaryKeyConstraint("search_id", "design_hash", name="pk_candidates"),
    )
    op.create_index("ix_candidates_design_hash", "candidates", ["design_hash"])
    op.create_index("ix_candidates_search_id_sequence_number", "candidates", ["search_id", "sequence_number"])
