"""The tables of participation: teams, their members and merges, registrations and invitations."""

from datetime import datetime

from sqlalchemy import ForeignKey, Index, String, Text, UniqueConstraint, false, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from app.store.account_tables import User
from app.store.base import ID, Base, JSONObject, one_of_check
from app.store.types import new_id, utcnow


def _partial_index(name: str, column: str, condition: str) -> Index:
    return Index(name, column, sqlite_where=text(condition), postgresql_where=text(condition))


class Team(Base):
    """One or more users who compete together; owns submissions and quota. A baseline is a team without users.

    So is the team that owns the test entries of organizers, which has an empty `name_key` and is never listed.
    """

    __tablename__ = "teams"
    __table_args__ = (
        UniqueConstraint("challenge_id", "baseline", "name_key"),
        UniqueConstraint("challenge_id", "look_key"),
        _partial_index("ix_teams_marked", "challenge_id", "disqualified_at IS NOT NULL"),
    )

    id: Mapped[str] = mapped_column(ID, primary_key=True, default=new_id)
    challenge_id: Mapped[str] = mapped_column(ForeignKey("challenges.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(100))
    name_key: Mapped[str] = mapped_column(String(200))
    look_key: Mapped[str | None] = mapped_column(String(400))
    """The visual key of the name; None for baselines, and if an older team has the same key."""
    baseline: Mapped[bool] = mapped_column(default=False, server_default=false())
    captain_id: Mapped[str | None] = mapped_column(ForeignKey("users.id"))
    merged_into_id: Mapped[str | None] = mapped_column(ForeignKey("teams.id"))
    """The team that took over the members, submissions and quota of this one."""
    disqualified_at: Mapped[datetime | None]
    disqualified_reason: Mapped[str | None] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(default=utcnow)


class Registration(Base):
    """A user's registration for a challenge with the organizers' decision on it, and the team that the user is in."""

    __tablename__ = "registrations"
    __table_args__ = (
        one_of_check("status", "approved", "pending", "barred", "ended"),
        UniqueConstraint("challenge_id", "user_id"),
        _partial_index("ix_registrations_barred", "challenge_id", "status = 'barred'"),
    )

    id: Mapped[str] = mapped_column(ID, primary_key=True, default=new_id)
    challenge_id: Mapped[str] = mapped_column(ForeignKey("challenges.id", ondelete="CASCADE"))
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    team_id: Mapped[str | None] = mapped_column(ForeignKey("teams.id", ondelete="CASCADE"), index=True)
    bound_team_id: Mapped[str | None] = mapped_column(ForeignKey("teams.id"))
    """A team that the user left after it had used quota; joining another one needs an organizer's permission."""
    status: Mapped[str] = mapped_column(String(16))
    reason: Mapped[str | None] = mapped_column(Text)
    terms_version: Mapped[int | None]
    terms_accepted_at: Mapped[datetime | None]
    fields: Mapped[JSONObject] = mapped_column(default=dict, server_default=text("'{}'"))
    """The answers to what the organizers ask for, by the name of the field."""
    invitation_id: Mapped[str | None] = mapped_column(ForeignKey("invitations.id", ondelete="SET NULL"))
    created_at: Mapped[datetime] = mapped_column(default=utcnow)

    user: Mapped[User] = relationship(lazy="joined")
    team: Mapped[Team | None] = relationship(lazy="joined", foreign_keys=[team_id])


class TeamMembership(Base):
    """When a user was in a team; a file belongs to those who were in its team when it was sent."""

    __tablename__ = "team_memberships"
    __table_args__ = (Index("ix_team_memberships_team_id_user_id", "team_id", "user_id"),)

    id: Mapped[str] = mapped_column(ID, primary_key=True, default=new_id)
    team_id: Mapped[str] = mapped_column(ForeignKey("teams.id", ondelete="CASCADE"))
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    joined_at: Mapped[datetime] = mapped_column(default=utcnow)
    left_at: Mapped[datetime | None]


class TeamMerge(Base):
    """A proposal of a captain to merge with another team; it takes effect when the other captain agrees."""

    __tablename__ = "team_merges"

    id: Mapped[str] = mapped_column(ID, primary_key=True, default=new_id)
    team_id: Mapped[str] = mapped_column(ForeignKey("teams.id", ondelete="CASCADE"), index=True)
    """The team that proposes, and that stays."""
    other_team_id: Mapped[str] = mapped_column(ForeignKey("teams.id", ondelete="CASCADE"), index=True)
    proposed_by: Mapped[str | None] = mapped_column(ForeignKey("users.id"))
    proposed_at: Mapped[datetime] = mapped_column(default=utcnow)
    agreed_at: Mapped[datetime | None]
    withdrawn_at: Mapped[datetime | None]


class Invitation(Base):
    """A code that admits its holder to the site, to a challenge or to a team; only its SHA-256 is stored."""

    __tablename__ = "invitations"
    __table_args__ = (one_of_check("kind", "site", "challenge", "team"),)

    id: Mapped[str] = mapped_column(ID, primary_key=True, default=new_id)
    kind: Mapped[str] = mapped_column(String(16))
    challenge_id: Mapped[str | None] = mapped_column(ForeignKey("challenges.id", ondelete="CASCADE"), index=True)
    team_id: Mapped[str | None] = mapped_column(ForeignKey("teams.id", ondelete="CASCADE"), index=True)
    code_hash: Mapped[str] = mapped_column(String(64), unique=True)
    note: Mapped[str] = mapped_column(String(200), default="", server_default=text("''"))
    max_uses: Mapped[int | None]
    """How often the code can be used; None without limit."""
    uses: Mapped[int] = mapped_column(default=0, server_default=text("0"))
    created_by: Mapped[str | None] = mapped_column(ForeignKey("users.id"))
    created_at: Mapped[datetime] = mapped_column(default=utcnow)
    expires_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]
