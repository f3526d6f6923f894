"""Submissions: read their status and scores, download, cancel and select them."""

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
from app.api.http.json_body import api_router
from app.api.http.problem_documents import error_responses, json_examples, success_response
from app.api.http.uploads import stored_file_response
from app.api.openapi import examples
from app.store.tables import Submission

router = api_router("submissions")

TOTAL_AT_LEAST_DESCRIPTION = "Whether `total` is a lower bound, because reading stopped before the end of the file."
ETA_DESCRIPTION = (
    "When the final status is expected, by the durations of recent scorings; rounded up to the second. Null unless the "
    "submission is queued, and while no duration or no worker is known."
)
EXAMPLE_CANCELLED: dict[str, Any] = {"status": "cancelled", "scores": {}, "failure": CANCELLED_FAILURE}
FINAL_STATUSES = frozenset({"finished", "rejected", "failed", "cancelled"})
ORGANIZER_FILE_NOTE = "an organizer sent this file on behalf of the team: its content is visible to organizers only"
Status = Literal["queued", "running", "finished", "rejected", "failed", "cancelled"]


class Submitter(Shape):
    """The team that submitted."""

    id: str
    name: str


class Timings(Shape):
    """The times of a submission.

    The duration of scoring depends on the gold, so exact times are for organizers only.
    """

    submitted_at: Moment
    started_at: Moment | None = Field(description="When scoring began, rounded up to the second except for organizers.")
    finished_at: Moment | None = Field(description="When it ended, rounded up to the second except for organizers.")
    seconds_queued: float | None = Field(description="Time from submission to the start of scoring; organizers only.")
    seconds_scoring: float | None = Field(description="Time from the start of scoring to its end; organizers only.")


class RerunState(Shape):
    """The most recent rescoring of a submission."""

    status: str = Field(examples=["done"])
    scorer_version: int
    compared_at: Moment | None = Field(description="When the result was compared with the stored scores.")
    difference: dict[str, Any] | None = Field(description="How the values differ from the stored ones, if they do.")
    failure: dict[str, Any] | None


class SubmissionShape(Shape):
    """A submission, with what the caller may see of it."""

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
    sha256: str | None = Field(description="SHA-256 of the file; null for a team whose file an organizer sent.")
    size: int | None
    split: str | None = Field(description="The split of the gold that `scores` refer to.")
    gold_version: int | None
    recipe_version: int | None
    scores: dict[str, dict[str, Any]] = Field(examples=[{"f1_macro": {"value": 0.731059}}])
    splits: dict[str, dict[str, dict[str, Any]]] | None = Field(None, description="Every split; organizers only.")
    problems: list[dict[str, Any]]
    total: dict[str, int] = Field(description="The number of problems per code.")
    total_at_least: bool = Field(False, description=TOTAL_AT_LEAST_DESCRIPTION)
    notes: list[str]
    failure: dict[str, Any] | None
    attempt: int
    queue_position: int | None
    eta: Moment | None = Field(description=ETA_DESCRIPTION)
    timings: Timings
    rerun: RerunState | None = Field(None, description="Set if the submission was scored again; organizers only.")


def _seconds_between(start: Any, end: Any) -> float | None:
    return round((end - start).total_seconds(), 6) if start is not None and end is not None else None


def _timings(row: Submission, *, organizer: bool) -> Timings:
    """The times of a submission.

    One often starts when another ends, so participants see both without fractions of a second.
    """
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
    """The time rounded up to the second, which is no more than anybody who polls the status learns anyway."""
    if moment is None or not moment.microsecond:
        return moment
    return moment.replace(microsecond=0) + timedelta(seconds=1)


def submission_shape(view: SubmissionView) -> SubmissionShape:
    """A submission as a reply. Of a file that an organizer sent on behalf of a team, the team sees the scores only."""
    row, file_visible = view.submission, view.is_file_visible
    return SubmissionShape(
        id=row.id,
        status=row.status,
        challenge=view.challenge,
        phase=view.phase,
        team=Submitter(id=row.team_id, name=row.team.name),
        method=row.method,
        description=row.description,
        link=row.link,
        baseline=row.baseline,
        selected=row.selected_at is not None,
        sha256=row.sha256 if file_visible else None,
        size=row.size if file_visible else None,
        split=view.split,
        gold_version=view.gold_version,
        recipe_version=view.recipe_version,
        scores=view.scores,
        splits=view.splits,
        problems=row.problems if file_visible else [],
        total=view.total if file_visible else {},
        total_at_least=view.at_least and file_visible,
        notes=row.notes if file_visible else [ORGANIZER_FILE_NOTE],
        failure=row.failure,
        attempt=row.attempt,
        queue_position=view.queue_position,
        eta=_round_up_to_second(view.eta),
        timings=_timings(row, organizer=view.organizer),
        rerun=None if view.rerun is None else RerunState.model_validate(view.rerun),
    )


@router.get(
    "/challenges/{slug}/phases/{phase}/submissions",
    summary="List submissions",
    responses=error_responses(errors.NotRegistered, errors.NotFound),
)
def get_submissions(
    slug: str, phase: str, caller: AccountDep, state: AppStateDep, limit: Limit = 50, cursor: Cursor = None
) -> Page[SubmissionShape]:
    """Returns the submissions of your team, newest first. Organizers see all."""
    with state.db.read() as session:
        rows, following = list_submissions(session, caller, slug, phase, limit=limit, cursor=cursor)
        return Page(items=[submission_shape(row) for row in rows], next=following)


@router.get(
    "/submissions/{submission_id}",
    summary="Read a submission",
    responses=error_responses(errors.InsufficientScope, errors.NotFound),
)
def get_submission(submission_id: str, caller: AccountDep, state: AppStateDep) -> SubmissionShape:
    """Returns the status, queue position, expected and actual times, problems and scores of a submission."""
    with state.db.read() as session:
        return submission_shape(read_submission(session, caller, submission_id))


@router.get(
    "/submissions/{submission_id}/predictions",
    summary="Download the submitted file",
    response_class=Response,
    responses=success_response("The file exactly as it was uploaded.", examples.STORED_PREDICTIONS)
    | error_responses(errors.Forbidden, errors.InsufficientScope, errors.NotFound),
)
def get_predictions(submission_id: str, caller: AccountDep, state: AppStateDep) -> Response:
    """Returns the uploaded file to its team and to organizers. Files that an organizer sent are for organizers only."""
    with state.db.read() as session:
        row = load_downloadable_submission(session, caller, submission_id)
    return stored_file_response(state, row, row.id)


@router.post(
    "/submissions/{submission_id}/cancel",
    summary="Cancel a submission",
    responses=error_responses(errors.Forbidden, errors.NotFound, NotCancellable, errors.PhaseClosed)
    | {200: json_examples(cancelled=examples.SUBMISSION | EXAMPLE_CANCELLED)},
)
def post_cancel(submission_id: str, caller: AccountDep, state: AppStateDep) -> SubmissionShape:
    """Removes a queued submission from the queue and refunds its quota.

    A submission cancelled by its team counts towards `invalid_per_day`, as a rejected file does. Teams cannot cancel
    after the phase has closed. Organizers can also cancel a submission that is being scored; its scores are then
    discarded.
    """
    with state.db.write() as session:
        shape = submission_shape(cancel_submission(session, caller, submission_id))
    state.notifier.notify_settled(submission_id)
    return shape


@router.post(
    "/submissions/{submission_id}/select",
    summary="Select a submission",
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.SubmissionNotFinished, errors.PhaseClosed)
    | {200: json_examples(selected=examples.SUBMISSION | {"selected": True})},
)
def post_select(submission_id: str, caller: AccountDep, state: AppStateDep) -> SubmissionShape:
    """Selects a submission. If the recipe has `selection: selected`, the best selected submission of a team counts.

    A submission that is still waiting for its scores can be selected too. After the phase has closed, the selection is
    final.
    """
    with state.db.write() as session:
        return submission_shape(select_final(session, caller, submission_id, selected=True))


@router.post(
    "/submissions/{submission_id}/unselect",
    summary="Unselect a submission",
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.SubmissionNotFinished, errors.PhaseClosed),
)
def post_unselect(submission_id: str, caller: AccountDep, state: AppStateDep) -> SubmissionShape:
    """Reverses the selection of a submission."""
    with state.db.write() as session:
        return submission_shape(select_final(session, caller, submission_id, selected=False))
