"""Rescoring: one submission, or all finished submissions of a phase with progress."""

from typing import Any, Literal

from fastapi import Response
from pydantic import Field

from app import errors
from app.actions.scoring_tasks.rescoring_order import (
    NotRescorable,
    RescoringOrderProgress,
    cancel_rescoring_order,
    describe_difference,
    order_phase_rescoring,
    order_submission_rescoring,
    read_rescoring_order,
)
from app.api.dependencies import AccountDep, AppStateDep, AuditedAccountDep, AuditedOrganizerDep
from app.api.field_types import Moment, Shape, reply_example
from app.api.http.json_body import api_router
from app.api.http.problem_documents import error_responses
from app.api.openapi import examples
from app.api.submissions import SubmissionShape, submission_shape

router = api_router("submissions")

RERUN_PATH = "/challenges/{slug}/phases/{phase}/rerun"


class ExpectedShape(Shape):
    """What rescoring the phase now would involve."""

    total: int = Field(description="How many finished submissions can be scored again.")
    seconds: float | None = Field(description="The approximate duration on an otherwise idle service; null if unknown.")


class RerunShape(Shape):
    """The last order to rescore a phase."""

    model_config = reply_example(examples.RERUN)

    id: str | None
    status: Literal["none", "running", "finished", "cancelled"]
    challenge: str
    phase: str
    scorer_version: int | None
    total: int
    done: int
    failed: int = Field(description="Submissions that could not be scored again; each of them states the reason.")
    different: int = Field(description="How many of `done` have values that differ from the stored ones.")
    differences: list[dict[str, Any]] = Field(
        description="The first 100 of `different`, each with its first 20 values."
    )
    started_at: Moment | None
    finished_at: Moment | None
    rate: float | None = Field(description="Submissions per second.")
    eta: Moment | None
    next: ExpectedShape


def _rerun_shape(progress: RescoringOrderProgress) -> RerunShape:
    row = progress.rerun
    return RerunShape(
        id=row and row.id,
        status=progress.status,
        challenge=progress.phase.challenge.slug,
        phase=progress.phase.slug,
        scorer_version=row and row.scorer_version,
        total=row.total if row else 0,
        done=row.done if row else 0,
        failed=row.failed if row else 0,
        different=row.different if row else 0,
        differences=[describe_difference(task, submission) for task, submission in progress.different],
        started_at=row and row.started_at,
        finished_at=row and row.finished_at,
        rate=None if progress.rate is None else round(progress.rate, 3),
        eta=progress.eta,
        next=ExpectedShape.model_validate(progress.expected),
    )


@router.post(
    RERUN_PATH,
    status_code=202,
    summary="Score a phase again",
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.NoGold),
)
def post_rerun(
    slug: str, phase: str, caller: AuditedOrganizerDep, state: AppStateDep, response: Response
) -> RerunShape:
    """Scores all finished submissions of a phase again and compares the results with the stored ones.

    Stored scores, statuses and quotas do not change. New submissions have priority. While an order is running, this
    returns that order and changes nothing.
    """
    with state.db.write() as session:
        shape = _rerun_shape(order_phase_rescoring(session, caller, slug, phase, slots=state.settings.workers))
    response.headers["Location"] = f"/api/v1/challenges/{shape.challenge}/phases/{shape.phase}/rerun"
    return shape


@router.get(
    RERUN_PATH,
    summary="Read the progress of scoring a phase again",
    responses=error_responses(errors.Forbidden, errors.NotFound),
)
def get_rerun(slug: str, phase: str, caller: AccountDep, state: AppStateDep) -> RerunShape:
    """Returns the last order. `next` estimates what another order would involve."""
    with state.db.read() as session:
        return _rerun_shape(read_rescoring_order(session, caller, slug, phase, slots=state.settings.workers))


@router.delete(
    RERUN_PATH, summary="Cancel scoring a phase again", responses=error_responses(errors.Forbidden, errors.NotFound)
)
def delete_rerun(slug: str, phase: str, caller: AuditedOrganizerDep, state: AppStateDep) -> RerunShape:
    """Cancels the submissions of the order that have not started. Without a running order, this changes nothing."""
    with state.db.write() as session:
        return _rerun_shape(cancel_rescoring_order(session, caller, slug, phase, slots=state.settings.workers))


@router.post(
    "/submissions/{submission_id}/rerun",
    status_code=202,
    summary="Score a submission again",
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.NoGold, NotRescorable),
)
def post_submission_rerun(
    submission_id: str, caller: AuditedAccountDep, state: AppStateDep, response: Response
) -> SubmissionShape:
    """Scores one submission again.

    A failed submission is queued again, and counts towards the quota once it is scored. A finished one is scored again
    and compared with the stored scores; see `rerun` in its reply.
    """
    with state.db.write() as session:
        shape = submission_shape(order_submission_rescoring(session, state.queue, caller, submission_id))
    response.headers["Location"] = f"/api/v1/submissions/{shape.id}"
    return shape
