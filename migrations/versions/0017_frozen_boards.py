"""Frozen boards."""

import sqlalchemy as sa
from alembic import op

from app.store.types import UTCDateTime

revision = "0017"
down_revision = "0016"

ID = sa.String(length=32)


def upgrade() -> None:
    op.create_table(
        "frozen_boards",
        sa.Column("id", ID, nullable=False),
        sa.Column("phase_id", ID, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("title", sa.String(length=200), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("checkpoint", sa.Text()),
        sa.Column("frozen_by", ID),
        sa.Column("created_at", UTCDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["phase_id"], ["phases.id"], name=op.f("fk_frozen_boards_phase_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["frozen_by"], ["users.id"], name=op.f("fk_frozen_boards_frozen_by")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_frozen_boards")),
        sa.UniqueConstraint("phase_id", "number", name=op.f("uq_frozen_boards_phase_id_number")),
    )
    op.create_index(op.f("ix_frozen_boards_sha256"), "frozen_boards", ["sha256"])


def downgrade() -> None:
    op.drop_table("frozen_boards")
