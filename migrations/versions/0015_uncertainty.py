"""Draw seeds of gold, and how sure scores and boards are: tasks, results and changes that call for new ones."""

import hashlib
import json
from datetime import UTC, datetime
from secrets import token_hex
from typing import Any

import sqlalchemy as sa
from alembic import op

from app.store.types import UTCDateTime, new_id

revision = "0015"
down_revision = "0014"

ID = sa.String(length=32)
JSON = sa.JSON(none_as_null=True)
BATCH_ROWS = 500
STATUS = {"queued": "status = 'queued'", "running": "status = 'running'"}
UNFINISHED = sa.text(
    """
    SELECT DISTINCT scores.submission_id, scores.gold_id, scores.recipe_id, scores.scorer_version
    FROM scores
    JOIN submissions ON submissions.id = scores.submission_id
    JOIN phases ON phases.id = submissions.phase_id AND phases.scorer_version = scores.scorer_version
    WHERE submissions.status = 'finished' ORDER BY scores.submission_id, scores.recipe_id
    """
)


def upgrade() -> None:
    default = sa.text("''")
    op.add_column("gold_versions", sa.Column("draw_seed", ID, server_default=default, nullable=False))
    _draw_seeds()
    tasks = _create_tasks()
    op.create_table(
        "score_intervals",
        _id(),
        *_score_key(nullable=False),
        sa.Column("split", sa.String(length=16), nullable=False),
        sa.Column("intervals", JSON, nullable=False),
        sa.Column("created_at", UTCDateTime(), nullable=False),
        *(_reference("score_intervals", *each) for each in SCORE_PARENTS),
        sa.UniqueConstraint(
            "submission_id",
            "gold_id",
            "recipe_id",
            "scorer_version",
            "split",
            name=op.f("uq_score_intervals_submission_id_gold_id_recipe_id_scorer_version_split"),
        ),
        _key("score_intervals"),
    )
    for column in ("gold_id", "recipe_id"):
        op.create_index(op.f(f"ix_score_intervals_{column}"), "score_intervals", [column])
    _create_board_tables()
    _queue_everything(tasks)


def downgrade() -> None:
    for table in ("board_changes", "board_analyses", "score_intervals", "analysis_tasks"):
        op.drop_table(table)
    op.drop_column("gold_versions", "draw_seed")


SCORE_PARENTS = (("submission_id", "submissions"), ("gold_id", "gold_versions"), ("recipe_id", "recipes"))


def _draw_seeds() -> None:
    """Give each gold version a public seed of its own."""
    connection = op.get_bind()
    set_seed = sa.text("UPDATE gold_versions SET draw_seed = :seed WHERE id = :id")
    for gold in connection.scalars(sa.text("SELECT id FROM gold_versions")).all():
        connection.execute(set_seed, {"seed": token_hex(16), "id": gold})


def _create_tasks() -> sa.Table:
    zero = sa.text("0")
    table = op.create_table(
        "analysis_tasks",
        _id(),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("phase_id", ID),
        *_score_key(nullable=True),
        sa.Column("split", sa.String(length=16), server_default=sa.text("''"), nullable=False),
        sa.Column("metric", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("again", sa.Boolean(), server_default=sa.false(), nullable=False),
        *(sa.Column(name, sa.Integer(), server_default=zero, nullable=False) for name in COUNTERS),
        sa.Column("queued_at", UTCDateTime(), nullable=False),
        *(sa.Column(name, UTCDateTime()) for name in ("not_before", "next_start", "lease_until", "finished_at")),
        sa.Column("failure", JSON),
        sa.CheckConstraint("kind IN ('intervals', 'significance', 'rankings')", name=op.f("ck_analysis_tasks_kind")),
        sa.CheckConstraint("status IN ('queued', 'running', 'done', 'failed')", name=op.f("ck_analysis_tasks_status")),
        sa.CheckConstraint("(phase_id IS NULL) <> (submission_id IS NULL)", name=op.f("ck_analysis_tasks_subject")),
        _reference("analysis_tasks", "phase_id", "phases"),
        *(_reference("analysis_tasks", *each) for each in SCORE_PARENTS),
        sa.UniqueConstraint("key", name=op.f("uq_analysis_tasks_key")),
        _key("analysis_tasks"),
    )
    for column in ("phase_id", "submission_id", "gold_id", "recipe_id"):
        op.create_index(op.f(f"ix_analysis_tasks_{column}"), "analysis_tasks", [column])
    for name, columns in (("queued", ["kind", "queued_at", "id"]), ("running", ["lease_until"])):
        where = sa.text(STATUS[name])
        index = f"ix_analysis_tasks_{name}"
        op.create_index(index, "analysis_tasks", columns, sqlite_where=where, postgresql_where=where)
    return table


COUNTERS = ("attempt", "crashes", "interruptions")


def _create_board_tables() -> None:
    op.create_table(
        "board_analyses",
        _id(),
        sa.Column("phase_id", ID, nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("split", sa.String(length=16), nullable=False),
        sa.Column("metric", sa.Text(), nullable=False),
        sa.Column("gold_id", ID, nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("scorer_version", sa.Integer(), nullable=False),
        sa.Column("entries", JSON, nullable=False),
        sa.Column("rows", JSON, nullable=False),
        sa.Column("result", JSON, nullable=False),
        sa.Column("computed_at", UTCDateTime(), nullable=False),
        sa.CheckConstraint("kind IN ('significance', 'rankings')", name=op.f("ck_board_analyses_kind")),
        _reference("board_analyses", "phase_id", "phases"),
        _reference("board_analyses", "gold_id", "gold_versions"),
        sa.UniqueConstraint(
            "phase_id", "kind", "split", "metric", name=op.f("uq_board_analyses_phase_id_kind_split_metric")
        ),
        _key("board_analyses"),
    )
    op.create_index(op.f("ix_board_analyses_gold_id"), "board_analyses", ["gold_id"])
    op.create_table("board_changes", _id(), sa.Column("tags", JSON, nullable=False), _key("board_changes"))


def _queue_everything(tasks: sa.Table) -> None:
    """Queue the intervals of all current scores, and have all boards compared."""
    connection, now = op.get_bind(), datetime.now(UTC)
    rows: list[dict[str, Any]] = []
    for score in connection.execute(UNFINISHED).all():
        parts = ("intervals", score.submission_id, score.gold_id, score.recipe_id, str(score.scorer_version))
        key = hashlib.sha256("\n".join(parts).encode()).hexdigest()
        rows.append({**score._asdict(), "id": new_id(), "key": key, "kind": "intervals", "status": "queued"})
    for start in range(0, len(rows), BATCH_ROWS):
        connection.execute(tasks.insert(), [row | {"queued_at": now} for row in rows[start : start + BATCH_ROWS]])
    if rows:
        add = sa.text("INSERT INTO board_changes (id, tags) VALUES (:id, :tags)")
        connection.execute(add, {"id": new_id(), "tags": json.dumps(["*"])})


def _score_key(*, nullable: bool) -> "list[sa.Column[Any]]":
    columns: list[sa.Column[Any]] = [sa.Column(name, ID, nullable=nullable) for name, _ in SCORE_PARENTS]
    return [*columns, sa.Column("scorer_version", sa.Integer(), nullable=nullable)]


def _id() -> "sa.Column[str]":
    return sa.Column("id", ID, nullable=False)


def _key(table: str) -> sa.PrimaryKeyConstraint:
    return sa.PrimaryKeyConstraint("id", name=op.f(f"pk_{table}"))


def _reference(table: str, column: str, parent: str) -> sa.ForeignKeyConstraint:
    name = op.f(f"fk_{table}_{column}")
    return sa.ForeignKeyConstraint([column], [f"{parent}.id"], name=name, ondelete="CASCADE")
