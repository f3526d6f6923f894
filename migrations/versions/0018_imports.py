"""Imported phases."""

import sqlalchemy as sa
from alembic import op

from app.store.types import UTCDateTime

revision = "0018"
down_revision = "0017"

ID = sa.String(length=32)
UNFAILED = sa.text("status <> 'failed'")
KINDS = ("challenge", "phase", "gold", "recipe", "team", "submission", "switch")


def one_of(column: str, *values: str) -> sa.CheckConstraint:
    quoted = ", ".join(f"'{value}'" for value in values)
    return sa.CheckConstraint(f"{column} IN ({quoted})", name=column)


def upgrade() -> None:
    op.create_table(
        "imports",
        sa.Column("id", ID, nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("stage", sa.String(length=16), server_default=sa.text("''"), nullable=False),
        sa.Column("slug", sa.String(length=64), nullable=False),
        sa.Column("origin", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("origin_phase_id", ID, nullable=False),
        sa.Column("file_key", sa.String(length=100)),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        *(sa.Column(name, sa.Integer(), server_default=sa.text("0"), nullable=False) for name in ("total", "done")),
        sa.Column("attempt", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("lease_until", UTCDateTime()),
        sa.Column("failure", sa.JSON(none_as_null=True)),
        sa.Column("reason", sa.Text()),
        sa.Column("requested_by", ID),
        sa.Column("requested_at", UTCDateTime(), nullable=False),
        sa.Column("finished_at", UTCDateTime()),
        sa.Column("challenge_id", ID),
        sa.Column("phase_id", ID),
        one_of("status", "queued", "running", "done", "failed"),
        sa.ForeignKeyConstraint(["requested_by"], ["users.id"], name=op.f("fk_imports_requested_by")),
        sa.ForeignKeyConstraint(
            ["challenge_id"], ["challenges.id"], name=op.f("fk_imports_challenge_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_imports")),
    )
    op.create_index(op.f("ix_imports_file_key"), "imports", ["file_key"])
    op.create_index(op.f("ix_imports_challenge_id"), "imports", ["challenge_id"])
    op.create_index(
        "uq_imports_origin_phase_id",
        "imports",
        ["origin_phase_id"],
        unique=True,
        sqlite_where=UNFAILED,
        postgresql_where=UNFAILED,
    )
    op.create_table(
        "imported_ids",
        sa.Column("import_id", ID, nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("origin_id", sa.String(length=64), nullable=False),
        sa.Column("local_id", ID, nullable=False),
        one_of("kind", *KINDS),
        sa.ForeignKeyConstraint(
            ["import_id"], ["imports.id"], name=op.f("fk_imported_ids_import_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("import_id", "kind", "origin_id", name=op.f("pk_imported_ids")),
    )
    op.create_index("ix_imported_ids_local_id", "imported_ids", ["local_id"])
    parents = {"import_id": "imports", "submission_id": "submissions"}
    parents |= {"gold_id": "gold_versions", "recipe_id": "recipes"}
    op.create_table(
        "foreign_receipts",
        sa.Column("id", ID, nullable=False),
        sa.Column("import_id", ID, nullable=False),
        sa.Column("origin_id", sa.String(length=64), nullable=False),
        *(sa.Column(name, ID, nullable=False) for name in ("submission_id", "gold_id", "recipe_id")),
        sa.Column("scorer_version", sa.Integer(), nullable=False),
        sa.Column("split", sa.String(length=16), nullable=False),
        sa.Column("envelope", sa.Text(), nullable=False),
        sa.Column("proof", sa.Text()),
        *(
            sa.ForeignKeyConstraint(
                [name], [f"{table}.id"], name=op.f(f"fk_foreign_receipts_{name}"), ondelete="CASCADE"
            )
            for name, table in parents.items()
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_foreign_receipts")),
        sa.UniqueConstraint(
            *("submission_id", "gold_id", "recipe_id", "scorer_version", "split"),
            name="uq_foreign_receipts_score",
        ),
    )
    for name in ("import_id", "gold_id", "recipe_id"):
        op.create_index(op.f(f"ix_foreign_receipts_{name}"), "foreign_receipts", [name])


def downgrade() -> None:
    for table in ("foreign_receipts", "imported_ids", "imports"):
        op.drop_table(table)
