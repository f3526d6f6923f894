"""Submissions: read their status and scores, download, cancel and select them."""

from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

from fastapi import Depends, Query, Response
from pydantic import Field

from app import errors
from app.actions.submissions.cancel_submission import CANCELLED_FAILURE, NotCancellable, cancel_submission
from app.actions.submissions.delete_test_entry import delete_test_entry
from app.actions.submissions.read_submissions import (
    EVERY_SUBMISSION,
    SubmissionFilter,
    SubmissionView,
    list_submissions,
    load_downloadable_submission,
    read_submission,
    record_download,
)
from app.actions.submissions.score_visibility import round_for_participants, round_up
from app.actions.submissions.select_submission import select_submission
from app.api.dependencies import AccountDep, AppStateDep, AuditedAccountDep, Cursor, Limit
from app.api.field_types import Moment, Page, Shape, SingleLineText, TeamName, TeamReferenceShape, reply_example
from app.api.http.json_body import api_router
from app.api.http.problem_documents import error_responses, json_examples, success_response
from app.api.http.uploads import delete_unreferenced, stored_file_response
from app.api.ladder_fields import LadderFeedbackShape
from app.api.openapi import examples
from app.api.reasons import NO_REASON, OptionalReason
from app.api.selection_rule import SelectionRule
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
SubmissionMark = Literal["selected", "withdrawn", "disqualified", "unofficial", "baseline", "test"]


MEMBER_ERRORS = (errors.NotRegistered, errors.RegistrationPending, errors.RegistrationBarred, errors.NoTeam)
SELECTION_ERRORS = (
    errors.Forbidden,
    *MEMBER_ERRORS,
    errors.SubmissionOfFormerTeam,
    errors.NotFound,
    errors.SubmissionNotFinished,
    errors.PhaseClosed,
    errors.PhaseReleased,
    errors.InvalidRequest,
)


class Timings(Shape):
    """The times of a submission.

    The duration of scoring depends on the gold, so only organizers see more than steps of 100 ms.
    """

    submitted_at: Moment
    started_at: Moment | None = Field(description="When scoring began, rounded up to 100 ms except for organizers.")
    finished_at: Moment | None = Field(description="When it ended, rounded up to 100 ms except for organizers.")
    seconds_queued: float | None = Field(
        description="Time from submission to the start; in steps of 100 ms except for organizers."
    )
    seconds_scoring: float | None = Field(
        description="Time from the start of scoring to its end; in steps of 100 ms except for organizers."
    )


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
    team: TeamReferenceShape
    method: str
    description: str
    link: str | None
    baseline: bool
    test: bool = Field(description="Whether it is a test entry of organizers, which nobody else sees.")
    selected: bool
    selection: SelectionRule = Field(description="Which submission of a team counts in this phase.")
    on_behalf: bool = Field(description="Whether an organizer sent it on behalf of the team.")
    unofficial: bool = Field(description="Whether it was sent after the close: scored, shown and marked, never ranked.")
    withdrawn_at: Moment | None
    withdrawn_reason: str | None
    disqualified_at: Moment | None
    disqualified_reason: str | None
    sha256: str | None = Field(description="SHA-256 of the file; null for a team whose file an organizer sent.")
    size: int | None
    file_deleted_at: Moment | None = Field(
        None,
        description="When the file was deleted, as those of rejected and cancelled submissions are after some days.",
    )
    split: str | None = Field(description="The split of the gold that `scores` refer to.")
    gold_version: int | None
    recipe_version: int | None
    scores: dict[str, dict[str, Any]] = Field(examples=[{"f1_macro": {"value": 0.731059}}])
    rank: int | None = Field(
        None, description="After the final release: the rank, if this submission counts for its team. Null before."
    )
    public_rank: int | None = Field(
        None,
        description="After the final release: the rank of its team on the public split, beside `rank`. Null before.",
    )
    public_scores: dict[str, dict[str, Any]] | None = Field(
        None, description="After the final release: the scores on the public split. Null before."
    )
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
    ladder: LadderFeedbackShape | None = Field(
        None,
        description="While a Ladder limits feedback, for everybody but organizers: `scores` then has the team's best so far.",
    )


class ListedSubmission(SubmissionShape):
    """A submission among others, with whether it is the one that counts."""

    model_config = reply_example(examples.LISTED_SUBMISSION)

    counts: bool | None = Field(
        description="Whether it is the submission that counts for its team now, by `selection`. Null for readers who may "
        "not see the scores by which that one is chosen.",
    )


def _seconds_between(start: Any, end: Any) -> float | None:
    return round((end - start).total_seconds(), 6) if start is not None and end is not None else None


def _timings(row: Submission, *, organizer: bool) -> Timings:
    """The times of a submission.

    The duration of scoring depends on the gold, so participants see times and durations in steps of 100 ms.
    """
    submitted, started, finished = (
        moment if organizer else round_for_participants(moment)
        for moment in (row.submitted_at, row.started_at, row.finished_at)
    )
    return Timings(
        submitted_at=row.submitted_at,
        started_at=started,
        finished_at=finished,
        seconds_queued=_seconds_between(submitted, started),
        seconds_scoring=_seconds_between(started, finished),
    )


def round_up_eta(eta: datetime | None) -> datetime | None:
    """The expected time as participants and organizers see it."""
    return None if eta is None else round_up(eta, timedelta(seconds=1))


def submission_shape(view: SubmissionView) -> SubmissionShape:
    """A submission as a reply. Of a file that an organizer sent on behalf of a team, the team sees the scores only."""
    row, file_visible = view.submission, view.is_file_visible
    return SubmissionShape(
        id=row.id,
        status=row.status,
        challenge=view.challenge,
        phase=view.phase,
        team=TeamReferenceShape(id=row.team_id, name=row.team.name),
        method=row.method,
        description=row.description,
        link=row.link,
        baseline=row.baseline,
        test=row.test,
        selected=row.selected_at is not None,
        selection=SelectionRule.model_validate(view.selection),
        on_behalf=row.on_behalf and not row.baseline,
        unofficial=row.unofficial,
        withdrawn_at=row.withdrawn_at,
        withdrawn_reason=row.withdrawn_reason,
        disqualified_at=row.disqualified_at,
        disqualified_reason=row.disqualified_reason,
        sha256=row.sha256 if file_visible else None,
        size=row.size if file_visible else None,
        file_deleted_at=row.file_removed_at,
        split=view.split,
        gold_version=view.gold_version,
        recipe_version=view.recipe_version,
        scores=view.scores,
        rank=view.ranks.rank,
        public_rank=view.ranks.public_rank,
        public_scores=view.public_scores,
        splits=view.splits,
        problems=row.problems if file_visible else [],
        total=view.total if file_visible else {},
        total_at_least=view.at_least and file_visible,
        notes=row.notes if file_visible else [ORGANIZER_FILE_NOTE],
        failure=row.failure,
        attempt=row.attempt,
        queue_position=view.queue_position,
        eta=round_up_eta(view.eta),
        timings=_timings(row, organizer=view.organizer),
        rerun=None if view.rerun is None else RerunState.model_validate(view.rerun),
        ladder=None if view.ladder is None else LadderFeedbackShape.model_validate(view.ladder),
    )


def _listed_submission(view: SubmissionView) -> ListedSubmission:
    return ListedSubmission(**dict(submission_shape(view)), counts=view.counts)


def _filter(
    status: Annotated[Status | None, Query(description="Only submissions with this status.")] = None,
    mark: Annotated[SubmissionMark | None, Query(description="Only submissions that are marked so.")] = None,
    team: Annotated[TeamName | None, Query(description="Only those of the team with this id or name.")] = None,
    q: Annotated[
        SingleLineText | None,
        Query(
            min_length=1,
            max_length=200,
            description="Part of the name of the method or of the team, or the beginning of the id.",
        ),
    ] = None,
) -> SubmissionFilter:
    return SubmissionFilter(status, mark, team, q)


Filter = Annotated[SubmissionFilter, Depends(_filter)]


@router.get(
    "/challenges/{slug}/phases/{phase}/submissions",
    summary="List submissions",
    responses=error_responses(*MEMBER_ERRORS, errors.NotFound),
)
def get_submissions(
    slug: str,
    phase: str,
    caller: AccountDep,
    state: AppStateDep,
    wanted: Filter = EVERY_SUBMISSION,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[ListedSubmission]:
    """Returns the submissions of your team, and of former teams while you were in them, newest first.

    Organizers see all. Who is registered and never was in a team gets 403 `no_team`.
    """
    with state.db.read() as session:
        rows, following = list_submissions(session, caller, slug, phase, wanted=wanted, limit=limit, cursor=cursor)
        return Page(items=[_listed_submission(row) for row in rows], next=following)


@router.get(
    "/submissions/{submission_id}",
    summary="Read a submission",
    responses=error_responses(errors.RegistrationPending, errors.NotFound),
)
def get_submission(submission_id: str, caller: AccountDep, state: AppStateDep) -> SubmissionShape:
    """Returns the status, queue position, expected and actual times, problems and scores of a submission."""
    with state.db.read() as session:
        return submission_shape(read_submission(session, caller, submission_id))


@router.delete(
    "/submissions/{submission_id}",
    status_code=204,
    summary="Delete a test entry",
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.NotATestEntry),
)
def delete_submission(submission_id: str, caller: AuditedAccountDep, state: AppStateDep) -> Response:
    """Deletes a test entry with its file and scores. Other submissions can be withdrawn or disqualified, not deleted."""
    with state.db.write() as session:
        key = delete_test_entry(session, caller, submission_id)
    delete_unreferenced(state.files, key)
    return Response(status_code=204)


@router.get(
    "/submissions/{submission_id}/predictions",
    summary="Download the submitted file",
    response_class=Response,
    responses=success_response("The file exactly as it was uploaded.", examples.STORED_PREDICTIONS)
    | error_responses(errors.Forbidden, errors.RegistrationPending, errors.NotFound, errors.FileDeleted),
)
def get_predictions(submission_id: str, caller: AccountDep, state: AppStateDep) -> Response:
    """Returns the uploaded file to its team and to organizers. Files that an organizer sent are for organizers only.

    The audit trail shows which organizer downloaded the file of a team. Files of rejected and cancelled submissions are
    deleted some days later, and earlier if a team sends very many bytes of them in a day (`ASSAY_REJECTED_DAYS`,
    `ASSAY_REJECTED_BYTES`).
    """
    with state.db.read() as session:
        row, is_recorded = load_downloadable_submission(session, caller, submission_id)
    if is_recorded:
        with state.db.write() as session:
            record_download(session, caller, row)
    return stored_file_response(state, row, row.id)


@router.post(
    "/submissions/{submission_id}/cancel",
    summary="Cancel a submission",
    responses=error_responses(
        errors.Forbidden,
        *MEMBER_ERRORS,
        errors.SubmissionOfFormerTeam,
        errors.NotFound,
        NotCancellable,
        errors.PhaseClosed,
    )
    | {200: json_examples(cancelled=examples.SUBMISSION | EXAMPLE_CANCELLED)},
)
def post_cancel(
    submission_id: str, caller: AccountDep, state: AppStateDep, body: OptionalReason = NO_REASON
) -> SubmissionShape:
    """Removes a queued submission from the queue and refunds its quota.

    A submission cancelled by its team counts towards `invalid_per_day`, as a rejected file does. Teams cannot cancel
    after the phase has closed. Organizers can also cancel a submission that is being scored; its scores are then
    discarded. Its team and organizers can read the reason, in `failure`.
    """
    with state.db.write() as session:
        shape = submission_shape(cancel_submission(session, caller, submission_id, reason=body.reason))
    state.notifier.notify_settled(submission_id)
    return shape


@router.post(
    "/submissions/{submission_id}/select",
    summary="Select a submission",
    responses=error_responses(*SELECTION_ERRORS, errors.SelectionFull, errors.NotSelectable)
    | {200: json_examples(selected=examples.SUBMISSION | {"selected": True})},
)
def post_select(
    submission_id: str, caller: AccountDep, state: AppStateDep, body: OptionalReason = NO_REASON
) -> SubmissionShape:
    """Selects a submission. If the recipe has `selection: selected`, the best selected submission of a team counts.

    A submission that is still waiting for its scores can be selected too. After the phase has closed, the selection is
    final, except that a submission that was not scored then can be selected until 24 hours after it is. Organizers can
    change the selection of a team until the final release; they give a reason.
    """
    with state.db.write() as session:
        return submission_shape(select_submission(session, caller, submission_id, selected=True, reason=body.reason))


@router.post(
    "/submissions/{submission_id}/unselect",
    summary="Unselect a submission",
    responses=error_responses(*SELECTION_ERRORS),
)
def post_unselect(
    submission_id: str, caller: AccountDep, state: AppStateDep, body: OptionalReason = NO_REASON
) -> SubmissionShape:
    """Reverses the selection of a submission."""
    with state.db.write() as session:
        return submission_shape(select_submission(session, caller, submission_id, selected=False, reason=body.reason))
