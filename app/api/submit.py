"""Submitting predictions: stored durably before the reply, or only checked, optionally waiting for the scores."""

import asyncio
import contextlib
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

import structlog
from fastapi import Depends, Header, Query, Request, Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse

from app import errors
from app.actions.access import Caller
from app.actions.scoring_tasks.scoring_request import gold_reference, send_scoring_request
from app.actions.submissions.admission import (
    Sender,
    SubmissionMetadata,
    load_admission_facts,
    only_open_phase,
    require_admission_early,
    require_quota_early,
    require_visible_phase,
)
from app.actions.submissions.read_submissions import SubmissionView, read_finished, read_submission_status
from app.actions.submissions.submit_prediction import dry_run, max_prediction_bytes, submit_prediction
from app.api.dependencies import AppState, SenderDep, app_state, caller_key, parse_prefer_wait
from app.api.field_types import Moment, Shape, SingleLineText, TeamName, reply_example
from app.api.http.form_file import is_form
from app.api.http.json_body import api_router
from app.api.http.problem_documents import error_responses, json_examples
from app.api.http.uploads import (
    Filename,
    Layout,
    delete_unreferenced,
    file_request_body,
    receive_upload,
    request_file_kind,
)
from app.api.limits.reader_queue import TooManyWaiting
from app.api.notifier import Waiter
from app.api.openapi import examples, quota_examples
from app.api.submissions import (
    FINAL_STATUSES,
    MEMBER_ERRORS,
    TOTAL_AT_LEAST_DESCRIPTION,
    SubmissionShape,
    submission_shape,
)
from app.files import StoredFile
from app.formats import FileKind, Limits
from app.pipeline import SourceFile
from app.scoring_processes.messages import FileResult
from app.text.given_times import in_zone

router = api_router("submissions")
log = structlog.get_logger()


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


class DryRun(Shape):
    """The result of checking a file without storing it."""

    model_config = reply_example(examples.DRY_RUN)

    valid: bool
    total: dict[str, int]
    total_at_least: bool = Field(False, description=TOTAL_AT_LEAST_DESCRIPTION)
    problems: list[dict[str, Any]]
    notes: list[str] = Field(default_factory=list)


@dataclass(frozen=True, slots=True)
class SubmissionRequest:
    """The query and headers of a request to submit."""

    request: Request
    state: AppState
    sender: Sender
    entry: SubmissionMetadata
    filename: str | None
    layout: str | None
    wait_seconds: int
    idempotency_key: str | None
    dry_run: bool

    @property
    def caller(self) -> Caller:
        """The sender's account."""
        return self.sender.caller

    @property
    def stored_key(self) -> str | None:
        """The idempotency key; None for a dry run, which stores none."""
        return None if self.dry_run else self.idempotency_key

    async def file_kind(self) -> FileKind:
        """How to read the file; of a form, its beginning is read first. Raises UnsupportedMedia, BadRequest, TooSlow."""
        return await request_file_kind(self.request, self.filename, self.layout)


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
        Query(max_length=2000, pattern=r"^https?://\S+$", description="An http or https URL with more information."),
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
    organizer = await _refuse_early(upload, slug, phase)
    kind = await upload.file_kind()
    if upload.dry_run:
        return await _dry_run(upload, slug, phase, kind, organizer=organizer)
    with upload.state.notifier.listen() as waiter:
        with upload.state.hold_idempotency_key(upload.caller.user_id or "", upload.idempotency_key):
            view, new = await _submit(upload, slug, phase, kind, waiter)
        if new and waiter.submission_id is not None:
            with contextlib.suppress(errors.AssayError):  # The submission is stored; the reply must say so in any case.
                view = await _wait_for_scores(upload, view, waiter)
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


async def _refuse_early(upload: SubmissionRequest, slug: str, phase: str) -> bool:
    """Raise the errors that are known before the body is read; returns whether the caller organizes the challenge."""

    def read_phase() -> None:
        with upload.state.db.read() as session:
            require_visible_phase(session, upload.caller, slug, phase, upload.sender.facts)

    if upload.sender.facts.context is None:
        await run_in_threadpool(read_phase)  # raises the error, which may name the phases that there are
    return require_admission_early(upload.caller, upload.sender.facts, upload.entry, retries=not upload.dry_run)


def _max_useful_bytes(upload: SubmissionRequest, *, pairs: bool) -> int | None:
    """The size above which predictions for the phase of the request are useless, None if unknown; raises QuotaExceeded."""
    settings = upload.state.settings
    limits = Limits(expanded_bytes=settings.max_expanded, text_length=settings.max_text_length)
    context, now = upload.sender.facts.context, upload.sender.facts.read_at.now
    assert context is not None, "it was required before"
    with upload.state.db.read() as session:
        # With a key the request may be a repetition, which is answered even if the quota is used up.
        if not upload.dry_run and upload.idempotency_key is None:
            require_quota_early(session, upload.caller, context, upload.entry, now)
        return max_prediction_bytes(session, context.gold_id, limits, pairs=pairs)


async def _dry_run(upload: SubmissionRequest, slug: str, phase: str, kind: FileKind, *, organizer: bool) -> Response:
    def check(stored: StoredFile) -> dict[str, Any]:
        state = upload.state
        try:
            with state.db.read() as session:
                context = dry_run(session, upload.caller, slug, phase, upload.entry)
                gold = gold_reference(context.gold)
            with state.files.local_path(stored.key) as path:
                request = context.request(gold.source, SourceFile(path, kind))
                reply = send_scoring_request(state.db, state.files, state.readers.processes, gold, request)
                assert isinstance(reply, FileResult)
                return reply.to_dict()
        finally:
            delete_unreferenced(state.files, stored.key)

    with upload.state.readers.queue.enter(caller_key(upload.request, upload.caller), organizer=organizer) as position:
        max_bytes = partial(_max_useful_bytes, upload, pairs=kind.layout == "long")
        answer = await receive_upload(upload.request, upload.state, check, max_bytes, position.wait_for_turn)
    return JSONResponse(DryRun.model_validate(answer).model_dump(mode="json", exclude_unset=True))


async def _submit(
    upload: SubmissionRequest, slug: str, phase: str, kind: FileKind, waiter: Waiter
) -> tuple[SubmissionView, bool]:
    """Store the submission; returns it and whether it is new. The waiter is subscribed if the request wants to wait."""

    def subscribe(submission_id: str) -> bool:
        return upload.state.notifier.subscribe(waiter, submission_id, upload.state.settings.max_waiters)

    def store(stored: StoredFile) -> tuple[SubmissionView, bool]:
        with upload.state.db.write() as session:
            view, new = submit_prediction(
                session,
                upload.state.queue,
                upload.caller,
                slug,
                phase,
                entry=upload.entry,
                stored=stored,
                kind=kind,
                key=upload.idempotency_key,
                will_wait=subscribe if upload.wait_seconds else None,
            )
        if not new:
            delete_unreferenced(upload.state.files, stored.key)
        return view, new

    large = upload.state.large_uploads.admit(caller_key(upload.request, upload.caller))
    max_bytes = partial(_max_useful_bytes, upload, pairs=kind.layout == "long")
    view, new = await receive_upload(upload.request, upload.state, store, max_bytes, large=large)
    structlog.contextvars.bind_contextvars(submission=view.submission.id)
    if new:
        log.info("submission_stored")
    return view, new


async def _wait_for_scores(upload: SubmissionRequest, view: SubmissionView, waiter: Waiter) -> SubmissionView:
    """Wait for the final status without holding a thread or a database session."""

    def read() -> SubmissionView:
        with upload.state.db.read_one() as session:
            finished = read_finished(session, upload.caller, view.submission.id)
        if finished is not None:
            return finished
        with upload.state.db.read() as session:
            return read_submission_status(session, upload.caller, view.submission.id, balance=True)

    deadline = asyncio.get_running_loop().time() + upload.wait_seconds
    while True:
        left = deadline - asyncio.get_running_loop().time()
        if left > 0 and not upload.state.notifier.is_closed:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(waiter.wait(), left)
        waiter.clear()
        current = await run_in_threadpool(read)
        if current.submission.status in FINAL_STATUSES or left <= 0 or upload.state.notifier.is_closed:
            return current
