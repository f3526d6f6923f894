"""Announcements of the organizers, and their feed."""

from typing import Annotated, Any

from fastapi import Response
from pydantic import BeforeValidator, Field

from app import errors
from app.actions.challenges.announcements import (
    delete_announcement,
    edit_announcement,
    list_announcements,
    post_announcement,
    read_feed,
)
from app.api.atom_feed import MEDIA_TYPE, atom_feed
from app.api.dependencies import AppStateDep, AuditedOrganizerDep, CallerDep, Cursor, Limit
from app.api.field_types import Body, Moment, Name, Page, Shape, Text, reply_example, request_example
from app.api.http.json_body import api_router
from app.api.http.problem_documents import TOKEN_OPTIONAL, error_responses, success_response
from app.api.openapi import challenge_examples as examples

router = api_router("challenges", prefix="/challenges/{slug}")


def _plain_line_ends(value: Any) -> Any:
    return value.replace("\r\n", "\n") if isinstance(value, str) else value


AnnouncementBody = Annotated[
    Text,
    BeforeValidator(_plain_line_ends),
    Field(max_length=20_000, description="Plain text or Markdown; it is shown as it is."),
]


class NewAnnouncement(Body):
    """An announcement to post."""

    model_config = request_example(title="The test phase opens on Monday", body="Its gold has 2,000 instances.")

    title: Name = Field(examples=["The test phase opens on Monday"])
    body: AnnouncementBody = ""


class AnnouncementEdit(Body):
    """The parts of an announcement that change."""

    model_config = request_example(body="Its gold has 2,100 instances.")

    title: Name = ""
    body: AnnouncementBody = ""


class AnnouncementShape(Shape):
    """An announcement."""

    model_config = reply_example(examples.ANNOUNCEMENT)

    id: str
    title: str
    body: str
    created_at: Moment
    edited_at: Moment | None


@router.get(
    "/announcements",
    summary="List announcements",
    response_model=Page[AnnouncementShape],
    responses=error_responses(errors.NotFound),
    openapi_extra=TOKEN_OPTIONAL,
)
def get_announcements(
    slug: str, caller: CallerDep, state: AppStateDep, limit: Limit = 50, cursor: Cursor = None
) -> object:
    """Returns what the organizers announced, newest first, to everybody who sees the challenge."""
    with state.db.read() as session:
        rows, following = list_announcements(session, caller, slug, limit=limit, cursor=cursor)
        return Page(items=[AnnouncementShape.model_validate(row) for row in rows], next=following)


@router.get(
    "/announcements.atom",
    summary="Read the feed of announcements",
    response_class=Response,
    responses=success_response("An Atom feed (RFC 4287).", {MEDIA_TYPE: examples.FEED})
    | error_responses(errors.NotFound),
    openapi_extra=TOKEN_OPTIONAL,
)
def get_announcement_feed(slug: str, caller: CallerDep, state: AppStateDep) -> Response:
    """Returns the newest 100 announcements as an Atom feed.

    Its addresses are absolute if `ASSAY_PUBLIC_URL` is set. The feed of a challenge that is not public needs a token.
    """
    with state.db.read() as session:
        content = atom_feed(*read_feed(session, caller, slug), state.settings.public_url)
    return Response(content, media_type=f"{MEDIA_TYPE}; charset=utf-8")


@router.post(
    "/announcements",
    status_code=201,
    summary="Post an announcement",
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.InvalidRequest),
)
def create_announcement(
    slug: str, body: NewAnnouncement, caller: AuditedOrganizerDep, state: AppStateDep
) -> AnnouncementShape:
    """Tells everybody who sees the challenge something. Requires the role `owner` or `editor`."""
    with state.db.write() as session:
        row = post_announcement(session, caller, slug, title=body.title, body=body.body)
        return AnnouncementShape.model_validate(row)


@router.patch(
    "/announcements/{announcement_id}",
    summary="Edit an announcement",
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.InvalidRequest),
)
def patch_announcement(
    slug: str, announcement_id: str, body: AnnouncementEdit, caller: AuditedOrganizerDep, state: AppStateDep
) -> AnnouncementShape:
    """Changes title or body. The time of the change is shown; the audit trail keeps the former text."""
    with state.db.write() as session:
        changes = body.model_dump(exclude_unset=True)
        return AnnouncementShape.model_validate(edit_announcement(session, caller, slug, announcement_id, changes))


@router.delete(
    "/announcements/{announcement_id}",
    status_code=204,
    summary="Delete an announcement",
    responses=error_responses(errors.Forbidden, errors.NotFound),
)
def remove_announcement(slug: str, announcement_id: str, caller: AuditedOrganizerDep, state: AppStateDep) -> Response:
    """Deletes an announcement; the audit trail keeps its text."""
    with state.db.write() as session:
        delete_announcement(session, caller, slug, announcement_id)
    return Response(status_code=204)
