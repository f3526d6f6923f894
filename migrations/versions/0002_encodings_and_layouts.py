"""Several encodings and layouts of files: `encoding` replaces `gzipped`, and `layout` is added."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

TABLES = ("gold_versions", "submissions")


def upgrade() -> None:
    for name in TABLES:
        for column in ("encoding", "layout"):
            op.add_column(name, sa.Column(column, sa.String(length=16), server_default=sa.text("''"), nullable=False))
        files = sa.table(name, sa.column("encoding", sa.String), sa.column("gzipped", sa.Boolean))
        op.execute(files.update().where(files.c.gzipped).values(encoding="gzip"))
        op.drop_column(name, "gzipped")


def downgrade() -> None:
    for name in TABLES:
        files = sa.table(name, sa.column("encoding", sa.String), sa.column("layout", sa.String))
        newer = (
            sa.select(sa.func.count()).select_from(files).where((files.c.encoding == "zstd") | (files.c.layout != ""))
        )
        if op.get_bind().scalar(newer):
            msg = f"{name} holds files that the earlier version cannot read (zstd, or layout=long)"
            raise RuntimeError(msg)
        op.add_column(name, sa.Column("gzipped", sa.Boolean(), server_default=sa.false(), nullable=False))
        files = sa.table(name, sa.column("encoding", sa.String), sa.column("gzipped", sa.Boolean))
        op.execute(files.update().where(files.c.encoding == "gzip").values(gzipped=True))
        for column in ("layout", "encoding"):
            op.drop_column(name, column)
