"""What alembic runs: applies the revisions in the transaction that `db.migrate` opened."""

from __future__ import annotations

from alembic import context
from sqlalchemy import Connection

from db.errors import OpenError
from db.revisions import VERSION_TABLE
from db.schema import Base

connection = context.config.attributes.get("connection")
if not isinstance(connection, Connection):
    raise OpenError(
        "migrations must run on an open connection, but got none; call db.upgrade or db.downgrade"
    )

context.configure(
    connection=connection,
    target_metadata=Base.metadata,
    version_table=VERSION_TABLE,
    transactional_ddl=True,
    render_as_batch=connection.dialect.name == "sqlite",
)
with context.begin_transaction():
    context.run_migrations()
