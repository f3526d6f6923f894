"""One column for all gold metadata, which may now include a hierarchy, costs, folds and groups."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

FIELDS = ("train_frequencies", "class_weights")


def _versions(*fields: str) -> sa.TableClause:
    columns: list[sa.ColumnClause[Any]] = [sa.column(field, sa.JSON(none_as_null=True)) for field in fields]
    return sa.table("gold_versions", sa.column("id", sa.String), *columns)


def upgrade() -> None:
    column = sa.Column("accessories", sa.JSON(), server_default=sa.text("'{}'"), nullable=False)
    op.add_column("gold_versions", column)
    versions = _versions("accessories", *FIELDS)
    bind = op.get_bind()
    for row in bind.execute(sa.select(versions)).mappings().all():
        found = {field: row[field] for field in FIELDS if row[field] is not None}
        bind.execute(versions.update().where(versions.c.id == row["id"]).values(accessories=found))
    for field in FIELDS:
        op.drop_column("gold_versions", field)


def downgrade() -> None:
    versions = _versions("accessories", *FIELDS)
    bind = op.get_bind()
    rows = bind.execute(sa.select(versions.c.id, versions.c.accessories)).mappings().all()
    if any(set(row["accessories"]) - set(FIELDS) for row in rows):
        msg = "gold_versions holds what the earlier version cannot keep (hierarchy, costs, folds, groups)"
        raise RuntimeError(msg)
    for field in FIELDS:
        op.add_column("gold_versions", sa.Column(field, sa.JSON(), nullable=True))
    for row in rows:
        if row["accessories"]:
            bind.execute(versions.update().where(versions.c.id == row["id"]).values(**row["accessories"]))
    op.drop_column("gold_versions", "accessories")
