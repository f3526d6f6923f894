"""The organizers of a challenge and their roles."""

from typing import Annotated, Literal

from fastapi import Depends, Query, Response
from pydantic import Field

from app import errors
from app.actions.access import Caller, load_visible_challenge, require_owner
from app.actions.challenges.manage_organizers import (
    list_organizers,
    list_own_roles,
    remove_organizer,
    set_organizer_role,
)
from app.api.dependencies import AccountDep, AppStateDep, AuditedAccountDep, Cursor, Limit, paginate
from app.api.field_types import (
    Body,
    Email,
    Moment,
    Page,
    Reason,
    Shape,
    reply_example,
    request_example,
)
from app.api.http.json_body import api_router
from app.api.http.problem_documents import error_responses
from app.api.openapi import challenge_examples, examples
from app.store.tables import Organizer

router = api_router("organizers")


def current_owner(slug: str, caller: AccountDep, state: AppStateDep) -> Caller:
    """The caller, if they own the challenge, so that a lack of rights is reported before a faulty body."""
    with state.db.read() as session:
        require_owner(session, caller, load_visible_challenge(session, caller, slug))
    return caller


class NewOrganizer(Body):
    """A user and the role to assign."""

    model_config = request_example(email="ada@example.org", role="editor")

    email: Email
    role: Literal["owner", "editor", "viewer"] = "editor"
    reason: Reason | None = Field(None, description="Why; the audit trail keeps it.")


class OrganizerShape(Shape):
    """An organizer and their role."""

    model_config = reply_example(examples.ORGANIZER)

    email: str
    name: str
    role: Literal["owner", "editor", "viewer"]


class OwnRoleShape(Shape):
    """A challenge that the caller organizes."""

    model_config = reply_example(challenge_examples.OWN_ROLE)

    challenge: str = Field(description="The slug of the challenge.")
    title: str
    role: Literal["owner", "editor", "viewer"]
    status: Literal["draft", "published"]
    visibility: Literal["public", "private"]
    archived_at: Moment | None


@router.get("/me/roles", summary="List my roles as an organizer", responses=error_responses())
def get_own_roles(
    caller: AccountDep, state: AppStateDep, limit: Limit = 50, cursor: Cursor = None
) -> Page[OwnRoleShape]:
    """Returns the challenges that you organize, newest first. A token without the scope `organize` has no roles."""
    with state.db.read() as session:
        rows, following = list_own_roles(session, caller, limit=limit, cursor=cursor)
        items = [
            OwnRoleShape(
                challenge=challenge.slug,
                title=challenge.title,
                role=role,
                status=challenge.status,
                visibility=challenge.visibility,
                archived_at=challenge.archived_at,
            )
            for challenge, role in rows
        ]
        return Page(items=items, next=following)


def _organizer_shape(row: Organizer) -> OrganizerShape:
    return OrganizerShape.model_validate({"email": row.user.email, "name": row.user.name, "role": row.role})


@router.get(
    "/challenges/{slug}/organizers",
    summary="List organizers",
    responses=error_responses(errors.Forbidden, errors.NotFound),
)
def get_organizers(
    slug: str, caller: AccountDep, state: AppStateDep, limit: Limit = 50, cursor: Cursor = None
) -> Page[OrganizerShape]:
    """Returns the organizers of a challenge. Requires an organizer."""
    with state.db.read() as session:
        organizers = list_organizers(session, caller, slug)
        rows, following = paginate(organizers, lambda row: row.user_id, limit=limit, cursor=cursor)
        return Page(items=[_organizer_shape(row) for row in rows], next=following)


@router.post(
    "/challenges/{slug}/organizers",
    status_code=201,
    summary="Add an organizer",
    responses=error_responses(
        errors.Forbidden, errors.NotFound, errors.LastOwner, errors.StillRegistered, errors.InvalidRequest
    ),
)
def post_organizer(
    slug: str, body: NewOrganizer, caller: Annotated[Caller, Depends(current_owner)], state: AppStateDep
) -> OrganizerShape:
    """Assigns a user a role in the challenge, or changes it. Requires the role `owner`."""
    with state.db.write() as session:
        return _organizer_shape(
            set_organizer_role(session, caller.with_reason(body.reason), slug, email=body.email, role=body.role)
        )


@router.delete(
    "/challenges/{slug}/organizers",
    status_code=204,
    summary="Remove an organizer",
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.LastOwner),
)
def delete_organizer(
    slug: str,
    email: Annotated[Email, Query(description="The e-mail address of the organizer's account.")],
    caller: AuditedAccountDep,
    state: AppStateDep,
) -> Response:
    """Removes the role of the user with this address. Requires the role `owner`, except for one's own role.

    The last owner cannot be removed. A former organizer may have read the gold, and so cannot register.
    """
    with state.db.write() as session:
        remove_organizer(session, caller, slug, email)
    return Response(status_code=204)
