"""What admission goes by, read in one statement: challenge, phase, gold and recipe in force, and the caller's part."""

from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from sqlalchemy import BindParameter, Select, and_, bindparam, select
from sqlalchemy.orm.attributes import InstrumentedAttribute

from app.store.session import ReadSession
from app.store.tables import Challenge, GoldVersion, Organizer, Phase, Recipe, Registration, Team


@dataclass(frozen=True, slots=True)
class AdmissionContext:
    """One phase as it stands for one user; what there is none of is None."""

    challenge_id: str
    challenge: str
    status: str
    visibility: str
    timezone: str
    phase_id: str
    phase: str
    opens_at: datetime
    closes_at: datetime | None
    released_at: datetime | None
    quota: dict[str, Any]
    scorer_version: int
    gold_id: str | None
    gold_version: int | None
    has_splits: bool | None
    recipe_id: str
    recipe_version: int
    role: str | None
    registration: str | None
    reason: str | None
    team_id: str | None
    team: str | None


# Built once, and of tables rather than objects: it is asked twice for each submission.
_COLUMNS: dict[str, InstrumentedAttribute[Any]] = {
    "challenge_id": Challenge.id,
    "challenge": Challenge.slug,
    "status": Challenge.status,
    "visibility": Challenge.visibility,
    "timezone": Challenge.timezone,
    "phase_id": Phase.id,
    "phase": Phase.slug,
    "opens_at": Phase.opens_at,
    "closes_at": Phase.closes_at,
    "released_at": Phase.released_at,
    "quota": Phase.quota,
    "scorer_version": Phase.scorer_version,
    "gold_id": GoldVersion.id,
    "gold_version": GoldVersion.version,
    "has_splits": GoldVersion.has_splits,
    "recipe_id": Recipe.id,
    "recipe_version": Recipe.version,
    "role": Organizer.role,
    "registration": Registration.status,
    "reason": Registration.reason,
    "team_id": Registration.team_id,
    "team": Team.name,
}
_USER: BindParameter[str] = bindparam("user_id")
_CONTEXT_QUERY: Select[Any] = (
    select(*(_COLUMNS[field.name].__clause_element__().label(field.name) for field in fields(AdmissionContext)))
    .select_from(Challenge.__table__)
    .join(Phase.__table__, and_(Phase.challenge_id == Challenge.id, Phase.slug == bindparam("phase")))
    .join(Recipe.__table__, and_(Recipe.challenge_id == Challenge.id, Recipe.status == "active"))
    .outerjoin(GoldVersion.__table__, and_(GoldVersion.phase_id == Phase.id, GoldVersion.status == "active"))
    .outerjoin(Organizer.__table__, and_(Organizer.challenge_id == Challenge.id, Organizer.user_id == _USER))
    .outerjoin(Registration.__table__, and_(Registration.challenge_id == Challenge.id, Registration.user_id == _USER))
    .outerjoin(Team.__table__, Team.id == Registration.team_id)
    .where(Challenge.slug == bindparam("challenge"))
)


def load_context(session: ReadSession, challenge: str, phase: str, user_id: str | None) -> AdmissionContext | None:
    """The facts of a phase by the slugs; None where there are none such."""
    row = (
        session.connection()
        .execute(_CONTEXT_QUERY, {"challenge": challenge, "phase": phase, "user_id": user_id})
        .first()
    )
    return None if row is None else AdmissionContext(*row)
