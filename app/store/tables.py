"""All tables as SQLAlchemy classes, and here those of gold, submissions and scores.

migrations/ builds the same schema, and a test compares the two.
"""

from datetime import datetime
from functools import partial
from secrets import token_hex
from typing import Any

from sqlalchemy import ForeignKey, Index, String, Text, UniqueConstraint, false, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from app.store.account_tables import *  # noqa: F403
from app.store.analysis_tables import *  # noqa: F403
from app.store.audit_tables import *  # noqa: F403
from app.store.base import *  # noqa: F403
from app.store.base import ID, Base, JSONObject, one_of_check
from app.store.challenge_tables import *  # noqa: F403
from app.store.evidence_tables import *  # noqa: F403
from app.store.frozen_tables import *  # noqa: F403
from app.store.import_tables import *  # noqa: F403
from app.store.ranking_tables import *  # noqa: F403
from app.store.ranking_tables import submission_indexes
from app.store.team_tables import *  # noqa: F403
from app.store.team_tables import Team
from app.store.types import new_id, utcnow
from app.store.version_tables import *  # noqa: F403
from app.task_priorities import WAITING_CONDITION


class GoldVersion(Base):
    """An immutable version of the gold labels of a phase; the labels themselves are in a file."""

    __tablename__ = "gold_versions"
    __table_args__ = (
        one_of_check("status", "draft", "activating", "active", "retired", "failed"),
        UniqueConstraint("phase_id", "version"),
        Index(
            "uq_gold_versions_active",
            "phase_id",
            unique=True,
            sqlite_where=text("status = 'active'"),
            postgresql_where=text("status = 'active'"),
        ),
    )

    id: Mapped[str] = mapped_column(ID, primary_key=True, default=new_id)
    phase_id: Mapped[str] = mapped_column(ForeignKey("phases.id", ondelete="CASCADE"))
    version: Mapped[int]
    status: Mapped[str] = mapped_column(String(16))
    file_key: Mapped[str] = mapped_column(String(100), index=True)
    sha256: Mapped[str] = mapped_column(String(64))
    size: Mapped[int]
    format: Mapped[str] = mapped_column(String(32))
    encoding: Mapped[str] = mapped_column(String(16), server_default=text("''"))
    layout: Mapped[str] = mapped_column(String(16), server_default=text("''"))
    task: Mapped[str] = mapped_column(String(16), server_default=text("''"))
    """Task and positive label that the file was read with; those of the phase may change until it is activated."""
    positive_label: Mapped[str | None] = mapped_column(Text)
    instances: Mapped[int]
    classes: Mapped[list[str]] = mapped_column(deferred=True, deferred_group="large")
    classes_declared: Mapped[bool]
    has_splits: Mapped[bool]
    public_instances: Mapped[int | None]  # None without splits, and for gold stored before this column existed
    weighted: Mapped[bool | None]  # whether instances have weights
    void_instances: Mapped[int | None]  # how many are not scored; None for older gold
    longest_id: Mapped[int | None]  # bytes of UTF-8, rounded up to a multiple of 8
    accessories: Mapped[JSONObject] = mapped_column(
        default=dict, server_default=text("'{}'"), deferred=True, deferred_group="large"
    )
    """The gold metadata by field (see app.scoring.declaration.gold_metadata)."""
    notes: Mapped[list[str]]
    draw_seed: Mapped[str] = mapped_column(String(32), default=partial(token_hex, 16), server_default=text("''"))
    """The public seed of resampling and randomization with this gold; drawn once, never again."""
    void_ids: Mapped[list[str] | None] = mapped_column(deferred=True, deferred_group="large")
    """Ids that an earlier version held and this one does not: their predictions are ignored. None: there are none."""
    ids_hash: Mapped[str | None] = mapped_column(String(64))
    """Of all ids that are known: those of the file and void ones. All versions since the first submission share it."""
    difference: Mapped[JSONObject | None] = mapped_column(deferred=True, deferred_group="large")
    """How a correction differs from the version that was active when it was uploaded; None without one.

    `base`, the number of that version; `counts` of changes by kind; `class_counts`; `metadata`, the kinds that differ.
    """
    changes: Mapped[list[Any] | None] = mapped_column(deferred=True)
    """The changed instances, for organizers: `id`, `before` and `after` (app.gold_difference)."""
    nonce: Mapped[str] = mapped_column(
        String(64), default=partial(token_hex, 32), server_default=text("''"), deferred=True
    )
    """The secret key of the commitment, in hexadecimal; published with the gold."""
    commitment: Mapped[str | None] = mapped_column(String(64))
    """HMAC-SHA-256 over the canonical content, under the nonce, in hexadecimal; None for older gold."""
    created_by: Mapped[str | None] = mapped_column(ForeignKey("users.id"))
    created_at: Mapped[datetime] = mapped_column(default=utcnow)
    activated_at: Mapped[datetime | None]


class PreparedGold(Base):
    """The file of prepared gold of one gold version for one program version; it can be made again."""

    __tablename__ = "prepared_golds"

    gold_id: Mapped[str] = mapped_column(ForeignKey("gold_versions.id", ondelete="CASCADE"), primary_key=True)
    program: Mapped[str] = mapped_column(String(64), primary_key=True)
    name: Mapped[str] = mapped_column(String(64))
    """Of the content that the file was prepared from (app.scoring.gold_content_hash); that of a draft may change."""
    file_key: Mapped[str] = mapped_column(String(100), index=True)
    sha256: Mapped[str] = mapped_column(String(64))
    size: Mapped[int]
    created_at: Mapped[datetime] = mapped_column(default=utcnow)


class Submission(Base):
    """A file of predictions, with its sender, team, status and problems."""

    __tablename__ = "submissions"
    __table_args__ = (
        one_of_check("status", "queued", "running", "finished", "rejected", "failed", "cancelled"),
        Index("ix_submissions_team_phase", "team_id", "phase_id", "id"),  # the team first, to delete or merge it
        Index("ix_submissions_phase_id", "phase_id", "id"),
        Index("ix_submissions_file_key", "file_key"),
        *submission_indexes(),
    )

    id: Mapped[str] = mapped_column(ID, primary_key=True, default=new_id)
    phase_id: Mapped[str] = mapped_column(ForeignKey("phases.id", ondelete="CASCADE"))
    team_id: Mapped[str] = mapped_column(ForeignKey("teams.id"))
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id"))
    status: Mapped[str] = mapped_column(String(16))
    method: Mapped[str] = mapped_column(String(200))
    description: Mapped[str] = mapped_column(Text)
    link: Mapped[str | None] = mapped_column(Text)
    baseline: Mapped[bool] = mapped_column(default=False)
    on_behalf: Mapped[bool] = mapped_column(default=False, server_default=false())
    """Sent by an organizer on behalf of the team: it counts for the team, but only organizers see its file."""
    file_key: Mapped[str] = mapped_column(String(100))
    sha256: Mapped[str] = mapped_column(String(64))
    size: Mapped[int]
    format: Mapped[str] = mapped_column(String(32))
    encoding: Mapped[str] = mapped_column(String(16), server_default=text("''"))
    layout: Mapped[str] = mapped_column(String(16), server_default=text("''"))
    submitted_at: Mapped[datetime] = mapped_column(default=utcnow)
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
    attempt: Mapped[int] = mapped_column(default=0, server_default=text("0"))
    """How often scoring was started before the status was final; rescoring for comparison does not count."""
    problems: Mapped[list[Any]]
    problem_totals: Mapped[JSONObject]
    """Problems by code; the extra key `at_least` is true if reading stopped before the end of the file."""
    notes: Mapped[list[str]]
    failure: Mapped[JSONObject | None]
    test: Mapped[bool] = mapped_column(default=False, server_default=false())
    """An organizer's trial of the challenge: scored, seen by organizers alone, on no board."""
    unofficial: Mapped[bool] = mapped_column(default=False, server_default=false())
    """Sent after the close: scored, shown and marked, never ranked."""
    sent_team_id: Mapped[str | None] = mapped_column(ID)  # no foreign key, as for the rerun of a task
    """The team that sent it, if that was merged into another since."""
    file_removed_at: Mapped[datetime | None]
    selected_at: Mapped[datetime | None]
    withdrawn_at: Mapped[datetime | None]
    withdrawn_reason: Mapped[str | None] = mapped_column(Text)
    disqualified_at: Mapped[datetime | None]
    disqualified_reason: Mapped[str | None] = mapped_column(Text)

    team: Mapped[Team] = relationship(lazy="joined")


class ScoreTask(Base):
    """The work list: one row per submission, gold, recipe and scorer version, with fencing and failure counters."""

    __tablename__ = "score_tasks"
    __table_args__ = (
        one_of_check("status", "queued", "running", "done", "failed", "cancelled"),
        UniqueConstraint("submission_id", "gold_id", "recipe_id", "scorer_version"),
        Index("ix_score_tasks_claim", "status", "priority", "id"),
        *(
            Index(name, *columns, sqlite_where=text(condition), postgresql_where=text(condition))
            for name, columns, condition in (
                ("ix_score_tasks_turn", ("priority", "turn", "ticket", "status"), WAITING_CONDITION),
                ("ix_score_tasks_lane", ("lane", "turn"), WAITING_CONDITION),
                ("ix_score_tasks_subturn", ("lane", "subturn", "id"), WAITING_CONDITION),
                ("ix_score_tasks_sublane", ("lane", "sublane", "subturn"), WAITING_CONDITION),
                ("ix_score_tasks_served", ("served_turn", "lane"), "served_turn IS NOT NULL"),
            )
        ),
        Index(
            "ix_score_tasks_different",
            "id",
            sqlite_where=text("difference IS NOT NULL"),
            postgresql_where=text("difference IS NOT NULL"),
        ),
    )

    id: Mapped[str] = mapped_column(ID, primary_key=True, default=new_id)
    submission_id: Mapped[str] = mapped_column(ForeignKey("submissions.id", ondelete="CASCADE"))
    gold_id: Mapped[str] = mapped_column(ForeignKey("gold_versions.id", ondelete="CASCADE"))
    recipe_id: Mapped[str] = mapped_column(ForeignKey("recipes.id", ondelete="CASCADE"))
    scorer_version: Mapped[int]
    status: Mapped[str] = mapped_column(String(16))
    priority: Mapped[int] = mapped_column(default=0)
    lane: Mapped[str] = mapped_column(ID, default="", server_default=text("''"))
    """Lane and sublane in the fair order (app.store.queries.fair_scheduling); empty if the task never waited there."""
    sublane: Mapped[str] = mapped_column(ID, default="", server_default=text("''"))
    turn: Mapped[int] = mapped_column(default=0, server_default=text("0"))
    served_turn: Mapped[int | None]
    ticket: Mapped[str] = mapped_column(ID, default="", server_default=text("''"))
    """Within a round the smaller ticket goes first; it is the id of the task that the turn was created for."""
    subturn: Mapped[int] = mapped_column(default=0, server_default=text("0"))
    attempt: Mapped[int] = mapped_column(default=0)
    """The fencing token: every claim increments it, and later writes must name it."""
    crashes: Mapped[int] = mapped_column(default=0)
    interruptions: Mapped[int] = mapped_column(default=0)
    not_before: Mapped[datetime | None]
    lease_until: Mapped[datetime | None]
    created_at: Mapped[datetime] = mapped_column(default=utcnow)
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
    failure: Mapped[JSONObject | None]
    rerun_id: Mapped[str | None] = mapped_column(ID)  # no foreign key: SQLite would have to copy the table for it
    compared_at: Mapped[datetime | None]
    difference: Mapped[JSONObject | None]
    """How the values of the last rescoring differ from the stored ones; None if equal or never rescored."""


class Rerun(Base):
    """An order to score a phase's finished submissions again; its counters grow as its tasks settle."""

    __tablename__ = "reruns"

    id: Mapped[str] = mapped_column(ID, primary_key=True, default=new_id)
    phase_id: Mapped[str] = mapped_column(ForeignKey("phases.id", ondelete="CASCADE"), index=True)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id"))
    scorer_version: Mapped[int]
    total: Mapped[int]
    done: Mapped[int] = mapped_column(default=0)
    failed: Mapped[int] = mapped_column(default=0)
    different: Mapped[int] = mapped_column(default=0)
    started_at: Mapped[datetime] = mapped_column(default=utcnow)
    finished_at: Mapped[datetime | None]
    cancelled_at: Mapped[datetime | None]


class Score(Base):
    """Metric values of one submission for one gold, recipe, scorer version and split: written once, never changed."""

    __tablename__ = "scores"
    __table_args__ = (
        one_of_check("split", "all", "public", "private"),
        UniqueConstraint("submission_id", "gold_id", "recipe_id", "scorer_version", "split"),
    )

    id: Mapped[str] = mapped_column(ID, primary_key=True, default=new_id)
    submission_id: Mapped[str] = mapped_column(ForeignKey("submissions.id", ondelete="CASCADE"))
    gold_id: Mapped[str] = mapped_column(ForeignKey("gold_versions.id", ondelete="CASCADE"))
    recipe_id: Mapped[str] = mapped_column(ForeignKey("recipes.id", ondelete="CASCADE"))
    scorer_version: Mapped[int]
    split: Mapped[str] = mapped_column(String(16))
    metrics: Mapped[JSONObject]
    empty_predictions: Mapped[int] = mapped_column(default=0, server_default=text("0"))
    """How many instances have no prediction: they were void when the file was received, and count as empty ones."""
    created_at: Mapped[datetime] = mapped_column(default=utcnow)


class QuotaEntry(Base):
    """The ledger of a team's quota in a phase: a reservation at admission, then a charge or a refund."""

    __tablename__ = "quota_entries"
    __table_args__ = (
        one_of_check("kind", "reserve", "charge", "refund"),
        UniqueConstraint("submission_id", "kind"),
        Index("ix_quota_entries_team_phase", "team_id", "phase_id", "day"),
    )

    id: Mapped[str] = mapped_column(ID, primary_key=True, default=new_id)
    phase_id: Mapped[str] = mapped_column(ForeignKey("phases.id", ondelete="CASCADE"))
    team_id: Mapped[str] = mapped_column(ForeignKey("teams.id", ondelete="CASCADE"))
    submission_id: Mapped[str] = mapped_column(ForeignKey("submissions.id", ondelete="CASCADE"))
    kind: Mapped[str] = mapped_column(String(16))
    day: Mapped[str] = mapped_column(String(10))
    reason: Mapped[str] = mapped_column(String(100))
    created_at: Mapped[datetime] = mapped_column(default=utcnow)


class QuotaGrant(Base):
    """What an organizer added to the quota of one team in a phase; negative numbers reduce it."""

    __tablename__ = "quota_grants"
    __table_args__ = (Index("ix_quota_grants_phase_id_team_id", "phase_id", "team_id"),)

    id: Mapped[str] = mapped_column(ID, primary_key=True, default=new_id)
    phase_id: Mapped[str] = mapped_column(ForeignKey("phases.id", ondelete="CASCADE"))
    team_id: Mapped[str] = mapped_column(ForeignKey("teams.id", ondelete="CASCADE"))
    per_day: Mapped[int] = mapped_column(default=0)
    total: Mapped[int] = mapped_column(default=0)
    reason: Mapped[str] = mapped_column(Text)
    created_by: Mapped[str | None] = mapped_column(ForeignKey("users.id"))
    created_at: Mapped[datetime] = mapped_column(default=utcnow)


class IdempotencyKey(Base):
    """A key that a user sent with a submission, and the submission that it created."""

    __tablename__ = "idempotency_keys"

    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    key: Mapped[str] = mapped_column(String(255), primary_key=True)
    fingerprint: Mapped[str] = mapped_column(String(64))
    submission_id: Mapped[str] = mapped_column(ForeignKey("submissions.id", ondelete="CASCADE"), index=True)
    created_at: Mapped[datetime] = mapped_column(default=utcnow, index=True)


class WorkerRow(Base):
    """A worker that shares the work list with others; its heartbeat renews the leases of its tasks."""

    __tablename__ = "workers"

    id: Mapped[str] = mapped_column(ID, primary_key=True)
    name: Mapped[str] = mapped_column(String(300))
    slots: Mapped[int]
    started_at: Mapped[datetime]
    heartbeat_at: Mapped[datetime]
    claimed_at: Mapped[datetime | None]
