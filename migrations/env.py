"""Runs the revisions on the connection that app.store.migrate hands over."""

from alembic import context

from app.store.migrate import ours
from app.store.tables import Base

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=Base.metadata,
    include_name=ours,
    render_as_batch=True,
    compare_type=True,
    transaction_per_migration=False,
)
context.run_migrations()
