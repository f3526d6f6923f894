"""Submitting predictions: stored durably before the reply, or only checked, optionally waiting for the scores."""

from dataclasses import replace
from typing import Annotated, Any

from fastapi import Depends, Header, Query, Request, Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse

from app import errors
from app.actions.submissions.admission import (
    Sender,
    SubmissionMetadata,
    load_admission_facts,
    only_open_phase,
)
from app.actions.submissions.read_submissions import SubmissionView
from app.api.dependencies import SenderDep, app_state, parse_prefer_wait
from app.api.field_types import LINK_PATTERN, Moment, SingleLineText, TeamName, reply_example
from app.api.http.form_file import is_form
from app.api.http.json_body import api_router
from app.api.http.problem_documents import error_responses, json_examples
from app.api.http.uploads import (
    Filename,
    Layout,
    file_request_body,
)
from app.api.limits.reader_queue import TooManyWaiting
from app.api.openapi import examples, quota_examples
from app.api.receive_submission import (
    DryRun,
    SubmissionRequest,
    check_predictions,
    refuse_early,
    store_submission,
)
from app.api.submissions import (
    FINAL_STATUSES,
    MEMBER_ERRORS,
    SubmissionShape,
    submission_shape,
)
from app.text.given_times import in_zone

router = api_router("submissions")


class PostedSubmission(SubmissionShape):
    """A submission in the reply to its sender, with what remains of the quota."""

    model_config = reply_example(quota_examples.POSTED)

    remaining: dict[str, int | None] = Field(
        default_factory=dict,
        description="What the team may still submit, by limit. Absent where the phase has no limits, and for organizers.",
    )
    reset_at: Moment | None = Field(None, description="When the next day begins in the time zone of the challenge.")
    reset_at_local: str | None = Field(None, description="The same time in that zone.")
    timezone: str | None = Field(None, description="The time zone of the challenge.")


async def submission_metadata(
    *,
    method: Annotated[
        SingleLineText, Query(max_length=200, description="The name of the method, shown on the leaderboard.")
    ] = "",
    description: Annotated[
        SingleLineText, Query(max_length=5000, description="What the method does. Not shown on the leaderboard.")
    ] = "",
    link: Annotated[
        SingleLineText | None,
        Query(max_length=2000, pattern=LINK_PATTERN, description="An http or https URL with more information."),
    ] = None,
    team: Annotated[
        TeamName | None,
        Query(
            description="Organizers only: submit for this team, which is created if it does not exist. The team cannot read the file."
        ),
    ] = None,
    baseline: Annotated[
        bool, Query(description="Organizers only: submit a baseline, which is shown without a rank and not as a team.")
    ] = False,
    test: Annotated[
        bool,
        Query(
            description="Organizers only: a test entry, which is scored, charges no quota and is on no leaderboard. Only organizers see it, and can delete it."
        ),
    ] = False,
) -> SubmissionMetadata:
    """Read what the query states about a submission; raises BadRequest."""
    if test and (team is not None or baseline):
        raise errors.BadRequest(
            "A test entry belongs to no team and is not a baseline.", remedy="Leave out team and baseline, or test."
        )
    return SubmissionMetadata(method, description, link, team, baseline, test)


async def submission_request(
    request: Request,
    sender: SenderDep,
    entry: Annotated[SubmissionMetadata, Depends(submission_metadata)],
    *,
    dry_run: Annotated[
        bool, Query(description="Only check the file: returns 200 with all problems and stores nothing.")
    ] = False,
    filename: Filename = None,
    layout: Layout = None,
    prefer: Annotated[
        list[str] | None,
        Header(description="`wait=N`: reply when the status is final, after at most N seconds (up to 60)."),
    ] = None,
    idempotency_key: Annotated[
        str | None,
        Header(
            alias="Idempotency-Key",
            min_length=1,
            max_length=255,
            description="Makes it safe to repeat this request: the repetition returns the first submission.",
        ),
    ] = None,
) -> SubmissionRequest:
    """Read the query and the headers of a submission; raises UnsupportedMedia, BadRequest."""
    upload = SubmissionRequest(
        request,
        app_state(request),
        sender,
        entry,
        filename,
        layout,
        parse_prefer_wait(prefer or ()),
        idempotency_key,
        dry_run,
    )
    if not is_form(request.headers.get("content-type")):  # of which nothing is read before the rights are checked
        await upload.file_kind()
    return upload


SubmissionRequestDep = Annotated[SubmissionRequest, Depends(submission_request)]

SUBMIT_ROUTE_OPTIONS: dict[str, Any] = {
    "status_code": 202,
    "response_model": PostedSubmission,
    "responses": {
        200: {
            "model": DryRun | PostedSubmission,
            "description": "The result of a dry run, or the earlier submission with this `Idempotency-Key`.",
        }
        | json_examples(dry_run=examples.DRY_RUN, repetition=quota_examples.POSTED),
        201: {"model": PostedSubmission, "description": "The submission has a final status."},
        202: {"model": PostedSubmission, "description": "Stored and queued. Poll the URL in `Location` for its status."}
        | json_examples(queued=quota_examples.POSTED | examples.QUEUED),
    }
    | error_responses(
        errors.Forbidden,
        *MEMBER_ERRORS,
        errors.TeamDisqualified,
        errors.NotFound,
        errors.NoOpenPhase,
        errors.PhasePaused,
        errors.NoGold,
        errors.TeamNameTaken,
        errors.SeveralOpenPhases,
        errors.RequestInFlight,
        errors.TooLarge,
        errors.UnsupportedMedia,
        errors.IdempotencyMismatch,
        errors.InvalidContent,
        errors.InvalidRequest,
        errors.QuotaExceeded,
        TooManyWaiting,
        errors.Unavailable,
        errors.StorageAlmostFull,
    ),
    "openapi_extra": file_request_body("The predictions, in any of the formats.", examples.PREDICTION_FILE),
}


@router.post("/challenges/{slug}/phases/{phase}/submissions", summary="Submit predictions", **SUBMIT_ROUTE_OPTIONS)
async def post_submission(slug: str, phase: str, upload: SubmissionRequestDep) -> Response:
    """Submits predictions to a phase. The request body is the file itself.

    The file is stored durably before the reply, and scored soon after.
    """
    organizer = await refuse_early(upload, slug, phase)
    if upload.dry_run:
        result = await check_predictions(upload, slug, phase, organizer=organizer)
        return JSONResponse(result.model_dump(mode="json", exclude_unset=True))
    view, new = await store_submission(upload, slug, phase)
    final = view.submission.status in FINAL_STATUSES
    return Response(
        _reply_body(view),
        media_type="application/json",
        status_code=200 if not new else 201 if final else 202,
        headers={"Location": f"/api/v1/submissions/{view.submission.id}"}
        | _quota_headers(upload, view)
        | ({} if final else {"Retry-After": "1"})
        | ({"Preference-Applied": f"wait={upload.wait_seconds}"} if upload.wait_seconds else {}),
    )


def _reply_body(view: SubmissionView) -> str:
    """The submission, with what remains of the quota where the phase limits it."""
    shape = submission_shape(view)
    balance = view.balance
    if balance is None:
        return shape.model_dump_json()
    quota = {"remaining": balance.remaining, "reset_at": balance.reset_at, "timezone": balance.timezone}
    quota["reset_at_local"] = in_zone(balance.reset_at, balance.timezone)
    return PostedSubmission(**dict(shape), **quota).model_dump_json()


def _quota_headers(upload: SubmissionRequest, view: SubmissionView) -> dict[str, str]:
    return {} if view.balance is None else view.balance.headers(upload.sender.facts.read_at.now)


@router.post("/challenges/{slug}/submissions", summary="Submit to the one open phase", **SUBMIT_ROUTE_OPTIONS)
async def post_to_open_phase(slug: str, upload: SubmissionRequestDep) -> Response:
    """Submits predictions to the only phase that is open now. Everything else is as in the route with a phase."""

    def find_phase() -> tuple[str, Sender]:
        with upload.state.db.read() as session:
            phase = only_open_phase(session, upload.caller, slug, key=upload.stored_key)
            facts = load_admission_facts(session, upload.caller, slug, phase, upload.stored_key)
            return phase, Sender(upload.caller, facts)

    phase, sender = await run_in_threadpool(find_phase)
    return await post_submission(slug, phase, replace(upload, sender=sender))
