"""Runs the revisions on the connection of app.store.migrate."""

from alembic import context

from app.store.migrate import include_name
from app.store.tables import Base

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=Base.metadata,
    include_name=include_name,
    render_as_batch=True,
    compare_type=True,
    transaction_per_migration=False,
)
context.run_migrations()
