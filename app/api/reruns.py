"""Scoring again: one submission, or all finished ones of a phase with progress."""

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
from app.api.dependencies import AccountDep, AppStateDep, OrganizerDep
from app.api.field_types import Moment, Shape, reply_example
from app.api.json_body import api_router
from app.api.openapi import examples
from app.api.problems import error_responses
from app.api.submissions import SubmissionShape, submission_shape

router = api_router("submissions")

RERUN_PATH = "/challenges/{slug}/phases/{phase}/rerun"


class ExpectedShape(Shape):
    """What scoring the phase again now would be."""

    total: int = Field(description="Finished submissions that can be scored again.")
    seconds: float | None = Field(description="About how long it takes if nothing else is to be done; null: unknown.")


class RerunShape(Shape):
    """The last order to score a phase again."""

    model_config = reply_example(examples.RERUN)

    id: str | None
    status: Literal["none", "running", "finished", "cancelled"]
    challenge: str
    phase: str
    scorer_version: int | None
    total: int
    done: int
    failed: int = Field(description="Those that could not be scored again, each with the reason in its submission.")
    different: int = Field(description="Those of `done` whose values differ from what is stored.")
    differences: list[dict[str, Any]] = Field(description="The first 100 of them, each with its first 20 values.")
    started_at: Moment | None
    finished_at: Moment | None
    rate: float | None = Field(description="Submissions a second.")
    eta: Moment | None
    next: ExpectedShape


def _rerun_shape(found: RescoringOrderProgress) -> RerunShape:
    row = found.rerun
    return RerunShape(
        id=row and row.id,
        status=found.status,
        challenge=found.phase.challenge.slug,
        phase=found.phase.slug,
        scorer_version=row and row.scorer_version,
        total=row.total if row else 0,
        done=row.done if row else 0,
        failed=row.failed if row else 0,
        different=row.different if row else 0,
        differences=[describe_difference(task, submission) for task, submission in found.different],
        started_at=row and row.started_at,
        finished_at=row and row.finished_at,
        rate=None if found.rate is None else round(found.rate, 3),
        eta=found.eta,
        next=ExpectedShape.model_validate(found.expected),
    )


@router.post(
    RERUN_PATH,
    status_code=202,
    summary="Score a phase again",
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.NoGold),
)
def post_rerun(slug: str, phase: str, who: OrganizerDep, parts: AppStateDep, response: Response) -> RerunShape:
    """Compute all finished submissions again and compare; what is stored stays as it is, statuses and quotas too.

    New submissions go first. While an order runs, another one changes nothing and answers with that one.
    """
    with parts.db.write() as session:
        made = _rerun_shape(order_phase_rescoring(session, who, slug, phase, slots=parts.settings.workers))
    response.headers["Location"] = f"/api/v1/challenges/{made.challenge}/phases/{made.phase}/rerun"
    return made


@router.get(
    RERUN_PATH, summary="Follow scoring a phase again", responses=error_responses(errors.Forbidden, errors.NotFound)
)
def get_rerun(slug: str, phase: str, who: AccountDep, parts: AppStateDep) -> RerunShape:
    """The last order, and in `next` how many submissions another one would be and how long it would take."""
    with parts.db.read() as session:
        return _rerun_shape(read_rescoring_order(session, who, slug, phase, slots=parts.settings.workers))


@router.delete(
    RERUN_PATH, summary="Cancel scoring a phase again", responses=error_responses(errors.Forbidden, errors.NotFound)
)
def delete_rerun(slug: str, phase: str, who: OrganizerDep, parts: AppStateDep) -> RerunShape:
    """Take back what has not begun; without an order that runs this changes nothing."""
    with parts.db.write() as session:
        return _rerun_shape(cancel_rescoring_order(session, who, slug, phase, slots=parts.settings.workers))


@router.post(
    "/submissions/{submission_id}/rerun",
    status_code=202,
    summary="Score a submission again",
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.NoGold, NotRescorable),
)
def post_submission_rerun(
    submission_id: str, who: AccountDep, parts: AppStateDep, response: Response
) -> SubmissionShape:
    """A failed one is queued again, and charged once it is scored; a finished one is computed again and compared, see `rerun`."""
    with parts.db.write() as session:
        made = submission_shape(order_submission_rescoring(session, parts.queue, who, submission_id))
    response.headers["Location"] = f"/api/v1/submissions/{made.id}"
    return made
