"""Invitations to a challenge."""

from fastapi import Response

from app import errors
from app.actions.invitations.challenge_invitations import (
    invite_to_challenge,
    list_challenge_invitations,
    revoke_challenge_invitation,
)
from app.api.dependencies import AccountDep, AppStateDep, AuditedAccountDep, AuditedOrganizerDep, Cursor, Limit
from app.api.field_types import Page
from app.api.http.json_body import api_router
from app.api.http.problem_documents import error_responses
from app.api.users import FreshInvitation, InvitationShape, NewInvitation

router = api_router("teams", prefix="/challenges/{slug}/invitations")


@router.post(
    "",
    status_code=201,
    summary="Invite people to a challenge",
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.InvalidRequest),
)
def post_challenge_invitation(
    slug: str, body: NewInvitation, caller: AuditedOrganizerDep, state: AppStateDep
) -> FreshInvitation:
    """Makes a code with which users register, approved at once, also for a private challenge. Requires an organizer."""
    with state.db.write() as session:
        row, code = invite_to_challenge(session, caller, slug, **body.model_dump())
        return FreshInvitation(**InvitationShape.model_validate(row).model_dump(), code=code)


@router.get(
    "",
    summary="List invitations to a challenge",
    response_model=Page[InvitationShape],
    responses=error_responses(errors.Forbidden, errors.NotFound),
)
def get_challenge_invitations(
    slug: str, caller: AccountDep, state: AppStateDep, limit: Limit = 50, cursor: Cursor = None
) -> object:
    """Returns the invitations that were not revoked, newest first. Requires an organizer."""
    with state.db.read() as session:
        rows, following = list_challenge_invitations(session, caller, slug, limit=limit, cursor=cursor)
        return {"items": rows, "next": following}


@router.delete(
    "/{invitation_id}",
    status_code=204,
    summary="Revoke an invitation to a challenge",
    responses=error_responses(errors.Forbidden, errors.NotFound),
)
def delete_challenge_invitation(
    slug: str, invitation_id: str, caller: AuditedAccountDep, state: AppStateDep
) -> Response:
    """Revokes an invitation; its code can no longer be used. Requires an organizer."""
    with state.db.write() as session:
        revoke_challenge_invitation(session, caller, slug, invitation_id)
    return Response(status_code=204)
