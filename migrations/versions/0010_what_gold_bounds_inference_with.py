"""For the inference bound: the number of public instances, and whether instances have weights.

For existing gold, its notes say whether it has weights; the bound uses all of its instances.
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.add_column("gold_versions", sa.Column("public_instances", sa.Integer(), nullable=True))
    op.add_column("gold_versions", sa.Column("weighted", sa.Boolean(), nullable=True))
    noted = "UPDATE gold_versions SET weighted = (CAST(notes AS TEXT) LIKE '%the instances have weights%')"
    op.execute(sa.text(noted))


def downgrade() -> None:
    op.drop_column("gold_versions", "weighted")
    op.drop_column("gold_versions", "public_instances")
