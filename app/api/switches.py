"""Switches of a board to other versions: their history, the progress of a pending one, confirmation and cancellation."""

from typing import Literal

from pydantic import Field

from app import errors
from app.actions.versions.read_switches import SwitchView, VersionNumbers, list_switches, read_switch
from app.actions.versions.request_switch import cancel_switch, confirm_switch
from app.api.dependencies import (
    AccountDep,
    AppStateDep,
    CallerDep,
    Cursor,
    Limit,
    paginate,
)
from app.api.field_types import Moment, Page, Shape, reply_example
from app.api.http.json_body import api_router
from app.api.http.problem_documents import TOKEN_OPTIONAL, error_responses
from app.api.openapi import switch_examples
from app.api.reasons import NO_REASON, OptionalReason

router = api_router("phases", prefix="/challenges/{slug}/phases/{phase}/switches")

BLOCKED_DESCRIPTION = (
    "Submissions that cannot be scored by the new versions. The switch waits until they are scored again, or until an "
    "organizer confirms that they leave the board."
)


class Versions(Shape):
    """The versions that a board is computed from."""

    gold: int | None
    recipe: int | None
    scorer_version: int | None


class SwitchProgress(Shape):
    """How many finished submissions have scores of the new versions."""

    total: int
    scored: int
    failed: int = Field(description="How many cannot be scored.")


class BlockedShape(Shape):
    """A submission that cannot be scored by the new versions."""

    submission: str
    code: str
    detail: str


class SwitchShape(Shape):
    """A switch of the board from one set of versions to another."""

    model_config = reply_example(switch_examples.SWITCH)

    number: int = Field(description="1, 2, 3… in each phase.")
    phase: str
    status: Literal["pending", "done", "cancelled"]
    from_: Versions | None = Field(alias="from", description="What was in force before; null for the first gold.")
    to: Versions
    reason: str
    requested_by: str | None = Field(description="For organizers: who requested it; null for the service itself.")
    requested_at: Moment
    confirmed_at: Moment | None = Field(description="When an organizer accepted what `blocked_by` named.")
    switched_at: Moment | None
    cancelled_at: Moment | None
    lists_instances: bool = Field(description="Whether the errata name the ids of the instances that changed.")
    progress: SwitchProgress | None = Field(description="While it is pending, for organizers.")
    eta: float | None = Field(description="Seconds until all submissions are scored, estimated; null if unknown.")
    blocked_by: list[BlockedShape] = Field(description=BLOCKED_DESCRIPTION)


def switch_shape(view: SwitchView) -> SwitchShape:
    """A switch as a reply."""
    row, progress = view.row, view.progress
    counts = None
    if progress is not None:
        counts = SwitchProgress(total=progress.total, scored=progress.scored, failed=len(progress.failed))
    fields = {
        "number": row.number,
        "phase": view.phase,
        "status": row.status,
        "from": None if view.before is None else _versions(view.before),
        "to": _versions(view.target),
        "reason": row.reason,
        "requested_by": view.requested_by,
        "progress": counts,
        "eta": view.eta,
        "blocked_by": [BlockedShape.model_validate(each._asdict()) for each in view.blocked_by],
    }
    columns = ("requested_at", "confirmed_at", "switched_at", "cancelled_at", "lists_instances")
    return SwitchShape.model_validate(fields | {name: getattr(row, name) for name in columns})


def _versions(numbers: VersionNumbers) -> Versions:
    return Versions.model_validate(numbers._asdict())


@router.get(
    "",
    summary="List the switches of a board",
    responses=error_responses(errors.NotFound, errors.LeaderboardHidden),
    openapi_extra=TOKEN_OPTIONAL,
)
def get_switches(
    slug: str, phase: str, caller: CallerDep, state: AppStateDep, limit: Limit = 50, cursor: Cursor = None
) -> Page[SwitchShape]:
    """Returns which versions of gold, recipe and scorer were in force when, and why they changed, newest first.

    Everybody who sees the board sees this; pending and cancelled switches are for organizers.
    """
    with state.db.read() as session:
        views = list_switches(session, caller, slug, phase, slots=state.settings.workers)
        rows, following = paginate(views, lambda view: view.row.number, limit=limit, cursor=cursor)
        return Page(items=[switch_shape(view) for view in rows], next=following)


@router.get(
    "/{number}",
    summary="Read a switch of a board",
    responses=error_responses(errors.NotFound, errors.LeaderboardHidden),
    openapi_extra=TOKEN_OPTIONAL,
)
def get_switch(slug: str, phase: str, number: int, caller: CallerDep, state: AppStateDep) -> SwitchShape:
    """Returns one switch; a pending one shows its progress to organizers."""
    with state.db.read() as session:
        return switch_shape(read_switch(session, caller, slug, phase, number, slots=state.settings.workers))


@router.post(
    "/{number}/confirm",
    summary="Let a switch leave out what cannot be scored",
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.SwitchEnded),
)
def post_switch_confirm(
    slug: str,
    phase: str,
    number: int,
    caller: AccountDep,
    state: AppStateDep,
    body: OptionalReason = NO_REASON,
) -> SwitchShape:
    """Accepts that the submissions in `blocked_by` leave the board; one that fails later withholds the switch again."""
    with state.db.write() as session:
        acting = caller.with_reason(body.reason)
        confirm_switch(session, acting, slug, phase, number)
        return switch_shape(read_switch(session, acting, slug, phase, number, slots=state.settings.workers))


@router.post(
    "/{number}/cancel",
    summary="Cancel a pending switch",
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.SwitchEnded),
)
def post_switch_cancel(
    slug: str,
    phase: str,
    number: int,
    caller: AccountDep,
    state: AppStateDep,
    body: OptionalReason = NO_REASON,
) -> SwitchShape:
    """Takes a pending switch back: the board stays as it is, and the version becomes a draft again, or retired."""
    with state.db.write() as session:
        acting = caller.with_reason(body.reason)
        cancel_switch(session, acting, slug, phase, number)
        return switch_shape(read_switch(session, acting, slug, phase, number, slots=state.settings.workers))
