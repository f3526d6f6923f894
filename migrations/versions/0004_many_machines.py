"""Several machines: workers that share the work list, the tables of the queue engine, and indexes for large stores."""

import sqlalchemy as sa
from alembic import op

from app.store.types import UTCDateTime

revision = "0004"
down_revision = "0003"

INDEXES = (
    ("ix_submissions_file_key", "submissions", "file_key"),
    ("ix_gold_versions_file_key", "gold_versions", "file_key"),
    ("ix_idempotency_keys_created_at", "idempotency_keys", "created_at"),
    ("ix_idempotency_keys_submission_id", "idempotency_keys", "submission_id"),
)
ENGINE = "procrastinate\\_%"


def upgrade() -> None:
    op.create_table(
        "workers",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=300), nullable=False),
        sa.Column("slots", sa.Integer(), nullable=False),
        sa.Column("started_at", UTCDateTime(), nullable=False),
        sa.Column("heartbeat_at", UTCDateTime(), nullable=False),
        sa.Column("claimed_at", UTCDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workers")),
    )
    for name, table, column in INDEXES:
        op.create_index(name, table, [column])
    if op.get_bind().dialect.name == "postgresql":
        # Every start reads this file; SQLite is spared the third of a second that the engine takes to import.
        from procrastinate.schema import SchemaManager  # noqa: PLC0415

        # The driver's own cursor, for the text holds per cent signs and many statements. It is that of the version
        # that is pinned; a later one brings its changes in a revision of its own.
        cursor = op.get_bind().connection.cursor()
        cursor.execute(SchemaManager.get_schema())
        cursor.close()


def downgrade() -> None:
    bind = op.get_bind()
    if bind.dialect.name == "postgresql":
        for kind, found in (
            (
                "TABLE",
                "SELECT relname::text FROM pg_class WHERE relkind = 'r' AND pg_table_is_visible(oid) AND relname",
            ),
            ("FUNCTION", "SELECT oid::regprocedure::text FROM pg_proc WHERE pg_function_is_visible(oid) AND proname"),
            (
                "TYPE",
                "SELECT typname::text FROM pg_type WHERE typtype IN ('e', 'c') AND pg_type_is_visible(oid) AND typname",
            ),
        ):
            for name in bind.execute(sa.text(f"{found} LIKE :pattern"), {"pattern": ENGINE}).scalars().all():
                op.execute(f"DROP {kind} IF EXISTS {name} CASCADE")
    for name, table, _ in INDEXES:
        op.drop_index(name, table)
    op.drop_table("workers")
