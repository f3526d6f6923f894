"""Queries for the audit trail."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Select, func, or_, select
from sqlalchemy.orm import InstrumentedAttribute

from app.store.session import ReadSession
from app.store.tables import AuditEntry, Challenge, FormerChallengeSlug, FormerPhaseSlug, Phase, Team, User
from app.text.confusable_names import name_key

CHALLENGE_DELETED = "challenge.delete"


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which entries to list; None does not restrict them."""

    action: str | None = None
    """An action, or the object that it begins with, such as `phase`."""
    actor: str | None = None
    """The id of an account, or the role `operator`."""
    user: str | None = None
    object: str | None = None
    team: str | None = None
    """Its id or name."""
    phase: str | None = None
    """Its id or slug."""
    since: datetime | None = None
    until: datetime | None = None


def of_actor(session: ReadSession, user_id: str, *, after: str, limit: int) -> list[AuditEntry]:
    """Acts of a user, oldest first, after the one with the id `after`."""
    query = select(AuditEntry).where(AuditEntry.actor_id == user_id, AuditEntry.id > after)
    return list(session.scalars(query.order_by(AuditEntry.id).limit(limit)))


def last_id(session: ReadSession, challenge_id: str) -> str | None:
    """The id of the newest entry of a challenge."""
    return session.scalar(select(func.max(AuditEntry.id)).where(AuditEntry.challenge_id == challenge_id))


def of_object(session: ReadSession, object_id: str) -> list[AuditEntry]:
    """The newest acts on one object, at most 200, oldest first: a user adds to the history of a registration at will."""
    query = select(AuditEntry).where(AuditEntry.object_id == object_id).order_by(AuditEntry.id.desc()).limit(200)
    return list(reversed(session.scalars(query).all()))


def matching(wanted: AuditFilter, challenge_ids: Iterable[str] | None) -> Select[AuditEntry]:
    """The entries that match; of these challenges alone, or of the whole site with None."""
    conditions = [*_simple_conditions(wanted)]
    if challenge_ids is not None:
        conditions.append(AuditEntry.challenge_id.in_(list(challenge_ids)))
    if wanted.team is not None:
        named = select(Team.id).where(Team.name_key == name_key(wanted.team))
        conditions.append(_belongs("team", AuditEntry.team_id, wanted.team, named))
    if wanted.phase is not None:
        former = select(FormerPhaseSlug.phase_id).where(FormerPhaseSlug.slug == wanted.phase)
        named = select(Phase.id).where(or_(Phase.slug == wanted.phase, Phase.id.in_(former)))
        conditions.append(_belongs("phase", AuditEntry.phase_id, wanted.phase, named))
    return select(AuditEntry).where(*conditions)


def _simple_conditions(wanted: AuditFilter) -> Iterable[ColumnElement[bool]]:
    if wanted.action is not None:
        exact = AuditEntry.action == wanted.action
        yield or_(exact, AuditEntry.action.startswith(f"{wanted.action.rstrip('.')}.", autoescape=True))
    if wanted.actor is not None:
        yield AuditEntry.role == "operator" if wanted.actor == "operator" else AuditEntry.actor_id == wanted.actor
    if wanted.user is not None:
        yield AuditEntry.user_id == wanted.user
    if wanted.object is not None:
        yield AuditEntry.object_id == wanted.object
    if wanted.since is not None:
        yield AuditEntry.at >= wanted.since
    if wanted.until is not None:
        yield AuditEntry.at < wanted.until


def _belongs(
    object_type: str, column: InstrumentedAttribute[str | None], value: str, named: Select[str]
) -> ColumnElement[bool]:
    """Entries of the team or phase with this id or name, also of one that was deleted."""
    called = or_(AuditEntry.object_id.in_(named), AuditEntry.object_id == value, AuditEntry.object_name == value)
    return or_(column == value, column.in_(named), (AuditEntry.object_type == object_type) & called)


def challenges_called(session: ReadSession, slug: str) -> list[str]:
    """The ids of the challenges that have or had this slug, or have this id, deleted ones too."""
    present = select(Challenge.id).where(or_(Challenge.slug == slug, Challenge.id == slug))
    former = select(FormerChallengeSlug.challenge_id).where(FormerChallengeSlug.slug == slug)
    found = session.scalars(present.union(former)).all()
    return [*found, *deleted_challenges(session, slug)]


def deleted_challenges(session: ReadSession, slug: str) -> list[str]:
    """The ids of the challenges that had this slug, or this id, when they were deleted."""
    named = or_(AuditEntry.object_name == slug, AuditEntry.object_id == slug)
    query = select(AuditEntry.object_id).where(AuditEntry.action == CHALLENGE_DELETED, named)
    return [each for each in session.scalars(query) if each is not None]


def challenge_slugs(session: ReadSession, ids: Iterable[str]) -> dict[str, str]:
    """The slugs of challenges by id; of a deleted one, its last slug."""
    wanted = list(ids)
    present = session.execute(select(Challenge.id, Challenge.slug).where(Challenge.id.in_(wanted)))
    deletions = select(AuditEntry.object_id, AuditEntry.object_name).where(
        AuditEntry.object_id.in_(wanted), AuditEntry.action == CHALLENGE_DELETED
    )
    return {row[0]: row[1] for row in (*session.execute(deletions), *present)}


def phase_slugs(session: ReadSession, ids: Iterable[str]) -> dict[str, str]:
    """The slugs of the phases that exist, by id."""
    found = session.execute(select(Phase.id, Phase.slug).where(Phase.id.in_(list(ids))))
    return {row[0]: row[1] for row in found}


def names(session: ReadSession, ids: Iterable[str]) -> dict[str, str]:
    """The names of the users and teams among these ids, as they are now: of a deleted account, its pseudonym."""
    wanted = list(ids)
    users = session.execute(select(User.id, User.name).where(User.id.in_(wanted)))
    teams = session.execute(select(Team.id, Team.name).where(Team.id.in_(wanted)))
    return {row[0]: row[1] for row in (*users, *teams)}
