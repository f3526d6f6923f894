"""Address blocks from which a user has logged in; later logins from there are not delayed."""

import sqlalchemy as sa
from alembic import op

from app.store.types import UTCDateTime

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.create_table(
        "known_addresses",
        sa.Column("user_id", sa.String(length=32), nullable=False),
        sa.Column("block", sa.String(length=64), nullable=False),
        sa.Column("last_at", UTCDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_known_addresses_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "block", name=op.f("pk_known_addresses")),
    )
    op.create_index(op.f("ix_known_addresses_last_at"), "known_addresses", ["last_at"])


def downgrade() -> None:
    op.drop_table("known_addresses")
