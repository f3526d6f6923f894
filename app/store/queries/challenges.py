"""Queries for challenges, their organizers, recipes and phases."""

from datetime import datetime

from sqlalchemy import Select, func, or_, select

from app.store.session import ReadSession
from app.store.tables import Challenge, Organizer, Phase, Recipe, Registration, Submission


def by_slug(session: ReadSession, slug: str) -> Challenge | None:
    """The challenge with this slug."""
    return session.scalar(select(Challenge).where(Challenge.slug == slug))


def visible_to(user_id: str | None, *, admin: bool, organizes: bool, joins: bool) -> Select[Challenge]:
    """Challenges in a caller's list: published public ones, and those that the caller organizes or has joined.

    Roles of an organizer count if `organizes` is true, memberships if `joins` is: the scopes of the token decide.
    """
    if admin:
        return select(Challenge)
    public = (Challenge.status == "published") & (Challenge.visibility == "public")
    if user_id is None:
        return select(Challenge).where(public)
    organized = select(Organizer.challenge_id).where(Organizer.user_id == user_id)
    joined = select(Registration.challenge_id).where(Registration.user_id == user_id, Registration.status == "approved")
    member = (Challenge.status == "published") & Challenge.id.in_(joined)
    visible = [public, *([member] if joins else []), *([Challenge.id.in_(organized)] if organizes else [])]
    return select(Challenge).where(or_(*visible))


def role_of(session: ReadSession, challenge_id: str, user_id: str) -> str | None:
    """The user's role among the organizers."""
    return session.scalar(
        select(Organizer.role).where(Organizer.challenge_id == challenge_id, Organizer.user_id == user_id)
    )


def organizes_any(session: ReadSession, user_id: str) -> bool:
    """Whether the user organizes any challenge."""
    query = select(Organizer.challenge_id).where(Organizer.user_id == user_id)
    return session.scalar(query.limit(1)) is not None


def organizers_of(session: ReadSession, challenge_id: str) -> list[Organizer]:
    """All organizers, owners first."""
    query = select(Organizer).where(Organizer.challenge_id == challenge_id)
    order = {"owner": 0, "editor": 1, "viewer": 2}
    return sorted(session.scalars(query), key=lambda row: (order[row.role], row.user.email))


def active_recipe(session: ReadSession, challenge_id: str) -> Recipe:
    """The active recipe."""
    return session.scalars(select(Recipe).where(Recipe.challenge_id == challenge_id, Recipe.status == "active")).one()


def recipes_of(session: ReadSession, challenge_id: str) -> list[Recipe]:
    """All versions of the recipe, newest first."""
    query = select(Recipe).where(Recipe.challenge_id == challenge_id)
    return list(session.scalars(query.order_by(Recipe.version.desc())))


def has_submissions(session: ReadSession, challenge_id: str) -> bool:
    """Whether anything was ever submitted to this challenge."""
    query = select(Submission.id).join(Phase, Phase.id == Submission.phase_id)
    return session.scalar(query.where(Phase.challenge_id == challenge_id).limit(1)) is not None


def phases_of(session: ReadSession, challenge_id: str) -> list[Phase]:
    """All phases, in their order."""
    query = select(Phase).where(Phase.challenge_id == challenge_id)
    return list(session.scalars(query.order_by(Phase.position, Phase.id)))


def phase_by_slug(session: ReadSession, challenge_id: str, slug: str) -> Phase | None:
    """The phase with this slug."""
    return session.scalar(select(Phase).where(Phase.challenge_id == challenge_id, Phase.slug == slug))


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
