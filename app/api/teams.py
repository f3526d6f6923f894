"""Teams: read them, rename them, invite to them, leave them, and merge them."""

from typing import Annotated, Literal, Self

from fastapi import Query, Response
from pydantic import Field, model_validator

from app import errors
from app.actions.invitations.codes import DEFAULT_DAYS, MAX_DAYS
from app.actions.teams.edit_team import edit_team
from app.actions.teams.join_team import invite_to_team, revoke_team_invitation
from app.actions.teams.leave_team import remove_member
from app.actions.teams.merge_teams import merge_teams, withdraw_merge
from app.actions.teams.read_teams import TeamView, list_teams, view_teams
from app.api.dependencies import AccountDep, AppStateDep, AuditedAccountDep, Cursor, Limit
from app.api.field_types import (
    Body,
    Moment,
    Page,
    Shape,
    SingleLineText,
    TeamName,
    TeamReferenceShape,
    reply_example,
    request_example,
)
from app.api.http.json_body import api_router
from app.api.http.problem_documents import error_responses, json_examples
from app.api.openapi import team_examples
from app.store.tables import Team

router = api_router("teams")


class MemberShape(Shape):
    """A member of a team."""

    id: str = Field(description="The id of the user.")
    name: str
    email: str | None = Field(description="For organizers and for the member; null for everybody else.")
    status: Literal["approved", "pending", "barred"] = Field(description="The state of the member's registration.")
    captain: bool
    joined_at: Moment


class TeamInvitationShape(Shape):
    """An invitation that can still be used. Its code is shown only when it is made."""

    id: str
    note: str
    created_at: Moment
    expires_at: Moment


class NewTeamInvitationShape(TeamInvitationShape):
    """A new invitation with its code."""

    model_config = reply_example(team_examples.NEW_INVITATION)

    code: str = Field(description="It admits one user, who registers with it. It is shown only here.")


class MergeProposalShape(Shape):
    """An open proposal to merge two teams."""

    team: TeamReferenceShape = Field(description="The team that proposed; it stays.")
    other: TeamReferenceShape = Field(alias="with", description="The team whose captain has to agree.")
    proposed_at: Moment


class TeamDetails(Shape):
    """A team with its members, open invitations and open proposals to merge."""

    model_config = reply_example(team_examples.TEAM_DETAILS)

    id: str
    name: str
    baseline: bool = Field(description="Whether this is a name for baselines of organizers, which no user can join.")
    created_at: Moment
    disqualified_at: Moment | None
    disqualified_reason: str | None
    captain: str | None = Field(description="The id of the user who leads the team; null without members.")
    members: list[MemberShape] = Field(description="Whoever has been in the team longest comes first.")
    invitations: list[TeamInvitationShape]
    merges: list[MergeProposalShape]


class TeamEdit(Body):
    """What to change of a team."""

    model_config = request_example(name="Blue Moon")

    name: TeamName | None = Field(None, examples=["Blue Moon"])
    captain: str | None = Field(None, max_length=64, description="The id of the member who leads the team from now on.")

    @model_validator(mode="after")
    def _require_change(self) -> Self:
        if self.name is None and self.captain is None:
            raise ValueError("say what to change: 'name' or 'captain'")
        return self


class NewTeamInvitation(Body):
    """An invitation to make."""

    model_config = request_example(note="for Bob", days=7)

    note: SingleLineText = Field("", max_length=200, description="Whom it is for; members of the team see it.")
    days: int = Field(DEFAULT_DAYS, ge=1, le=MAX_DAYS, strict=True, description="After so many days it expires.")


class MergeRequest(Body):
    """The team to merge with."""

    model_config = request_example(**{"with": "Green"})

    other: TeamName = Field(alias="with", description="The name or the id of the other team.", examples=["Green"])


class MergeShape(Shape):
    """What a request to merge led to."""

    model_config = reply_example(team_examples.MERGE)

    merged: bool = Field(description="Whether the teams are one now; otherwise the other captain has to agree.")
    team: TeamReferenceShape = Field(description="The team that stays.")
    other: TeamReferenceShape = Field(alias="with", description="The team that becomes part of it.")


_TEAM_COLUMNS = ("id", "name", "baseline", "created_at", "disqualified_at", "disqualified_reason")


def team_details(view: TeamView, reader: str | None, *, organizer: bool) -> TeamDetails:
    """A team as its member `reader`, or an organizer, sees it."""
    team = view.team
    members = [
        {
            "id": each.registration.user_id,
            "name": each.registration.user.name,
            "email": each.registration.user.email if organizer or each.registration.user_id == reader else None,
            "status": each.registration.status,
            "captain": each.registration.user_id == team.captain_id,
            "joined_at": each.joined_at,
        }
        for each in view.members
    ]
    merges = [
        {
            "team": {"id": each.merge.team_id, "name": each.team_name},
            "with": {"id": each.merge.other_team_id, "name": each.other_name},
            "proposed_at": each.merge.proposed_at,
        }
        for each in view.proposals
    ]
    columns = {name: getattr(team, name) for name in _TEAM_COLUMNS}
    lists = {"members": members, "invitations": view.invitations, "merges": merges}
    return TeamDetails.model_validate({**columns, **lists, "captain": team.captain_id})


@router.get(
    "/challenges/{slug}/teams",
    summary="List teams",
    responses=error_responses(errors.NotFound),
)
def get_teams(
    slug: str, caller: AccountDep, state: AppStateDep, limit: Limit = 50, cursor: Cursor = None
) -> Page[TeamDetails]:
    """Returns your own team, if you are in one. Organizers see all teams.

    A team that was merged into another is no longer listed; its name stays taken.
    """
    with state.db.read() as session:
        views, organizer, following = list_teams(session, caller, slug, limit=limit, cursor=cursor)
        items = [team_details(view, caller.user_id, organizer=organizer) for view in views]
        return Page(items=items, next=following)


@router.patch(
    "/challenges/{slug}/teams/{team_id}",
    summary="Rename a team or hand over its captaincy",
    responses=error_responses(
        errors.NotCaptain,
        errors.Forbidden,
        errors.NotFound,
        errors.TeamNameTaken,
        errors.BaselineHasNoMembers,
        errors.InvalidRequest,
    ),
)
def patch_team(slug: str, team_id: str, body: TeamEdit, caller: AuditedAccountDep, state: AppStateDep) -> TeamDetails:
    """Gives the team another name, or another captain. Requires its captain or an organizer.

    The captaincy passes on to the member who has been in the team longest if the captain leaves, is barred or is disabled.
    """
    with state.db.write() as session:
        team = edit_team(session, caller, slug, team_id, name=body.name, captain=body.captain)
        return team_details(view_teams(session, [team])[0], caller.user_id, organizer=False)


@router.post(
    "/challenges/{slug}/teams/{team_id}/invitations",
    status_code=201,
    summary="Invite to a team",
    responses=error_responses(
        errors.NotCaptain,
        errors.Forbidden,
        errors.NotFound,
        errors.TeamFull,
        errors.TooManyInvitations,
        errors.BaselineHasNoMembers,
        errors.InvalidRequest,
    ),
)
def post_team_invitation(
    slug: str, team_id: str, body: NewTeamInvitation, caller: AuditedAccountDep, state: AppStateDep
) -> NewTeamInvitationShape:
    """Makes a code that admits one user to the team. Requires its captain or an organizer.

    The user sends it as `invitation` to `POST /challenges/{slug}/registrations`.
    """
    with state.db.write() as session:
        row, code = invite_to_team(session, caller, slug, team_id, note=body.note, days=body.days)
        return NewTeamInvitationShape.model_validate(
            {**TeamInvitationShape.model_validate(row).model_dump(), "code": code}
        )


@router.delete(
    "/challenges/{slug}/teams/{team_id}/invitations/{invitation_id}",
    status_code=204,
    summary="Revoke an invitation to a team",
    responses=error_responses(errors.NotCaptain, errors.Forbidden, errors.NotFound),
)
def delete_team_invitation(
    slug: str, team_id: str, invitation_id: str, caller: AuditedAccountDep, state: AppStateDep
) -> Response:
    """Ends an invitation that was not used. Requires the captain of the team or an organizer."""
    with state.db.write() as session:
        revoke_team_invitation(session, caller, slug, team_id, invitation_id)
    return Response(status_code=204)


@router.delete(
    "/challenges/{slug}/teams/{team_id}/members/{user_id}",
    status_code=204,
    summary="Leave a team or remove a member",
    responses=error_responses(errors.NotCaptain, errors.RegistrationBarred, errors.Forbidden, errors.NotFound),
)
def delete_member(slug: str, team_id: str, user_id: str, caller: AuditedAccountDep, state: AppStateDep) -> Response:
    """With your own id, you leave the team. Its captain removes others, and so do organizers, who say why in `reason`.

    A user who leaves a team that has used quota needs an organizer's permission to join or found another one.
    Submissions stay with the team; the user keeps access to those from before.
    """
    with state.db.write() as session:
        remove_member(session, caller, slug, team_id, user_id)
    return Response(status_code=204)


@router.post(
    "/challenges/{slug}/teams/{team_id}/merge",
    summary="Merge two teams",
    responses=error_responses(
        errors.NotCaptain,
        errors.NotFound,
        errors.MergeTooLate,
        errors.TeamCannotMerge,
        errors.TeamFull,
        errors.MergeExceedsQuota,
        errors.InvalidRequest,
    )
    | {200: json_examples(proposed=team_examples.MERGE, merged=team_examples.MERGE | {"merged": True})},
)
def post_merge(
    slug: str, team_id: str, body: MergeRequest, caller: AuditedAccountDep, state: AppStateDep
) -> MergeShape:
    """Proposes to merge your team with another one, or agrees to its proposal. Requires the captain.

    The team that proposed stays. Members, submissions, quota and grants of the other one become its own. Together the
    teams may have made at most as many submissions as one team could have made so far in each phase.
    """
    with state.db.write() as session:
        result = merge_teams(session, caller, slug, team_id, body.other)
        pair = {"team": _reference(result.team), "with": _reference(result.other)}
        return MergeShape.model_validate({"merged": result.merged, **pair})


@router.delete(
    "/challenges/{slug}/teams/{team_id}/merge",
    status_code=204,
    summary="Withdraw or decline a merge",
    responses=error_responses(errors.NotCaptain, errors.NotFound, errors.NoMergeProposal),
)
def delete_merge(
    slug: str,
    team_id: str,
    other: Annotated[TeamName, Query(alias="with", description="The name or the id of the other team.")],
    caller: AuditedAccountDep,
    state: AppStateDep,
) -> Response:
    """Withdraws the proposal of your team to merge with another one, or declines that of the other. Requires the captain."""
    with state.db.write() as session:
        withdraw_merge(session, caller, slug, team_id, other)
    return Response(status_code=204)


def _reference(team: Team) -> dict[str, str]:
    return {"id": team.id, "name": team.name}
