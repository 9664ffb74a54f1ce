"""Indices that serve the lists of a large database: designs, certificates and discoveries."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision: str | None = "0005"
branch_labels: str | None = None
depends_on: str | None = None

ACCEPTED = sa.text("status = 'accepted'")


def upgrade() -> None:
    """Create the indices."""
    op.create_index("ix_designs_created_at", "designs", ["created_at"])
    op.create_index("ix_designs_model_created_at", "designs", ["model", "created_at"])
    op.drop_index("ix_designs_model", "designs")
    op.create_index("ix_certificates_created_at", "certificates", ["created_at"])
    op.create_index(
        "ix_candidates_discoveries", "candidates", ["gain"], sqlite_where=ACCEPTED, postgresql_where=ACCEPTED
    )


def downgrade() -> None:
    """Remove them."""
    op.drop_index("ix_candidates_discoveries", "candidates")
    op.drop_index("ix_certificates_created_at", "certificates")
    op.create_index("ix_designs_model", "designs", ["model"])
    op.drop_index("ix_designs_model_created_at", "designs")
    op.drop_index("ix_designs_created_at", "designs")
