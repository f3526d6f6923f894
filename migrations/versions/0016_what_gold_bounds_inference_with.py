"""For the bound of what scores tell about gold: how many instances are public, and whether instances have weights.

Both are unknown for gold that was stored before: there the bound counts with all instances, and without weights.
"""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0005"


def upgrade() -> None:
    op.add_column("gold_versions", sa.Column("public_instances", sa.Integer(), nullable=True))
    op.add_column("gold_versions", sa.Column("weighted", sa.Boolean(), nullable=True))


def downgrade() -> None:
    op.drop_column("gold_versions", "weighted")
    op.drop_column("gold_versions", "public_instances")
