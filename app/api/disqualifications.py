"""Withdraw, disqualify and reinstate submissions."""

from typing import Annotated

from fastapi import Depends

from app import errors
from app.actions.access import Caller
from app.actions.submissions.disqualification import (
    disqualify_submission,
    reinstate_submission,
    require_submission_organizer,
    withdraw_submission,
)
from app.api.dependencies import AccountDep, AppStateDep
from app.api.http.json_body import api_router
from app.api.http.problem_documents import error_responses, json_examples
from app.api.openapi import examples
from app.api.openapi.disqualification_examples import DISQUALIFIED, WITHDRAWN
from app.api.reasons import NO_REASON, OptionalReason, Reason
from app.api.submissions import MEMBER_ERRORS, SubmissionShape, submission_shape

router = api_router("submissions")


def current_submission_organizer(submission_id: str, caller: AccountDep, state: AppStateDep) -> Caller:
    """The caller, if they may decide on the submission, so that a lack of rights is reported before a faulty body."""
    with state.db.read() as session:
        require_submission_organizer(session, caller, submission_id)
    return caller


SubmissionOrganizerDep = Annotated[Caller, Depends(current_submission_organizer)]


@router.post(
    "/submissions/{submission_id}/withdraw",
    summary="Withdraw a submission",
    responses=error_responses(
        errors.Forbidden,
        *MEMBER_ERRORS,
        errors.SubmissionOfFormerTeam,
        errors.NotFound,
        errors.OnNoBoard,
        errors.PhaseClosed,
    )
    | {200: json_examples(withdrawn=WITHDRAWN)},
)
def post_withdraw(
    submission_id: str, caller: AccountDep, state: AppStateDep, body: OptionalReason = NO_REASON
) -> SubmissionShape:
    """Takes a submission out of the ranking; boards show it as withdrawn. For members of its team and for organizers.

    It still counts as an entry, and the quota is not refunded. A team can withdraw until the phase closes, and cannot
    undo it; organizers can at any time, and can reinstate the submission. A withdrawn baseline leaves the board.
    """
    with state.db.write() as session:
        return submission_shape(withdraw_submission(session, caller, submission_id, reason=body.reason))


@router.post(
    "/submissions/{submission_id}/disqualify",
    summary="Disqualify a submission",
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.OnNoBoard)
    | {200: json_examples(disqualified=DISQUALIFIED)},
)
def post_disqualify(
    submission_id: str, caller: SubmissionOrganizerDep, state: AppStateDep, body: Reason
) -> SubmissionShape:
    """Takes a submission out of the ranking; boards show it as disqualified. Requires an organizer.

    The team's next entry counts instead.
    """
    with state.db.write() as session:
        return submission_shape(disqualify_submission(session, caller, submission_id, reason=body.reason))


@router.post(
    "/submissions/{submission_id}/reinstate",
    summary="Reinstate a submission",
    responses=error_responses(errors.Forbidden, errors.NotFound) | {200: json_examples(reinstated=examples.SUBMISSION)},
)
def post_reinstate(
    submission_id: str, caller: SubmissionOrganizerDep, state: AppStateDep, body: OptionalReason = NO_REASON
) -> SubmissionShape:
    """Undoes the withdrawal and the disqualification of a submission. Requires an organizer."""
    with state.db.write() as session:
        return submission_shape(reinstate_submission(session, caller.with_reason(body.reason), submission_id))
