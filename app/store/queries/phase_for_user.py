"""One phase as one user sees it: the challenge, the active gold and recipe, and the user's role and registration."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, get_type_hints

from sqlalchemy import ColumnElement, Label, Select, and_, bindparam, func, literal_column

from app.store.tables import Challenge, GoldVersion, Organizer, Phase, Recipe, Registration, Team

# Literal: SQLite compiles a statement anew each time if a parameter decides whether a partial index applies.
ACTIVE: ColumnElement[str] = literal_column("'active'")
_OWN_RECIPE = Recipe.__table__.alias("own_recipe")


def _recipe_column(name: str) -> ColumnElement[Any]:
    """A column of the recipe of the phase itself, else of that of the challenge."""
    return func.coalesce(_OWN_RECIPE.c[name], Recipe.__table__.c[name])


RECIPE_FINGERPRINT = _recipe_column("fingerprint")


@dataclass(frozen=True, slots=True)
class PhaseContext:
    """Each field names its column. Fields of a missing gold, role or registration are None."""

    challenge_id: Annotated[str, Challenge.id]
    challenge: Annotated[str, Challenge.slug]
    status: Annotated[str, Challenge.status]
    visibility: Annotated[str, Challenge.visibility]
    timezone: Annotated[str, Challenge.timezone]
    archived_at: Annotated[datetime | None, Challenge.archived_at]
    phase_id: Annotated[str, Phase.id]
    phase: Annotated[str, Phase.slug]
    opens_at: Annotated[datetime, Phase.opens_at]
    closes_at: Annotated[datetime | None, Phase.closes_at]
    late: Annotated[str, Phase.late]
    paused_at: Annotated[datetime | None, Phase.paused_at]
    pause_reason: Annotated[str | None, Phase.pause_reason]
    released_at: Annotated[datetime | None, Phase.released_at]
    quota: Annotated[dict[str, Any], Phase.quota]
    reports: Annotated[list[str], Phase.reports]
    scorer_version: Annotated[int, Phase.scorer_version]
    gold_id: Annotated[str | None, GoldVersion.id]
    gold_version: Annotated[int | None, GoldVersion.version]
    has_splits: Annotated[bool | None, GoldVersion.has_splits]
    recipe_id: Annotated[str, _recipe_column("id")]
    recipe_version: Annotated[int, _recipe_column("version")]
    recipe: Annotated[dict[str, Any], _recipe_column("body")]
    fingerprint: Annotated[str, RECIPE_FINGERPRINT]
    role: Annotated[str | None, Organizer.role]
    registration: Annotated[str | None, Registration.status]
    reason: Annotated[str | None, Registration.reason]
    team_id: Annotated[str | None, Registration.team_id]
    team: Annotated[str | None, Team.name]
    disqualified_at: Annotated[datetime | None, Team.disqualified_at]
    disqualified_reason: Annotated[str | None, Team.disqualified_reason]


def columns_of(record: type) -> list[Label[Any]]:
    """The columns that the fields of a dataclass name, in their order: `record(*row)` reads such a row.

    The labels are unique within a statement that reads several such records.
    """
    columns = {name: hint.__metadata__[0] for name, hint in get_type_hints(record, include_extras=True).items()}
    return [
        (column if isinstance(column, ColumnElement) else column.__clause_element__()).label(
            f"{record.__name__}_{name}"
        )
        for name, column in columns.items()
    ]


def join_context(
    query: Select[Any], user: "ColumnElement[str] | None" = None, *, optional: bool = False
) -> Select[Any]:
    """Join the other tables of a PhaseContext to a query on challenges and phases.

    `user` is the id of the user, by default the parameter `user_id` of the query. With `optional`, rows without a
    challenge stay.
    """
    own: ColumnElement[str] = bindparam("user_id") if user is None else user
    return (
        query.join(
            Recipe.__table__,
            and_(Recipe.challenge_id == Challenge.id, Recipe.status == ACTIVE, Recipe.phase_id.is_(None)),
            isouter=optional,
        )
        .outerjoin(_OWN_RECIPE, and_(_OWN_RECIPE.c.phase_id == Phase.id, _OWN_RECIPE.c.status == ACTIVE))
        .outerjoin(GoldVersion.__table__, and_(GoldVersion.phase_id == Phase.id, GoldVersion.status == ACTIVE))
        .outerjoin(
            Organizer.__table__,
            and_(Organizer.challenge_id == Challenge.id, Organizer.user_id == own, Organizer.removed_at.is_(None)),
        )
        .outerjoin(Registration.__table__, and_(Registration.challenge_id == Challenge.id, Registration.user_id == own))
        .outerjoin(Team.__table__, Team.id == Registration.team_id)
    )
