"""The audit trail: of a challenge for its organizers, of the whole site for administrators."""

from typing import Annotated, Any, Literal

from fastapi import Depends, Query
from pydantic import Field

from app import errors
from app.actions.audit.read_trail import AuditFilter, TrailPage, read_challenge_trail, read_site_trail
from app.api.dependencies import AccountDep, AppStateDep, Cursor, Limit
from app.api.field_types import Moment, Page, Shape, Text, reply_example
from app.api.http.json_body import api_router
from app.api.http.problem_documents import error_responses
from app.api.openapi import audit_examples
from app.store.tables import AuditEntry

router = api_router("audit")

MAX_NAME_LENGTH = 320


class NamedShape(Shape):
    """A user or a team, with its name as it is now; null if it no longer exists."""

    id: str
    name: str | None


class PlaceShape(Shape):
    """A challenge or a phase, with its slug as it is now; null for a phase that was deleted."""

    id: str
    slug: str | None


class ObjectShape(Shape):
    """What an act changed."""

    type: str
    id: str
    name: str | None = Field(
        description="Of a challenge, phase or team the name that it had then; of a user, the name."
    )


class AuditEntryShape(Shape):
    """One act: who, when, on what, what changed from what to what, and why."""

    model_config = reply_example(audit_examples.AUDIT_ENTRY)

    id: str
    at: Moment
    actor: NamedShape | None = Field(description="Null for commands on the machine of the service (`operator`).")
    role: str = Field(
        description="In what role: owner, editor, viewer, administrator, captain, member, user or operator."
    )
    action: str = Field(description="Object and verb, such as `phase.pause`.")
    object: ObjectShape | None
    challenge: PlaceShape | None = Field(description="Null for acts on accounts and on the site.")
    phase: PlaceShape | None
    team: NamedShape | None
    user: NamedShape | None = Field(description="Whom the act concerns, such as the user of a registration.")
    changes: dict[str, Any] = Field(description='By field: `{"from": …, "to": …}`.')
    names: dict[str, str] = Field(description="The names of the users and teams whose ids stand in `changes`.")
    reason: str | None
    log: Literal["logged", "pending"] | None = Field(
        description="Whether the transparency log has its record at a position yet; null for acts before the log."
    )
    log_position: int | None = Field(description="The position in the transparency log; null while it is pending.")


def _name_query(description: str) -> Any:
    return Query(min_length=1, max_length=MAX_NAME_LENGTH, description=description)


def audit_filter(
    action: Annotated[
        str | None,
        Query(
            pattern=r"^[a-z_]{1,30}(\.[a-z_]{0,40})?$",
            description="An action such as `phase.pause`, or the object alone: `phase` or `phase.`.",
        ),
    ] = None,
    actor: Annotated[Text | None, _name_query("Id or e-mail address of the account that acted, or `operator`.")] = None,
    user: Annotated[Text | None, _name_query("Id or e-mail address of the account that the act concerns.")] = None,
    object: Annotated[  # noqa: A002 - the name of the parameter
        Text | None,
        _name_query("Id of what was changed: a submission, team, phase, registration, invitation or account."),
    ] = None,
    team: Annotated[Text | None, _name_query("Id or name of a team.")] = None,
    phase: Annotated[Text | None, _name_query("Id or slug of a phase.")] = None,
    since: Annotated[Moment | None, Query(description="Acts at this time or later.")] = None,
    until: Annotated[Moment | None, Query(description="Acts before this time.")] = None,
) -> AuditFilter:
    """The filter that the query asks for."""
    return AuditFilter(action, actor, user, object, team, phase, since, until)


Filter = Annotated[AuditFilter, Depends(audit_filter)]
Order = Annotated[Literal["newest", "oldest"], Query(description="Which entries come first.")]


@router.get(
    "/challenges/{slug}/audit",
    summary="Read the audit trail of a challenge",
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.BadCursor),
)
def get_challenge_audit(
    slug: str,
    wanted: Filter,
    caller: AccountDep,
    state: AppStateDep,
    order: Order = "newest",
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[AuditEntryShape]:
    """Returns what organizers, administrators, captains and members did in a challenge. Requires an organizer.

    Administrators can still read it after the challenge was deleted.
    """
    paging: dict[str, Any] = {"limit": limit, "cursor": cursor, "oldest_first": order == "oldest"}
    with state.db.read() as session:
        return _page(read_challenge_trail(session, caller, slug, wanted, **paging))


@router.get(
    "/audit",
    summary="Read the audit trail of the site",
    responses=error_responses(errors.Forbidden, errors.BadCursor),
)
def get_audit(
    wanted: Filter,
    caller: AccountDep,
    state: AppStateDep,
    challenge: Annotated[
        Text | None, _name_query("Slug or id of a challenge, also a former slug, and of a deleted challenge.")
    ] = None,
    order: Order = "newest",
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[AuditEntryShape]:
    """Returns what was done on the site: with accounts, invitations, and in all challenges. Requires an administrator."""
    paging: dict[str, Any] = {"limit": limit, "cursor": cursor, "oldest_first": order == "oldest"}
    with state.db.read() as session:
        return _page(read_site_trail(session, caller, challenge, wanted, **paging))


def _page(page: TrailPage) -> Page[AuditEntryShape]:
    return Page(items=[_entry_shape(page, entry) for entry in page.entries], next=page.following)


def _entry_shape(page: TrailPage, entry: AuditEntry) -> AuditEntryShape:
    def named(row_id: str | None) -> NamedShape | None:
        return None if row_id is None else NamedShape(id=row_id, name=page.names.get(row_id))

    def placed(row_id: str | None, slugs: Any) -> PlaceShape | None:
        return None if row_id is None else PlaceShape(id=row_id, slug=slugs.get(row_id))

    thing = None
    if entry.object_id is not None and entry.object_type is not None:
        name = page.names.get(entry.object_id) if entry.object_type == "user" else entry.object_name
        thing = ObjectShape(type=entry.object_type, id=entry.object_id, name=name)
    return AuditEntryShape(
        id=entry.id,
        at=entry.at,
        actor=named(entry.actor_id),
        role=entry.role,
        action=entry.action,
        object=thing,
        challenge=placed(entry.challenge_id, page.challenges),
        phase=placed(entry.phase_id, page.phases),
        team=named(entry.team_id),
        user=named(entry.user_id),
        changes=entry.changes,
        names=page.names_in(entry),
        reason=entry.reason,
        log=_log_state(page, entry),
        log_position=page.positions.get(entry.id),
    )


def _log_state(page: TrailPage, entry: AuditEntry) -> Literal["logged", "pending"] | None:
    if entry.id not in page.positions:
        return None
    return "pending" if page.positions[entry.id] is None else "logged"
