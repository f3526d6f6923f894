"""For the size limits of prediction files: the longest id of the gold, and the number of instances that are not scored.

For existing gold neither is known; its ids are assumed to have the maximum length.
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.add_column("gold_versions", sa.Column("void_instances", sa.Integer(), nullable=True))
    op.add_column("gold_versions", sa.Column("longest_id", sa.Integer(), nullable=True))


def downgrade() -> None:
    op.drop_column("gold_versions", "longest_id")
    op.drop_column("gold_versions", "void_instances")
