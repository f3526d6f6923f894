"""Registrations: founding a team, and the organizers' decisions."""

from contextlib import nullcontext
from typing import Literal

from fastapi import Request
from pydantic import Field

from app import errors
from app.actions.challenges.team_registration import decide, found_team, list_registrations, list_teams
from app.api.dependencies import AccountDep, Cursor, Limit, OrganizerDep, ServiceDep
from app.api.field_types import Body, Moment, Page, Shape, TeamName, Text, example, shown
from app.api.json_body import api_router
from app.api.limits.client_addresses import block
from app.api.openapi import examples
from app.api.problems import documented, showing

router = api_router("teams")


BARRED = {"status": "barred", "reason": "The same people take part as another team."}


class NewRegistration(Body):
    """A team to found."""

    model_config = example(team="Blue")

    team: TeamName = Field(examples=["Blue"])


class Decision(Body):
    """An organizer's word on a registration."""

    model_config = example(**BARRED)

    status: Literal["approved", "barred", "pending"]
    reason: Text | None = Field(None, max_length=2000)


class TeamShape(Shape):
    """A team."""

    model_config = shown(examples.TEAM | {"baseline": False, "created_at": examples.AT})

    id: str
    name: str
    baseline: bool = Field(description="Whether organizers enter baselines under this name; no team can join it.")
    created_at: Moment


class PersonShape(Shape):
    """A member, as team mates and organizers see them."""

    name: str
    email: str


class RegistrationShape(Shape):
    """A user's place in a team of a challenge."""

    model_config = shown(examples.REGISTRATION)

    id: str
    status: Literal["approved", "pending", "barred"]
    reason: str | None
    team: TeamShape
    user: PersonShape
    created_at: Moment


@router.post(
    "/challenges/{slug}/registrations",
    status_code=201,
    summary="Register by founding a team",
    response_model=RegistrationShape,
    responses=documented(
        errors.Forbidden, errors.NotFound, errors.TeamNameTaken, errors.AlreadyRegistered, errors.InvalidRequest
    ),
)
def post_registration(slug: str, body: NewRegistration, request: Request, who: AccountDep, parts: ServiceDep) -> object:
    """Approved at once where registration is open, else pending until an organizer decides.

    How many teams a user may found is limited, and how many are founded from one address.
    """
    limited = nullcontext() if who.rules_site else parts.limiter.founding(who.user_id or "", block(request))
    with limited, parts.db.write() as session:
        return RegistrationShape.model_validate(found_team(session, who, slug, body.team))


@router.get(
    "/challenges/{slug}/registrations",
    summary="List registrations",
    response_model=Page[RegistrationShape],
    responses=documented(errors.NotFound),
)
def get_registrations(
    slug: str, who: AccountDep, parts: ServiceDep, limit: Limit = 50, cursor: Cursor = None
) -> object:
    """One's own; organizers see all."""
    with parts.db.read() as session:
        rows, following = list_registrations(session, who, slug, limit=limit, cursor=cursor)
        return {"items": rows, "next": following}


@router.patch(
    "/challenges/{slug}/registrations/{registration_id}",
    summary="Approve or bar a registration",
    response_model=RegistrationShape,
    responses=documented(errors.Forbidden, errors.NotFound, errors.InvalidRequest)
    | {200: showing(barred=examples.REGISTRATION | BARRED)},
)
def patch_registration(slug: str, registration_id: str, body: Decision, who: OrganizerDep, parts: ServiceDep) -> object:
    """For organizers; a barred team keeps its entries but sends no more, and what it has in the queue is cancelled."""
    with parts.db.write() as session:
        row, cancelled = decide(session, who, slug, registration_id, status=body.status, reason=body.reason)
        shape = RegistrationShape.model_validate(row)
    for submission_id in cancelled:
        parts.notifier.settled(submission_id)
    return shape


@router.get(
    "/challenges/{slug}/teams",
    summary="List teams",
    response_model=Page[TeamShape],
    responses=documented(errors.Forbidden, errors.NotFound),
)
def get_teams(slug: str, who: AccountDep, parts: ServiceDep, limit: Limit = 50, cursor: Cursor = None) -> object:
    """For organizers."""
    with parts.db.read() as session:
        rows, following = list_teams(session, who, slug, limit=limit, cursor=cursor)
        return {"items": rows, "next": following}
