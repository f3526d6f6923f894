"""The tables of challenges: their recipes, phases, organizers, terms, announcements and files."""

from datetime import datetime
from functools import partial
from secrets import token_hex
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Index, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from app.store.account_tables import User
from app.store.base import ID, Base, JSONObject, one_of_check
from app.store.types import new_id, utcnow


class Challenge(Base):
    """A task with its vocabulary and rules."""

    __tablename__ = "challenges"
    __table_args__ = (
        one_of_check("task", "binary", "multiclass", "multilabel"),
        one_of_check("status", "draft", "published"),
        one_of_check("visibility", "public", "private"),
        one_of_check("registration", "open", "approval", "invitation"),
    )

    id: Mapped[str] = mapped_column(ID, primary_key=True, default=new_id)
    slug: Mapped[str] = mapped_column(String(64), unique=True)
    title: Mapped[str] = mapped_column(String(200))
    description: Mapped[str] = mapped_column(Text)
    task: Mapped[str] = mapped_column(String(16))
    positive_label: Mapped[str | None] = mapped_column(Text)
    classes: Mapped[list[str] | None]
    timezone: Mapped[str] = mapped_column(String(64))
    status: Mapped[str] = mapped_column(String(16))
    visibility: Mapped[str] = mapped_column(String(16))
    registration: Mapped[str] = mapped_column(String(16))
    terms_version: Mapped[int] = mapped_column(default=0, server_default=text("0"))
    """The version of the terms that participants accept (ChallengeTerms); 0 without terms."""
    registration_fields: Mapped[list[Any]] = mapped_column(default=list, server_default=text("'[]'"))
    """What the organizers ask for at registration: objects with `name`, `label` and `required`."""
    contact: Mapped[str | None] = mapped_column(Text)
    team_size_limit: Mapped[int | None]
    merge_deadline: Mapped[datetime | None]
    lineage_id: Mapped[str | None] = mapped_column(ID, index=True)
    """The id of the challenge whose gold this one was copied with, or of the first in a line of such copies."""
    archived_at: Mapped[datetime | None]
    created_by: Mapped[str | None] = mapped_column(ForeignKey("users.id"))
    created_at: Mapped[datetime] = mapped_column(default=utcnow)


class Organizer(Base):
    """A user's role in a challenge; the row stays when the role ends, because the user may have read the gold."""

    __tablename__ = "organizers"
    __table_args__ = (one_of_check("role", "owner", "editor", "viewer"),)

    challenge_id: Mapped[str] = mapped_column(ForeignKey("challenges.id", ondelete="CASCADE"), primary_key=True)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, index=True)
    role: Mapped[str] = mapped_column(String(16))
    removed_at: Mapped[datetime | None]

    user: Mapped[User] = relationship(lazy="joined")


class Recipe(Base):
    """A version of the metrics and ranking rules of a challenge, or of one phase that has its own."""

    __tablename__ = "recipes"
    __table_args__ = (
        one_of_check("status", "draft", "active", "retired"),
        UniqueConstraint("challenge_id", "version"),
        *(
            Index(name, *columns, unique=True, sqlite_where=text(condition), postgresql_where=text(condition))
            for name, columns, condition in (
                ("uq_recipes_active", ("challenge_id",), "status = 'active' AND phase_id IS NULL"),
                ("uq_recipes_active_of_phase", ("phase_id",), "status = 'active' AND phase_id IS NOT NULL"),
            )
        ),
    )

    id: Mapped[str] = mapped_column(ID, primary_key=True, default=new_id)
    challenge_id: Mapped[str] = mapped_column(ForeignKey("challenges.id", ondelete="CASCADE"))
    phase_id: Mapped[str | None] = mapped_column(ID)  # no foreign key: SQLite would have to copy the table for it
    """The phase whose recipe this is; None for that of all other phases. Versions are numbered per challenge."""
    version: Mapped[int]
    status: Mapped[str] = mapped_column(String(16))
    body: Mapped[JSONObject]
    # Versions that compute the same values share a fingerprint, so their scores are interchangeable.
    fingerprint: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[datetime] = mapped_column(default=utcnow)


class Phase(Base):
    """A time window of a challenge with its own gold, quota, visibility and board."""

    __tablename__ = "phases"
    __table_args__ = (
        one_of_check("leaderboard", "public", "hidden", "after_close"),
        one_of_check("task", "binary", "multiclass", "multilabel"),
        one_of_check("late", "refuse", "unofficial"),
        UniqueConstraint("challenge_id", "slug"),
    )

    id: Mapped[str] = mapped_column(ID, primary_key=True, default=new_id)
    challenge_id: Mapped[str] = mapped_column(ForeignKey("challenges.id", ondelete="CASCADE"))
    slug: Mapped[str] = mapped_column(String(64))
    name: Mapped[str] = mapped_column(String(200))
    position: Mapped[int]
    opens_at: Mapped[datetime]
    closes_at: Mapped[datetime | None]
    late: Mapped[str] = mapped_column(String(16), default="refuse", server_default=text("'refuse'"))
    """What happens to submissions after the close: refused, or scored as unofficial entries."""
    paused_at: Mapped[datetime | None]
    pause_reason: Mapped[str | None] = mapped_column(Text)
    task: Mapped[str | None] = mapped_column(String(16))
    """Task, positive label and classes of the phase itself; None for those of the challenge."""
    positive_label: Mapped[str | None] = mapped_column(Text)
    classes: Mapped[list[str] | None]
    quota: Mapped[JSONObject]
    leaderboard: Mapped[str] = mapped_column(String(16))
    reports: Mapped[list[str]]
    anonymous: Mapped[bool] = mapped_column(default=False)
    pseudonym_key: Mapped[str] = mapped_column(String(32), default=partial(token_hex, 16), server_default=text("''"))
    """The secret from which the pseudonyms of an anonymous board follow; each phase has its own."""
    deleted_gold_version: Mapped[int] = mapped_column(default=0, server_default=text("0"))
    """The highest number of a deleted draft of its gold, which no later version gets; 0 without any."""
    released_at: Mapped[datetime | None]
    scorer_version: Mapped[int] = mapped_column(server_default=text("1"))
    """The active version: the board shows the scores of this one."""
    created_at: Mapped[datetime] = mapped_column(default=utcnow)

    challenge: Mapped[Challenge] = relationship(lazy="joined")


class ChallengeTerms(Base):
    """A version of the terms that participants accept when they register."""

    __tablename__ = "challenge_terms"

    challenge_id: Mapped[str] = mapped_column(ForeignKey("challenges.id", ondelete="CASCADE"), primary_key=True)
    version: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(default=utcnow)


class FormerChallengeSlug(Base):
    """A slug that a challenge had before; it leads to the challenge and is never given to another one.

    It outlives the challenge, without an id, and so does the last slug of one to which somebody had submitted.
    """

    __tablename__ = "former_challenge_slugs"

    slug: Mapped[str] = mapped_column(String(64), primary_key=True)
    challenge_id: Mapped[str | None] = mapped_column(ForeignKey("challenges.id", ondelete="SET NULL"), index=True)


class FormerPhaseSlug(Base):
    """A slug that a phase had before; within its challenge it is never given to another one, and outlives the phase."""

    __tablename__ = "former_phase_slugs"

    challenge_id: Mapped[str] = mapped_column(ForeignKey("challenges.id", ondelete="CASCADE"), primary_key=True)
    slug: Mapped[str] = mapped_column(String(64), primary_key=True)
    phase_id: Mapped[str | None] = mapped_column(ForeignKey("phases.id", ondelete="SET NULL"), index=True)


class Announcement(Base):
    """A notice of the organizers to everybody who sees the challenge."""

    __tablename__ = "announcements"

    id: Mapped[str] = mapped_column(ID, primary_key=True, default=new_id)
    challenge_id: Mapped[str] = mapped_column(ForeignKey("challenges.id", ondelete="CASCADE"), index=True)
    title: Mapped[str] = mapped_column(String(200))
    body: Mapped[str] = mapped_column(Text)
    created_by: Mapped[str | None] = mapped_column(ForeignKey("users.id"))
    created_at: Mapped[datetime] = mapped_column(default=utcnow)
    edited_at: Mapped[datetime | None]


class ChallengeFile(Base):
    """A file that a challenge offers for download, such as training data or a starter kit."""

    __tablename__ = "challenge_files"
    __table_args__ = (one_of_check("audience", "public", "teams"), UniqueConstraint("challenge_id", "name"))

    id: Mapped[str] = mapped_column(ID, primary_key=True, default=new_id)
    challenge_id: Mapped[str] = mapped_column(ForeignKey("challenges.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(200))
    description: Mapped[str] = mapped_column(Text)
    licence: Mapped[str] = mapped_column(String(200))
    audience: Mapped[str] = mapped_column(String(16))
    """Who may download it: everybody who sees the challenge, or members of approved teams."""
    media_type: Mapped[str] = mapped_column(String(200))
    file_key: Mapped[str] = mapped_column(String(100), index=True)
    sha256: Mapped[str] = mapped_column(String(64))
    size: Mapped[int] = mapped_column(BigInteger)
    created_by: Mapped[str | None] = mapped_column(ForeignKey("users.id"))
    created_at: Mapped[datetime] = mapped_column(default=utcnow)
