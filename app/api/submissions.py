"""Submissions: follow them, read them back, select."""

from datetime import datetime, timedelta
from typing import Any, Literal

from fastapi import Response
from pydantic import Field

from app import errors
from app.actions.submissions.cancel_submission import CANCELLED_FAILURE, NotCancellable, cancel_submission
from app.actions.submissions.read_submissions import (
    SubmissionView,
    list_submissions,
    load_downloadable_submission,
    read_submission,
    select_final,
)
from app.api.dependencies import AccountDep, AppStateDep, Cursor, Limit
from app.api.field_types import Moment, Page, Shape, reply_example
from app.api.json_body import api_router
from app.api.openapi import examples
from app.api.problems import error_responses, json_examples, success_response
from app.api.uploads import stored_file_response
from app.store.tables import Submission

router = api_router("submissions")

TOTAL_AT_LEAST_DESCRIPTION = "Whether there are more than `total` says, as reading stopped before the end of the file."
EXAMPLE_CANCELLED: dict[str, Any] = {"status": "cancelled", "scores": {}, "failure": CANCELLED_FAILURE}
FINAL_STATUSES = frozenset({"finished", "rejected", "failed", "cancelled"})
ORGANIZER_FILE_NOTE = "an organizer sent this file on behalf of the team: what it holds is for organizers"
Status = Literal["queued", "running", "finished", "rejected", "failed", "cancelled"]


class Submitter(Shape):
    """Who submitted."""

    id: str
    name: str


class Timings(Shape):
    """When what happened. How long scoring takes depends on the gold, so that its exact times are for organizers."""

    submitted_at: Moment
    started_at: Moment | None = Field(
        description="When scoring began; to the next whole second for all but organizers."
    )
    finished_at: Moment | None = Field(description="When it ended; to the next whole second for all but organizers.")
    seconds_queued: float | None = Field(description="From submission to the start of scoring; organizers only.")
    seconds_scoring: float | None = Field(description="From the start of scoring to its end; organizers only.")


class RerunState(Shape):
    """The last time that a submission was scored again."""

    status: str = Field(examples=["done"])
    scorer_version: int
    compared_at: Moment | None = Field(description="When it was compared with what is stored.")
    difference: dict[str, Any] | None = Field(description="How the values differ from those stored, if they do.")
    failure: dict[str, Any] | None


class SubmissionShape(Shape):
    """A submission as its reader may see it."""

    model_config = reply_example(examples.SUBMISSION)

    id: str
    status: Status
    challenge: str
    phase: str
    team: Submitter
    method: str
    description: str
    link: str | None
    baseline: bool
    selected: bool
    sha256: str | None = Field(description="Of the file; null where an organizer sent it for the team.")
    size: int | None
    split: str | None = Field(description="The part of the gold that `scores` are on.")
    gold_version: int | None
    recipe_version: int | None
    scores: dict[str, dict[str, Any]] = Field(examples=[{"f1_macro": {"value": 0.731059}}])
    splits: dict[str, dict[str, dict[str, Any]]] | None = Field(None, description="Every split; organizers only.")
    problems: list[dict[str, Any]]
    total: dict[str, int] = Field(description="Problems per code.")
    total_at_least: bool = Field(False, description=TOTAL_AT_LEAST_DESCRIPTION)
    notes: list[str]
    failure: dict[str, Any] | None
    attempt: int
    queue_position: int | None
    timings: Timings
    rerun: RerunState | None = Field(None, description="If it was scored again; organizers only.")


def _seconds_between(start: Any, end: Any) -> float | None:
    return round((end - start).total_seconds(), 6) if start is not None and end is not None else None


def _timings(row: Submission, *, organizer: bool) -> Timings:
    """The times of one submission; the start of one is the end of another, so participants see neither to its fraction."""
    started, finished = row.started_at, row.finished_at
    if not organizer:
        started, finished = _round_up_to_second(started), _round_up_to_second(finished)
    return Timings(
        submitted_at=row.submitted_at,
        started_at=started,
        finished_at=finished,
        seconds_queued=_seconds_between(row.submitted_at, started) if organizer else None,
        seconds_scoring=_seconds_between(started, finished) if organizer else None,
    )


def _round_up_to_second(moment: datetime | None) -> datetime | None:
    """A moment at the next whole second: no finer than what somebody who asks again and again sees anyway."""
    if moment is None or not moment.microsecond:
        return moment
    return moment.replace(microsecond=0) + timedelta(seconds=1)


def submission_shape(found: SubmissionView) -> SubmissionShape:
    """A submission as a reply; of a file that an organizer sent for a team, the team reads how it did, not what it is."""
    row, open_file = found.submission, found.is_file_visible
    return SubmissionShape(
        id=row.id,
        status=row.status,
        challenge=found.challenge,
        phase=found.phase,
        team=Submitter(id=row.team_id, name=row.team.name),
        method=row.method,
        description=row.description,
        link=row.link,
        baseline=row.baseline,
        selected=row.selected_at is not None,
        sha256=row.sha256 if open_file else None,
        size=row.size if open_file else None,
        split=found.split,
        gold_version=found.gold_version,
        recipe_version=found.recipe_version,
        scores=found.scores,
        splits=found.splits,
        problems=row.problems if open_file else [],
        total=found.total if open_file else {},
        total_at_least=found.at_least and open_file,
        notes=row.notes if open_file else [ORGANIZER_FILE_NOTE],
        failure=row.failure,
        attempt=row.attempt,
        queue_position=found.queue_position,
        timings=_timings(row, organizer=found.organizer),
        rerun=None if found.rerun is None else RerunState.model_validate(found.rerun),
    )


@router.get(
    "/challenges/{slug}/phases/{phase}/submissions",
    summary="List submissions",
    responses=error_responses(errors.NotRegistered, errors.NotFound),
)
def get_submissions(
    slug: str, phase: str, who: AccountDep, parts: AppStateDep, limit: Limit = 50, cursor: Cursor = None
) -> Page[SubmissionShape]:
    """The own team's, newest first; organizers see all."""
    with parts.db.read() as session:
        rows, following = list_submissions(session, who, slug, phase, limit=limit, cursor=cursor)
        return Page(items=[submission_shape(row) for row in rows], next=following)


@router.get(
    "/submissions/{submission_id}",
    summary="Read a submission",
    responses=error_responses(errors.InsufficientScope, errors.NotFound),
)
def get_submission(submission_id: str, who: AccountDep, parts: AppStateDep) -> SubmissionShape:
    """Status, queue position, timings, problems and scores."""
    with parts.db.read() as session:
        return submission_shape(read_submission(session, who, submission_id))


@router.get(
    "/submissions/{submission_id}/predictions",
    summary="Download the submitted file",
    response_class=Response,
    responses=success_response("The very bytes that were sent.", examples.STORED_PREDICTIONS)
    | error_responses(errors.Forbidden, errors.InsufficientScope, errors.NotFound),
)
def get_predictions(submission_id: str, who: AccountDep, parts: AppStateDep) -> Response:
    """For its team and the organizers; a file that an organizer sent for a team, for organizers alone."""
    with parts.db.read() as session:
        row = load_downloadable_submission(session, who, submission_id)
    return stored_file_response(parts, row, row.id)


@router.post(
    "/submissions/{submission_id}/cancel",
    summary="Cancel a submission",
    responses=error_responses(errors.Forbidden, errors.NotFound, NotCancellable, errors.PhaseClosed)
    | {200: json_examples(cancelled=examples.SUBMISSION | EXAMPLE_CANCELLED)},
)
def post_cancel(submission_id: str, who: AccountDep, parts: AppStateDep) -> SubmissionShape:
    """Take a submission that waits out of the queue; what it took from the quota is given back.

    Where its team does so, it counts in `invalid_per_day`, as a rejected file does; after the close it no longer may.
    Organizers may also cancel one that is being scored; its scores are then not stored.
    """
    with parts.db.write() as session:
        shape = submission_shape(cancel_submission(session, who, submission_id))
    parts.notifier.notify_settled(submission_id)
    return shape


@router.post(
    "/submissions/{submission_id}/select",
    summary="Select a submission",
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.SubmissionNotFinished, errors.PhaseClosed)
    | {200: json_examples(selected=examples.SUBMISSION | {"selected": True})},
)
def post_select(submission_id: str, who: AccountDep, parts: AppStateDep) -> SubmissionShape:
    """Where the recipe's selection is `selected`, the best of a team's selected submissions counts.

    One that still waits for its scores may be selected too; once the phase has closed the choice stands.
    """
    with parts.db.write() as session:
        return submission_shape(select_final(session, who, submission_id, selected=True))


@router.post(
    "/submissions/{submission_id}/unselect",
    summary="Take a selection back",
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.SubmissionNotFinished, errors.PhaseClosed),
)
def post_unselect(submission_id: str, who: AccountDep, parts: AppStateDep) -> SubmissionShape:
    """The opposite of select."""
    with parts.db.write() as session:
        return submission_shape(select_final(session, who, submission_id, selected=False))
