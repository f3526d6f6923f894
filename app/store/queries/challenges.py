"""Queries for challenges, their organizers, recipes and phases."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, Select, exists, func, literal_column, or_, select
from sqlalchemy.orm import aliased

from app.store.session import ReadSession
from app.store.tables import (
    Challenge,
    FormerChallengeSlug,
    FormerPhaseSlug,
    Organizer,
    Phase,
    Recipe,
    Registration,
    Submission,
    User,
)

DELETED = "deleted"
_ACTIVE: ColumnElement[str] = literal_column(
    "'active'"
)  # SQLite uses a partial index for a literal alone, not for a parameter


def by_slug(session: ReadSession, slug: str) -> Challenge | None:
    """The challenge with this slug."""
    return session.scalar(select(Challenge).where(Challenge.slug == slug))


def by_former_slug(session: ReadSession, slug: str) -> Challenge | None:
    """The challenge that had this slug before."""
    former = select(FormerChallengeSlug.challenge_id).where(FormerChallengeSlug.slug == slug)
    return session.scalar(select(Challenge).where(Challenge.id.in_(former)))


def by_ids(session: ReadSession, ids: Sequence[str]) -> dict[str, Challenge]:
    """The challenges with these ids, by id."""
    return {row.id: row for row in session.scalars(select(Challenge).where(Challenge.id.in_(list(ids))))}


def slug_owner(session: ReadSession, slug: str) -> str | None:
    """The id of the challenge that has or had the slug; None if it is free, `DELETED` if the challenge is gone."""
    present = select(Challenge.id).where(Challenge.slug == slug)
    former = select(func.coalesce(FormerChallengeSlug.challenge_id, DELETED)).where(FormerChallengeSlug.slug == slug)
    return session.scalar(present.union_all(former).limit(1))


def visible_to(user_id: str | None, *, admin: bool, organizes: bool, joins: bool) -> Select[Challenge]:
    """Challenges in a caller's list: published public ones, and those that the caller organizes or has joined.

    Roles of an organizer count if `organizes` is true, memberships if `joins` is: the scopes of the token decide.
    """
    if admin:
        return select(Challenge)
    public = (Challenge.status == "published") & (Challenge.visibility == "public")
    if user_id is None:
        return select(Challenge).where(public)
    organized = select(Organizer.challenge_id).where(Organizer.user_id == user_id, Organizer.removed_at.is_(None))
    joined = select(Registration.challenge_id).where(Registration.user_id == user_id, Registration.status == "approved")
    member = (Challenge.status == "published") & Challenge.id.in_(joined)
    visible = [public, *([member] if joins else []), *([Challenge.id.in_(organized)] if organizes else [])]
    return select(Challenge).where(or_(*visible))


def role_of(session: ReadSession, challenge_id: str, user_id: str) -> str | None:
    """The user's role among the organizers."""
    return session.scalar(
        select(Organizer.role).where(
            Organizer.challenge_id == challenge_id, Organizer.user_id == user_id, Organizer.removed_at.is_(None)
        )
    )


def organized_by(user_id: str) -> Select[Challenge]:
    """The challenges that a user organizes."""
    own = (Organizer.user_id == user_id, Organizer.removed_at.is_(None))
    return select(Challenge).where(Challenge.id.in_(select(Organizer.challenge_id).where(*own)))


def roles_of_user(session: ReadSession, user_id: str, *, ended: bool = False) -> list[Organizer]:
    """The roles of a user as an organizer, with `ended` also those that have ended."""
    query = select(Organizer).where(Organizer.user_id == user_id).order_by(Organizer.challenge_id)
    return list(session.scalars(query if ended else query.where(Organizer.removed_at.is_(None))))


def owned_alone(session: ReadSession, user_id: str) -> list[str]:
    """The slugs of the challenges that have no other owner with an enabled account than this user."""
    other = aliased(Organizer)
    owns = (Organizer.user_id == user_id, Organizer.role == "owner", Organizer.removed_at.is_(None))
    others = exists().where(
        other.challenge_id == Challenge.id,
        other.user_id != user_id,
        other.role == "owner",
        other.removed_at.is_(None),
        other.user_id.in_(select(User.id).where(User.disabled_at.is_(None))),
    )
    query = select(Challenge.slug).join(Organizer, Organizer.challenge_id == Challenge.id).where(*owns, ~others)
    return list(session.scalars(query.order_by(Challenge.slug)))


def organizers_of(session: ReadSession, challenge_id: str) -> list[Organizer]:
    """All organizers, owners first, without those whose role has ended."""
    query = select(Organizer).where(Organizer.challenge_id == challenge_id, Organizer.removed_at.is_(None))
    order = {"owner": 0, "editor": 1, "viewer": 2}
    return sorted(session.scalars(query), key=lambda row: (order[row.role], row.user.email))


def shared_recipe(session: ReadSession, challenge_id: str) -> Recipe:
    """The active recipe of a challenge, which all phases without one of their own share."""
    active = select(Recipe).where(Recipe.challenge_id == challenge_id, Recipe.status == _ACTIVE)
    return session.scalars(active.where(Recipe.phase_id.is_(None))).one()


def own_recipe(session: ReadSession, phase_id: str) -> Recipe | None:
    """The active recipe of the phase itself."""
    return session.scalar(select(Recipe).where(Recipe.phase_id == phase_id, Recipe.status == _ACTIVE))


def active_recipe(session: ReadSession, phase: Phase) -> Recipe:
    """The recipe that a phase is scored and ranked by: its own, else that of the challenge."""
    return own_recipe(session, phase.id) or shared_recipe(session, phase.challenge_id)


def recipes_of(session: ReadSession, challenge_id: str) -> list[Recipe]:
    """All versions of the recipes of a challenge and of its phases, newest first."""
    query = select(Recipe).where(Recipe.challenge_id == challenge_id)
    return list(session.scalars(query.order_by(Recipe.version.desc())))


def has_submissions(session: ReadSession, phase_id: str) -> bool:
    """Whether anything was ever submitted to this phase, except for tests by organizers."""
    query = select(Submission.id).where(Submission.phase_id == phase_id, Submission.test.is_(False))
    return session.scalar(query.limit(1)) is not None


def phases_of(session: ReadSession, challenge_id: str) -> list[Phase]:
    """All phases, in their order."""
    query = select(Phase).where(Phase.challenge_id == challenge_id)
    return list(session.scalars(query.order_by(Phase.position, Phase.id)))


def phases_that_share(session: ReadSession, challenge_id: str) -> list[Phase]:
    """The phases that use the recipe of the challenge, in their order."""
    own = select(Recipe.phase_id).where(Recipe.challenge_id == challenge_id, Recipe.status == "active")
    owners = set(session.scalars(own.where(Recipe.phase_id.is_not(None))))
    return [phase for phase in phases_of(session, challenge_id) if phase.id not in owners]


def phase_by_slug(session: ReadSession, challenge_id: str, slug: str) -> Phase | None:
    """The phase with this slug."""
    return session.scalar(select(Phase).where(Phase.challenge_id == challenge_id, Phase.slug == slug))


def phase_by_former_slug(session: ReadSession, challenge_id: str, slug: str) -> Phase | None:
    """The phase of this challenge that had this slug before."""
    of_slug = (FormerPhaseSlug.challenge_id == challenge_id) & (FormerPhaseSlug.slug == slug)
    former = select(FormerPhaseSlug.phase_id).where(of_slug)
    return session.scalar(select(Phase).where(Phase.id.in_(former)))


def phase_slug_owner(session: ReadSession, challenge_id: str, slug: str) -> str | None:
    """The id of the phase that has or had the slug; None if it is free, `DELETED` if the phase is gone."""
    of_slug = (FormerPhaseSlug.challenge_id == challenge_id) & (FormerPhaseSlug.slug == slug)
    present = select(Phase.id).where(Phase.challenge_id == challenge_id, Phase.slug == slug)
    former = select(func.coalesce(FormerPhaseSlug.phase_id, DELETED)).where(of_slug)
    return session.scalar(present.union_all(former).limit(1))


def next_position(session: ReadSession, challenge_id: str) -> int:
    """The position of a phase appended at the end."""
    last = session.scalar(select(func.max(Phase.position)).where(Phase.challenge_id == challenge_id))
    return 0 if last is None else last + 1


def open_phases(session: ReadSession, challenge_id: str, now: datetime) -> list[Phase]:
    """The phases that are open now."""
    return [phase for phase in phases_of(session, challenge_id) if is_open(phase, now)]


def is_open(phase: Phase, now: datetime) -> bool:
    """Whether the window [opens_at, closes_at) contains this time."""
    return is_within_window(phase.opens_at, phase.closes_at, now)


def is_within_window(opens_at: datetime, closes_at: datetime | None, now: datetime) -> bool:
    """Whether [opens_at, closes_at) contains this time."""
    return opens_at <= now and (closes_at is None or now < closes_at)
