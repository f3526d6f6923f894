"""The caller's registrations in all challenges, and what the code of an invitation admits to."""

from typing import Annotated, Literal

from fastapi import Header
from pydantic import Field

from app import errors
from app.actions.challenges.registration_rules import CODE_HEADER
from app.actions.invitations.read_invitation import read_invitation
from app.actions.teams.own_registrations import OwnPhase, OwnRegistration, list_own_registrations
from app.api.dependencies import AccountDep, AppStateDep, CallerDep, Cursor, Limit
from app.api.field_types import InvitationCode, Moment, Page, Shape, TeamReferenceShape, reply_example
from app.api.http.json_body import api_router
from app.api.http.problem_documents import TOKEN_OPTIONAL, error_responses
from app.api.openapi import team_examples

router = api_router("teams")


class OwnPhaseShape(Shape):
    """A phase of a challenge that the caller takes part in."""

    slug: str
    name: str
    opens_at: Moment
    closes_at: Moment | None
    open: bool = Field(description="Whether the phase accepts submissions now that are ranked.")
    remaining: dict[str, int | None] | None = Field(
        description="What your team may still submit, as in its quota; null unless it may submit now."
    )


class OwnRegistrationShape(Shape):
    """A registration of the caller with its challenge."""

    model_config = reply_example(team_examples.OWN_REGISTRATION)

    id: str
    challenge: str = Field(description="The slug of the challenge.")
    title: str | None = Field(description="Null if you cannot see the challenge now.")
    status: Literal["approved", "pending", "barred", "ended"]
    reason: str | None
    team: TeamReferenceShape | None = Field(description="Null without a team.")
    created_at: Moment
    phases: list[OwnPhaseShape] = Field(description="In their order; empty if you cannot see the challenge now.")


class InvitationTargetShape(Shape):
    """What the code of an invitation admits to."""

    model_config = reply_example(team_examples.INVITATION_TARGET)

    kind: Literal["site", "challenge", "team"]
    challenge: str | None = Field(
        description="The slug of the challenge; null for the site, without a token, and if the code invites to a team of a "
        "challenge that you do not see."
    )
    title: str | None = Field(description="The title of that challenge.")
    team: str | None = Field(description="The name of the team, if the code invites to one and you see the challenge.")


@router.get("/me/registrations", summary="List my registrations", responses=error_responses())
def get_own_registrations(
    caller: AccountDep, state: AppStateDep, limit: Limit = 50, cursor: Cursor = None
) -> Page[OwnRegistrationShape]:
    """Returns your registrations in all challenges, newest first, with phases and what your team may still submit."""
    with state.db.read() as session:
        rows, following = list_own_registrations(session, caller, limit=limit, cursor=cursor)
        return Page(items=[_registration(row) for row in rows], next=following)


def _registration(own: OwnRegistration) -> OwnRegistrationShape:
    row, team = own.registration, own.registration.team
    return OwnRegistrationShape(
        id=row.id,
        challenge=own.challenge.slug,
        title=None if own.phases is None else own.challenge.title,
        status=row.status,
        reason=row.reason,
        team=None if team is None else TeamReferenceShape(id=team.id, name=team.name),
        created_at=row.created_at,
        phases=[_phase(each) for each in own.phases or ()],
    )


def _phase(own: OwnPhase) -> OwnPhaseShape:
    phase = own.phase
    return OwnPhaseShape(
        slug=phase.slug,
        name=phase.name,
        opens_at=phase.opens_at,
        closes_at=phase.closes_at,
        open=own.is_open,
        remaining=own.remaining,
    )


@router.get(
    "/invitation",
    summary="Read what a code invites to",
    responses=error_responses(errors.InvalidInvitation),
    openapi_extra=TOKEN_OPTIONAL,
)
def get_invitation(
    caller: CallerDep,
    state: AppStateDep,
    code: Annotated[InvitationCode, Header(alias=CODE_HEADER, description="The code of an invitation.")],
) -> InvitationTargetShape:
    """Returns what a code admits to, if it can be used now. With a token, also the challenge, and the team if it is one."""
    with state.db.read() as session:
        kind, challenge, team = read_invitation(session, caller, code)
        return InvitationTargetShape(
            kind=kind,
            challenge=None if challenge is None else challenge.slug,
            title=None if challenge is None else challenge.title,
            team=None if team is None else team.name,
        )
