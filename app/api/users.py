"""Accounts as administrators manage them, and invitations to the site."""

from typing import Annotated, Literal

from fastapi import Query, Response
from pydantic import Field

from app import errors
from app.actions.accounts.manage_users import create_reset, edit_user, list_users, read_user, remove_user
from app.actions.invitations.site_invitations import invite_to_site, list_site_invitations, revoke_site_invitation
from app.api.accounts import UserShape
from app.api.dependencies import AccountDep, AppStateDep, AuditedAccountDep, Cursor, Limit
from app.api.field_types import Body, Moment, Page, Reason, Shape, SingleLineText, reply_example, request_example
from app.api.http.json_body import api_router
from app.api.http.problem_documents import error_responses
from app.api.openapi import account_examples
from app.api.reasons import NO_REASON, OptionalReason

router = api_router("accounts")


class UserEdit(Body):
    """What an administrator may change of an account."""

    model_config = request_example(disabled=True, reason="The account was used by somebody else.")

    approved: bool | None = Field(None, description="Whether the user may create challenges where that needs approval.")
    disabled: bool | None = Field(None, description="`true` ends all sessions and tokens, and refuses log-ins.")
    reason: Reason | None = Field(None, description="Required to disable an account.")


class ResetLink(Shape):
    """A link with which a user sets a new password once."""

    model_config = reply_example(account_examples.RESET_LINK)

    link: str = Field(description="To be handed to the user; the secret after the # reaches no server log.")
    expires_at: Moment


class NewInvitation(Body):
    """An invitation to make."""

    model_config = request_example(max_uses=30, days=14, note="The class of 2027")

    max_uses: int | None = Field(1, ge=1, le=10**6, strict=True, description="Null for any number of uses.")
    days: int = Field(30, ge=1, le=365, strict=True, description="Days until it expires.")
    note: SingleLineText = Field("", max_length=200, description="For those who list invitations.")


class InvitationShape(Shape):
    """An invitation, without its code."""

    model_config = reply_example(account_examples.INVITATION)

    id: str
    note: str
    uses: int
    max_uses: int | None
    created_at: Moment
    expires_at: Moment | None


class FreshInvitation(InvitationShape):
    """A new invitation with its code, which is shown only once."""

    model_config = reply_example(account_examples.FRESH_INVITATION)

    code: str


UserState = Literal["enabled", "disabled", "approved", "admin"]


@router.get(
    "/users", summary="List accounts", response_model=Page[UserShape], responses=error_responses(errors.Forbidden)
)
def get_users(
    caller: AccountDep,
    state: AppStateDep,
    q: Annotated[
        SingleLineText | None, Query(max_length=200, description="Part of the name or of the address.")
    ] = None,
    status: Annotated[UserState | None, Query(description="Only accounts in this state.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> object:
    """Returns the accounts, newest first. Requires an administrator."""
    with state.db.read() as session:
        rows, following = list_users(session, caller, search=q, state=status, limit=limit, cursor=cursor)
        return {"items": rows, "next": following}


@router.get(
    "/users/{user_id}",
    summary="Read an account",
    response_model=UserShape,
    responses=error_responses(errors.Forbidden, errors.NotFound),
)
def get_user(user_id: str, caller: AccountDep, state: AppStateDep) -> object:
    """Returns an account. Requires an administrator."""
    with state.db.read() as session:
        return UserShape.model_validate(read_user(session, caller, user_id))


@router.patch(
    "/users/{user_id}",
    summary="Approve, disable or enable an account",
    response_model=UserShape,
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.LastAdministrator, errors.InvalidRequest),
)
def patch_user(user_id: str, body: UserEdit, caller: AccountDep, state: AppStateDep) -> object:
    """Changes the fields that are sent. Requires an administrator.

    The captaincy of a disabled user passes on. Teams and submissions stay as they are.
    """
    with state.db.write() as session:
        return UserShape.model_validate(
            edit_user(session, caller.with_reason(body.reason), user_id, **body.model_dump())
        )


@router.delete(
    "/users/{user_id}",
    status_code=204,
    summary="Delete an account",
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.LastAdministrator, errors.LastOwner),
)
def delete_user_account(user_id: str, caller: AuditedAccountDep, state: AppStateDep) -> Response:
    """Deletes the account of a person; what it sent stays under a pseudonym. Requires an administrator."""
    with state.db.write() as session:
        remove_user(session, caller, user_id)
    return Response(status_code=204)


@router.post(
    "/users/{user_id}/reset",
    status_code=201,
    summary="Make a link for a new password",
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.NoPublicURL, errors.InvalidRequest),
)
def post_reset(user_id: str, caller: AccountDep, state: AppStateDep, body: OptionalReason = NO_REASON) -> ResetLink:
    """Makes a link with which the user sets a new password within an hour. Requires an administrator.

    The passwords of administrators can only be reset on the machine of the service.
    """
    with state.db.write() as session:
        public_url = state.settings.public_url
        row, link = create_reset(session, caller.with_reason(body.reason), user_id, public_url=public_url)
        return ResetLink(link=link, expires_at=row.expires_at)


@router.post(
    "/invitations",
    status_code=201,
    summary="Invite people to the site",
    responses=error_responses(errors.Forbidden, errors.InvalidRequest),
)
def post_site_invitation(body: NewInvitation, caller: AuditedAccountDep, state: AppStateDep) -> FreshInvitation:
    """Makes a code with which people sign up where that needs an invitation. Requires an administrator."""
    with state.db.write() as session:
        row, code = invite_to_site(session, caller, **body.model_dump())
        return FreshInvitation(**InvitationShape.model_validate(row).model_dump(), code=code)


@router.get(
    "/invitations",
    summary="List invitations to the site",
    response_model=Page[InvitationShape],
    responses=error_responses(errors.Forbidden),
)
def get_site_invitations(caller: AccountDep, state: AppStateDep, limit: Limit = 50, cursor: Cursor = None) -> object:
    """Returns the invitations that were not revoked, newest first. Requires an administrator."""
    with state.db.read() as session:
        rows, following = list_site_invitations(session, caller, limit=limit, cursor=cursor)
        return {"items": rows, "next": following}


@router.delete(
    "/invitations/{invitation_id}",
    status_code=204,
    summary="Revoke an invitation to the site",
    responses=error_responses(errors.Forbidden, errors.NotFound),
)
def delete_site_invitation(invitation_id: str, caller: AuditedAccountDep, state: AppStateDep) -> Response:
    """Revokes an invitation; its code can no longer be used. Requires an administrator."""
    with state.db.write() as session:
        revoke_site_invitation(session, caller, invitation_id)
    return Response(status_code=204)
