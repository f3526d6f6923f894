"""For the bound of a file of predictions: the longest id of gold, and how many of its instances are not scored.

Of gold that was stored before neither is known; its ids are taken to be as long as ids may be.
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
