"""Queries for lists of challenges: which are open, coming or past, and what each row shows beside its title."""

from collections.abc import Collection
from datetime import datetime
from typing import Literal

from sqlalchemy import ColumnElement, Select, Text, and_, cast, exists, or_, select

from app.store.session import ReadSession
from app.store.tables import Challenge, Organizer, Phase, Recipe, Registration

Stage = Literal["open", "coming", "past", "archived"]


def at_stage(query: Select[Challenge], stage: Stage, now: datetime) -> Select[Challenge]:
    """The challenges of a query that are at a stage.

    Open: a phase is open. Coming: none is, but one will open. Past: all have closed.
    """
    if stage == "archived":
        return query.where(Challenge.archived_at.is_not(None))
    unarchived = query.where(Challenge.archived_at.is_(None))
    is_open = _has_phase(Phase.opens_at <= now, or_(Phase.closes_at.is_(None), Phase.closes_at > now))
    is_coming = _has_phase(Phase.opens_at > now)
    if stage == "open":
        return unarchived.where(is_open)
    return unarchived.where(~is_open, is_coming if stage == "coming" else ~is_coming)


def _has_phase(*conditions: ColumnElement[bool]) -> ColumnElement[bool]:
    return exists().where(and_(Phase.challenge_id == Challenge.id, *conditions))


def phases_of_all(session: ReadSession, challenge_ids: Collection[str]) -> dict[str, list[Phase]]:
    """The phases of several challenges in their order, by the id of the challenge."""
    query = select(Phase).where(Phase.challenge_id.in_(challenge_ids))
    found: dict[str, list[Phase]] = {each: [] for each in challenge_ids}
    for phase in session.scalars(query.order_by(Phase.position, Phase.id)):
        found[phase.challenge_id].append(phase)
    return found


def organized_by(session: ReadSession, user_id: str, challenge_ids: Collection[str]) -> set[str]:
    """Which of these challenges a user organizes."""
    own = (Organizer.user_id == user_id, Organizer.removed_at.is_(None))
    query = select(Organizer.challenge_id).where(*own, Organizer.challenge_id.in_(challenge_ids))
    return set(session.scalars(query))


def registrations_by(session: ReadSession, user_id: str, challenge_ids: Collection[str]) -> dict[str, Registration]:
    """The registrations of a user for these challenges, by the id of the challenge."""
    own = (Registration.user_id == user_id, Registration.challenge_id.in_(challenge_ids))
    return {row.challenge_id: row for row in session.scalars(select(Registration).where(*own))}


def active_recipes_with(
    session: ReadSession, query: Select[Challenge], metric: str, *, limit: int
) -> list[tuple[Challenge, Recipe]]:
    """Active recipes whose text names a metric that begins so, with their challenges of this query, by slug."""
    visible = query.with_only_columns(Challenge.id)
    rows = (
        select(Challenge, Recipe)
        .join(Recipe, and_(Recipe.challenge_id == Challenge.id, Recipe.status == "active"))
        .where(Challenge.id.in_(visible), cast(Recipe.body, Text).contains(f'"{metric}', autoescape=True))
        .order_by(Challenge.slug, Recipe.version)
    )
    return [(challenge, recipe) for challenge, recipe in session.execute(rows.limit(limit))]
