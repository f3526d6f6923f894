"""Receive the file of a submission: the one path of the API and the pages, from the early refusal to the scores."""

import asyncio
import contextlib
from dataclasses import dataclass
from functools import partial
from typing import Any

import structlog
from fastapi import Request
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from app import errors
from app.actions.access import Caller
from app.actions.scoring_tasks.scoring_request import gold_reference, send_scoring_request
from app.actions.submissions.admission import (
    Sender,
    SubmissionMetadata,
    require_admission_early,
    require_quota_early,
    require_visible_phase,
)
from app.actions.submissions.read_problems import ask_excerpts
from app.actions.submissions.read_submissions import SubmissionView, read_finished, read_submission_status
from app.actions.submissions.submit_prediction import dry_run, max_prediction_bytes, submit_prediction
from app.api.dependencies import AppState, caller_key
from app.api.field_types import Shape, reply_example
from app.api.http.uploads import delete_unreferenced, receive_upload, request_file_kind
from app.api.notifier import Waiter
from app.api.openapi import examples
from app.api.submissions import FINAL_STATUSES, TOTAL_AT_LEAST_DESCRIPTION
from app.files import StoredFile
from app.formats import FileKind, Limits
from app.pipeline import SourceFile
from app.scoring_processes.messages import FileResult

log = structlog.get_logger()


class DryRun(Shape):
    """The result of checking a file without storing it."""

    model_config = reply_example(examples.DRY_RUN)

    valid: bool
    total: dict[str, int]
    total_at_least: bool = Field(False, description=TOTAL_AT_LEAST_DESCRIPTION)
    problems: list[dict[str, Any]]
    notes: list[str] = Field(default_factory=list)


class DryRunWithExcerpts(DryRun):
    """The same for a page, where each problem also has what stands at its place."""

    left_out: str | None = None
    """Why excerpts are missing, as in ProblemsShape."""


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


async def refuse_early(upload: SubmissionRequest, slug: str, phase: str) -> bool:
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


async def check_predictions(
    upload: SubmissionRequest, slug: str, phase: str, *, organizer: bool, has_excerpts: bool = False
) -> DryRunWithExcerpts:
    """Check the file of a request that was not refused early, and store nothing. Pages and the API share this path.

    With `has_excerpts`, each problem also has what stands at its place, which a page shows.
    """
    kind = await upload.file_kind()

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
                answer = reply.to_dict()
                if has_excerpts and reply.problems:
                    found = ask_excerpts(state.readers.processes, SourceFile(path, kind), reply.problems)
                    pairs = zip(reply.problems, found.texts, strict=True)
                    answer["problems"] = [problem | {"excerpt": text} for problem, text in pairs]
                    answer["left_out"] = found.left_out
                return answer
        finally:
            delete_unreferenced(state.files, stored.key)

    with upload.state.readers.queue.enter(caller_key(upload.request, upload.caller), organizer=organizer) as position:
        max_bytes = partial(_max_useful_bytes, upload, pairs=kind.layout == "long")
        answer = await receive_upload(upload.request, upload.state, check, max_bytes, position.wait_for_turn)
    return DryRunWithExcerpts.model_validate(answer)


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


async def store_submission(upload: SubmissionRequest, slug: str, phase: str) -> tuple[SubmissionView, bool]:
    """Receive and store the file of a request that was not refused early, and wait for its scores if it asks for that.

    Returns the submission and whether it is new. Pages and the API share this path.
    """
    kind = await upload.file_kind()
    with upload.state.notifier.listen() as waiter:
        with upload.state.hold_idempotency_key(upload.caller.user_id or "", upload.idempotency_key):
            view, new = await _submit(upload, slug, phase, kind, waiter)
        if new and waiter.submission_id is not None:
            with contextlib.suppress(errors.AssayError):  # The submission is stored; the reply must say so in any case.
                view = await _wait_for_scores(upload, view, waiter)
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
