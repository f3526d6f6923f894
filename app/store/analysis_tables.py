"""The tables of uncertainty: the work list of analyses, their results, and which boards may need new ones."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, String, Text, UniqueConstraint, false, text
from sqlalchemy.orm import Mapped, mapped_column

from app.store.base import ID, Base, JSONObject, one_of_check
from app.store.types import new_id, utcnow

INTERVALS, SIGNIFICANCE, RANKINGS = "intervals", "significance", "rankings"
BOARD_KINDS = (SIGNIFICANCE, RANKINGS)


class AnalysisTask(Base):
    """An analysis to be computed: the intervals of one submission's scores, or a comparison of the rows of a board.

    Fenced by `attempt` like a score task. A task of intervals belongs to a submission, gold, recipe and scorer version;
    one of a board to a phase, split and metric, and is queued again when the board changes.
    """

    __tablename__ = "analysis_tasks"
    __table_args__ = (
        one_of_check("kind", INTERVALS, SIGNIFICANCE, RANKINGS),
        one_of_check("status", "queued", "running", "done", "failed"),
        CheckConstraint("(phase_id IS NULL) <> (submission_id IS NULL)", name="subject"),
        Index(
            "ix_analysis_tasks_queued",
            "kind",
            "queued_at",
            "id",
            sqlite_where=text("status = 'queued'"),
            postgresql_where=text("status = 'queued'"),
        ),
        Index(
            "ix_analysis_tasks_running",
            "lease_until",
            sqlite_where=text("status = 'running'"),
            postgresql_where=text("status = 'running'"),
        ),
    )

    id: Mapped[str] = mapped_column(ID, primary_key=True, default=new_id)
    key: Mapped[str] = mapped_column(String(64), unique=True)
    """A hash of what identifies the task (app.store.queries.analysis_tasks)."""
    kind: Mapped[str] = mapped_column(String(16))
    phase_id: Mapped[str | None] = mapped_column(ForeignKey("phases.id", ondelete="CASCADE"), index=True)
    submission_id: Mapped[str | None] = mapped_column(ForeignKey("submissions.id", ondelete="CASCADE"), index=True)
    gold_id: Mapped[str | None] = mapped_column(ForeignKey("gold_versions.id", ondelete="CASCADE"), index=True)
    recipe_id: Mapped[str | None] = mapped_column(ForeignKey("recipes.id", ondelete="CASCADE"), index=True)
    scorer_version: Mapped[int | None]
    split: Mapped[str] = mapped_column(String(16), server_default=text("''"))
    metric: Mapped[str] = mapped_column(Text, server_default=text("''"))
    status: Mapped[str] = mapped_column(String(16))
    again: Mapped[bool] = mapped_column(default=False, server_default=false())
    """Whether the board changed while the task was running, so that it is queued once more."""
    attempt: Mapped[int] = mapped_column(default=0, server_default=text("0"))
    crashes: Mapped[int] = mapped_column(default=0, server_default=text("0"))
    interruptions: Mapped[int] = mapped_column(default=0, server_default=text("0"))
    queued_at: Mapped[datetime] = mapped_column(default=utcnow)
    not_before: Mapped[datetime | None]
    next_start: Mapped[datetime | None]
    """The earliest start of the next run of a board's task, by the steady clock."""
    lease_until: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
    failure: Mapped[JSONObject | None]


class ScoreInterval(Base):
    """The intervals of one score, by canonical metric string: written once, never changed."""

    __tablename__ = "score_intervals"
    __table_args__ = (UniqueConstraint("submission_id", "gold_id", "recipe_id", "scorer_version", "split"),)

    id: Mapped[str] = mapped_column(ID, primary_key=True, default=new_id)
    submission_id: Mapped[str] = mapped_column(ForeignKey("submissions.id", ondelete="CASCADE"))
    gold_id: Mapped[str] = mapped_column(ForeignKey("gold_versions.id", ondelete="CASCADE"), index=True)
    recipe_id: Mapped[str] = mapped_column(ForeignKey("recipes.id", ondelete="CASCADE"), index=True)
    scorer_version: Mapped[int]
    split: Mapped[str] = mapped_column(String(16))
    intervals: Mapped[JSONObject]
    created_at: Mapped[datetime] = mapped_column(default=utcnow)


class BoardAnalysis(Base):
    """The newest comparison of the rows of a board, by one metric or (rankings) by all, and what it rests on."""

    __tablename__ = "board_analyses"
    __table_args__ = (
        one_of_check("kind", *BOARD_KINDS),
        UniqueConstraint("phase_id", "kind", "split", "metric"),
    )

    id: Mapped[str] = mapped_column(ID, primary_key=True, default=new_id)
    phase_id: Mapped[str] = mapped_column(ForeignKey("phases.id", ondelete="CASCADE"))
    kind: Mapped[str] = mapped_column(String(16))
    split: Mapped[str] = mapped_column(String(16))
    metric: Mapped[str] = mapped_column(Text)
    gold_id: Mapped[str] = mapped_column(ForeignKey("gold_versions.id", ondelete="CASCADE"), index=True)
    fingerprint: Mapped[str] = mapped_column(String(64))
    scorer_version: Mapped[int]
    entries: Mapped[list[str]]
    """The submissions that were compared, in the order of their ids."""
    rows: Mapped[list[Any]]
    """What boards show of the result: rank sets by submission; empty for rankings."""
    result: Mapped[JSONObject] = mapped_column(deferred=True)
    computed_at: Mapped[datetime] = mapped_column(default=utcnow)


class BoardChange(Base):
    """A change that boards show, stored with it until a worker has queued the analyses of these boards.

    Rows are only inserted and deleted, so transactions that change a board never wait for each other.
    """

    __tablename__ = "board_changes"

    id: Mapped[str] = mapped_column(ID, primary_key=True, default=new_id)
    tags: Mapped[list[Any]]
    """Board tags, see app.store.board_invalidation."""
