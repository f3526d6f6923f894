"""Registrations: users found teams, organizers approve or bar them."""

from contextlib import nullcontext
from typing import Annotated, Any, Literal, Self

from fastapi import Depends, Query, Request, Response
from pydantic import Field, model_validator

from app import errors
from app.actions.access import Caller
from app.actions.challenges.registration_rules import MAX_ANSWER_LENGTH, Statements
from app.actions.challenges.team_registration import (
    decide_registration,
    list_registrations,
    read_registration,
    register_team,
    register_with_invitation,
    require_may_change_registration,
    state_again,
)
from app.actions.teams.leave_team import allow_to_join, end_registration
from app.api.dependencies import AccountDep, AppStateDep, Cursor, Limit
from app.api.field_types import (
    Body,
    InvitationCode,
    Moment,
    Page,
    Reason,
    Shape,
    TeamName,
    Text,
    reply_example,
    request_example,
)
from app.api.http.json_body import api_router
from app.api.http.problem_documents import error_responses, json_examples
from app.api.limits.client_addresses import client_address_block
from app.api.openapi import examples, team_examples

router = api_router("teams")


EXAMPLE_DECISION = {"status": "barred", "reason": "The same people take part as another team."}
RegistrationStatus = Literal["approved", "pending", "barred", "ended"]
Answer = Annotated[Text, Field(max_length=MAX_ANSWER_LENGTH)]


class NewRegistration(Body):
    """A team to found, or an invitation to one."""

    model_config = request_example(team="Blue")

    team: TeamName | None = Field(None, description="The name of a team to found.", examples=["Blue"])
    invitation: InvitationCode | None = Field(
        None, description="The code of an invitation to a team or to the challenge."
    )
    terms: int | None = Field(
        None, ge=1, le=10**6, strict=True, description="The version of the terms that you accept, if there are terms."
    )
    fields: dict[str, Answer] = Field(
        default_factory=dict, max_length=20, description="Answers to `registration_fields` of the challenge, by name."
    )

    @model_validator(mode="after")
    def _require_one(self) -> Self:
        if self.team is None and self.invitation is None:
            raise ValueError("give 'team', to found one, or 'invitation', or both with the code of a challenge")
        return self


class Decision(Body):
    """An organizer's decision on a registration, or what its user states anew."""

    model_config = request_example(**EXAMPLE_DECISION)

    status: Literal["approved", "barred", "pending"] | None = None
    reason: Reason | None = Field(None, description="Why; the user can read it. Required to bar.")
    may_join: Literal[True] | None = Field(
        None, description="Leave to join or found another team, for a user who left one that had used quota."
    )
    terms: int | None = Field(
        None, ge=1, le=10**6, strict=True, description="The version of the terms that you accept, as the user."
    )
    fields: dict[str, Answer] | None = Field(
        None, min_length=1, max_length=20, description="Answers that you change, as the user."
    )

    @property
    def statements(self) -> Statements | None:
        """What the registered user states; None for a decision of an organizer."""
        if self.terms is None and self.fields is None:
            return None
        return Statements(terms=self.terms, fields=self.fields or {})

    @model_validator(mode="after")
    def _require_one(self) -> Self:
        if sum(value is not None for value in (self.status, self.may_join, self.statements)) != 1:
            raise ValueError("give 'status' or 'may_join', as an organizer, or 'terms' and 'fields', as the user")
        if self.statements is not None and self.reason is not None:
            raise ValueError("a reason belongs to a 'status' or to 'may_join'")
        return self


class TeamShape(Shape):
    """A team."""

    model_config = reply_example(examples.TEAM_DETAILS)

    id: str
    name: str
    baseline: bool = Field(description="Whether this is a name for baselines of organizers, which no user can join.")
    created_at: Moment
    disqualified_at: Moment | None
    disqualified_reason: str | None


class PersonShape(Shape):
    """A team member, as seen by other members and organizers."""

    name: str
    email: str


class RegistrationShape(Shape):
    """The membership of a user in a team of a challenge."""

    model_config = reply_example(examples.REGISTRATION)

    id: str
    status: RegistrationStatus
    reason: str | None
    team: TeamShape | None = Field(description="Null for a user who left the team.")
    bound_team_id: str | None = Field(
        description="A team that the user left after it had used quota; joining another one needs an organizer's permission."
    )
    terms_version: int | None = Field(description="The version of the terms that the user accepted last.")
    terms_accepted_at: Moment | None
    fields: dict[str, str]
    user: PersonShape
    created_at: Moment


class DecisionShape(Shape):
    """An act on a registration, from the audit trail."""

    model_config = reply_example(team_examples.REGISTRATION_DECISION)

    at: Moment
    actor_id: str | None = Field(description="Who did it; for organizers alone.")
    role: str
    action: str
    changes: dict[str, Any]
    reason: str | None


class RegistrationDetails(RegistrationShape):
    """A registration with its history."""

    model_config = reply_example(team_examples.REGISTRATION_DETAILS)

    history: list[DecisionShape] = Field(
        description="What was decided, when and why, oldest first; at most the newest 200."
    )


@router.post(
    "/challenges/{slug}/registrations",
    status_code=201,
    summary="Register by founding or joining a team",
    response_model=RegistrationShape,
    responses=error_responses(
        errors.Forbidden,
        errors.RegistrationBarred,
        errors.RegistrationNeedsCode,
        errors.MayHaveReadGold,
        errors.NotFound,
        errors.TeamNameTaken,
        errors.AlreadyRegistered,
        errors.TeamFull,
        errors.BoundToTeam,
        errors.InvalidInvitation,
        errors.InvalidRequest,
    ),
)
def post_registration(
    slug: str, body: NewRegistration, request: Request, caller: AccountDep, state: AppStateDep
) -> object:
    """Registers you for a challenge with a new team, or with the team that invited you.

    The registration is approved at once if registration is open or a code of the organizers is sent; otherwise it is
    pending until an organizer decides.

    Who left a team registers again in the same way. How many teams one user or one address may found is rate limited.
    """
    stated = Statements(terms=body.terms, fields=body.fields)
    limited = (
        nullcontext()
        if body.team is None or caller.has_admin_rights
        else state.request_limits.count_team_founding(caller.user_id or "", client_address_block(request))
    )
    with limited, state.db.write() as session:
        if body.invitation is None:
            row = register_team(session, caller, slug, body.team or "", stated)
        else:
            row = register_with_invitation(session, caller, slug, body.invitation, team=body.team, statements=stated)
        return RegistrationShape.model_validate(row)


@router.get(
    "/challenges/{slug}/registrations",
    summary="List registrations",
    response_model=Page[RegistrationShape],
    responses=error_responses(errors.NotFound),
)
def get_registrations(
    slug: str,
    caller: AccountDep,
    state: AppStateDep,
    status: Annotated[RegistrationStatus | None, Query(description="Only registrations with this status.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> object:
    """Returns your own registrations, newest first. Organizers see all."""
    with state.db.read() as session:
        rows, following = list_registrations(session, caller, slug, status=status, limit=limit, cursor=cursor)
        return {"items": rows, "next": following}


@router.get(
    "/challenges/{slug}/registrations/{registration_id}",
    summary="Read a registration",
    responses=error_responses(errors.NotFound),
)
def get_registration(slug: str, registration_id: str, caller: AccountDep, state: AppStateDep) -> RegistrationDetails:
    """Returns your own registration with the history of decisions on it; for organizers, any, with who decided."""
    with state.db.read() as session:
        row, entries, organizer = read_registration(session, caller, slug, registration_id)
        shape, history = RegistrationShape.model_validate(row), [DecisionShape.model_validate(each) for each in entries]
        if not organizer:
            history = [each.model_copy(update={"actor_id": None}) for each in history]
        return RegistrationDetails(**shape.model_dump(), history=history)


def current_registration_editor(slug: str, registration_id: str, caller: AccountDep, state: AppStateDep) -> Caller:
    """The caller, if they may change the registration. It runs before the body is validated."""
    with state.db.read() as session:
        require_may_change_registration(session, caller, slug, registration_id)
    return caller


@router.patch(
    "/challenges/{slug}/registrations/{registration_id}",
    summary="Approve or bar a registration, or accept terms and change answers",
    response_model=RegistrationShape,
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.RegistrationEnded, errors.InvalidRequest)
    | {200: json_examples(barred=examples.REGISTRATION | EXAMPLE_DECISION)},
)
def patch_registration(
    slug: str,
    registration_id: str,
    body: Decision,
    caller: Annotated[Caller, Depends(current_registration_editor)],
    state: AppStateDep,
) -> object:
    """Approves, bars or resets a registration, as an organizer; with `terms` or `fields`, the user states these anew.

    A bar needs a reason. A barred user cannot submit in any team, and their queued submissions are cancelled.
    `may_join` permits a user who left a team that had used quota to join or found another one.
    """
    cancelled: list[str] = []
    caller = caller.with_reason(body.reason)
    with state.db.write() as session:
        if body.statements is not None:
            row = state_again(session, caller, slug, registration_id, body.statements)
        elif body.status is not None:
            row, cancelled = decide_registration(
                session, caller, slug, registration_id, status=body.status, reason=body.reason
            )
        else:
            row = allow_to_join(session, caller, slug, registration_id)
        shape = RegistrationShape.model_validate(row)
    for submission_id in cancelled:
        state.notifier.notify_settled(submission_id)
    return shape


@router.delete(
    "/challenges/{slug}/registrations/{registration_id}",
    status_code=204,
    summary="End my registration",
    responses=error_responses(errors.RegistrationBarred, errors.Forbidden, errors.NotFound),
)
def delete_registration(slug: str, registration_id: str, caller: AccountDep, state: AppStateDep) -> Response:
    """Ends your registration for a challenge and leaves your team. A barred user cannot end the registration.

    You can register again; that you left a team which had used quota is remembered.
    """
    with state.db.write() as session:
        end_registration(session, caller, slug, registration_id)
    return Response(status_code=204)
