"""Queries for who may register, and the versions of terms."""

from sqlalchemy import ColumnElement, func, or_, select

from app.store.session import ReadSession
from app.store.tables import Challenge, ChallengeTerms, Organizer, Registration


def line_of(challenge: Challenge) -> str:
    """What a challenge and all that were copied from it, or from the same one, have in common."""
    return challenge.lineage_id or challenge.id


def could_read_gold(session: ReadSession, challenge: Challenge, user_id: str) -> bool:
    """Whether the user is or was an organizer of the challenge, or of one in the same line of copies."""
    query = select(Organizer.user_id).join(Challenge, Challenge.id == Organizer.challenge_id)
    return session.scalar(query.where(Organizer.user_id == user_id, _same_line(challenge)).limit(1)) is not None


def competes_for_gold(session: ReadSession, challenge: Challenge, user_id: str) -> str | None:
    """The slug of the challenge, or of one in the same line of copies, for which the user is registered."""
    query = select(Challenge.slug).join(Registration, Registration.challenge_id == Challenge.id)
    own = (Registration.user_id == user_id, Registration.status != "ended", _same_line(challenge))
    return session.scalar(query.where(*own).order_by(Challenge.slug).limit(1))


def another_in_line(session: ReadSession, challenge: Challenge) -> Challenge | None:
    """The oldest other challenge in the same line of copies."""
    query = select(Challenge).where(_same_line(challenge), Challenge.id != challenge.id)
    return session.scalar(query.order_by(Challenge.id).limit(1))


def readers_of_gold(session: ReadSession, challenge: Challenge) -> list[Organizer]:
    """Everybody who organizes the challenge or did so before."""
    return list(session.scalars(select(Organizer).where(Organizer.challenge_id == challenge.id)))


def _same_line(challenge: Challenge) -> ColumnElement[bool]:
    line = line_of(challenge)
    return or_(Challenge.id.in_([challenge.id, line]), Challenge.lineage_id == line)


def last_terms_version(session: ReadSession, challenge_id: str) -> int:
    """The number of the newest version of the terms; 0 without any."""
    query = select(func.max(ChallengeTerms.version)).where(ChallengeTerms.challenge_id == challenge_id)
    return session.scalar(query) or 0
