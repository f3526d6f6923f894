"""Rescoring: the scorer version of each phase, what was rescored, and by which order."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy import JSON

from app.store.types import UTCDateTime

revision = "0005"
down_revision = "0004"

NOT_NULL = sa.text("difference IS NOT NULL")


def upgrade() -> None:
    op.add_column("phases", sa.Column("scorer_version", sa.Integer(), server_default=sa.text("1"), nullable=False))
    op.add_column("score_tasks", sa.Column("rerun_id", sa.String(length=32), nullable=True))
    op.add_column("score_tasks", sa.Column("compared_at", UTCDateTime(), nullable=True))
    op.add_column("score_tasks", sa.Column("difference", JSON(none_as_null=True), nullable=True))
    op.create_index("ix_score_tasks_different", "score_tasks", ["id"], sqlite_where=NOT_NULL, postgresql_where=NOT_NULL)
    op.create_table(
        "reruns",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("phase_id", sa.String(length=32), nullable=False),
        sa.Column("user_id", sa.String(length=32), nullable=False),
        *(sa.Column(name, sa.Integer(), nullable=False) for name in ("scorer_version", "total", "done", "failed")),
        sa.Column("different", sa.Integer(), nullable=False),
        sa.Column("started_at", UTCDateTime(), nullable=False),
        sa.Column("finished_at", UTCDateTime(), nullable=True),
        sa.Column("cancelled_at", UTCDateTime(), nullable=True),
        sa.ForeignKeyConstraint(["phase_id"], ["phases.id"], name=op.f("fk_reruns_phase_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_reruns_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_reruns")),
    )
    op.create_index(op.f("ix_reruns_phase_id"), "reruns", ["phase_id"])


def downgrade() -> None:
    op.drop_table("reruns")
    op.drop_index("ix_score_tasks_different", "score_tasks")
    for name in ("difference", "compared_at", "rerun_id"):
        op.drop_column("score_tasks", name)
    op.drop_column("phases", "scorer_version")
