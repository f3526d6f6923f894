"""Registrations: users found teams, organizers approve or bar them."""

from contextlib import nullcontext
from typing import Literal

from fastapi import Request
from pydantic import Field

from app import errors
from app.actions.challenges.team_registration import decide_registration, list_registrations, list_teams, register_team
from app.api.dependencies import AccountDep, AppStateDep, Cursor, Limit, OrganizerDep
from app.api.field_types import Body, Moment, Page, Shape, TeamName, Text, reply_example, request_example
from app.api.http.json_body import api_router
from app.api.http.problem_documents import error_responses, json_examples
from app.api.limits.client_addresses import client_address_block
from app.api.openapi import examples

router = api_router("teams")


EXAMPLE_DECISION = {"status": "barred", "reason": "The same people take part as another team."}


class NewRegistration(Body):
    """A team to found."""

    model_config = request_example(team="Blue")

    team: TeamName = Field(examples=["Blue"])


class Decision(Body):
    """An organizer's decision on a registration."""

    model_config = request_example(**EXAMPLE_DECISION)

    status: Literal["approved", "barred", "pending"]
    reason: Text | None = Field(None, max_length=2000)


class TeamShape(Shape):
    """A team."""

    model_config = reply_example(examples.TEAM | {"baseline": False, "created_at": examples.TIMESTAMP})

    id: str
    name: str
    baseline: bool = Field(description="Whether this is a name for baselines of organizers, which no user can join.")
    created_at: Moment


class PersonShape(Shape):
    """A team member, as seen by other members and organizers."""

    name: str
    email: str


class RegistrationShape(Shape):
    """The membership of a user in a team of a challenge."""

    model_config = reply_example(examples.REGISTRATION)

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
    responses=error_responses(
        errors.Forbidden, errors.NotFound, errors.TeamNameTaken, errors.AlreadyRegistered, errors.InvalidRequest
    ),
)
def post_registration(
    slug: str, body: NewRegistration, request: Request, caller: AccountDep, state: AppStateDep
) -> object:
    """Registers you for a challenge under a new team.

    The registration is approved at once if registration is open; otherwise it is pending until an organizer decides.
    How many teams one user or one address may found is rate limited.
    """
    limited = (
        nullcontext()
        if caller.has_admin_rights
        else state.request_limits.count_team_founding(caller.user_id or "", client_address_block(request))
    )
    with limited, state.db.write() as session:
        return RegistrationShape.model_validate(register_team(session, caller, slug, body.team))


@router.get(
    "/challenges/{slug}/registrations",
    summary="List registrations",
    response_model=Page[RegistrationShape],
    responses=error_responses(errors.NotFound),
)
def get_registrations(
    slug: str, caller: AccountDep, state: AppStateDep, limit: Limit = 50, cursor: Cursor = None
) -> object:
    """Returns your own registrations. Organizers see all."""
    with state.db.read() as session:
        rows, following = list_registrations(session, caller, slug, limit=limit, cursor=cursor)
        return {"items": rows, "next": following}


@router.patch(
    "/challenges/{slug}/registrations/{registration_id}",
    summary="Approve or bar a registration",
    response_model=RegistrationShape,
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.InvalidRequest)
    | {200: json_examples(barred=examples.REGISTRATION | EXAMPLE_DECISION)},
)
def patch_registration(
    slug: str, registration_id: str, body: Decision, caller: OrganizerDep, state: AppStateDep
) -> object:
    """Approves, bars or resets a registration. Requires an organizer.

    A barred team keeps its entries but cannot submit, and its queued submissions are cancelled.
    """
    with state.db.write() as session:
        decision = body.model_dump()
        row, cancelled = decide_registration(session, caller, slug, registration_id, **decision)
        shape = RegistrationShape.model_validate(row)
    for submission_id in cancelled:
        state.notifier.notify_settled(submission_id)
    return shape


@router.get(
    "/challenges/{slug}/teams",
    summary="List teams",
    response_model=Page[TeamShape],
    responses=error_responses(errors.Forbidden, errors.NotFound),
)
def get_teams(slug: str, caller: AccountDep, state: AppStateDep, limit: Limit = 50, cursor: Cursor = None) -> object:
    """Returns the teams of a challenge. Requires an organizer."""
    with state.db.read() as session:
        rows, following = list_teams(session, caller, slug, limit=limit, cursor=cursor)
        return {"items": rows, "next": following}
