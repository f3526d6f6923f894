"""Prepared gold in the file store: its key and checksum for each gold version and program version."""

import sqlalchemy as sa
from alembic import op

from app.store.types import UTCDateTime

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.create_table(
        "prepared_golds",
        sa.Column("gold_id", sa.String(length=32), nullable=False),
        sa.Column("program", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("file_key", sa.String(length=100), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("created_at", UTCDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["gold_id"], ["gold_versions.id"], name=op.f("fk_prepared_golds_gold_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("gold_id", "program", name=op.f("pk_prepared_golds")),
    )
    op.create_index(op.f("ix_prepared_golds_file_key"), "prepared_golds", ["file_key"])


def downgrade() -> None:
    op.drop_table("prepared_golds")
