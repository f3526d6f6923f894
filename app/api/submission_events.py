"""Events of a submission: its status and its place in the queue, sent as they change (server-sent events)."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Annotated

from fastapi import Header, Request, Response
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool
from starlette.responses import ContentStream, StreamingResponse
from starlette.types import Receive, Scope, Send

from app import errors
from app.actions.submissions.read_submissions import read_submission
from app.api.dependencies import AccountDep, AppStateDep, CredentialsDep, authenticate_again, caller_key
from app.api.field_types import Moment
from app.api.http.json_body import api_router
from app.api.http.problem_documents import error_responses, success_response
from app.api.http.streamed_reply import HEAD_KEY
from app.api.limits.event_streams import EventStream, EventStreams, TooManyStreams
from app.api.openapi.examples import QUEUED, SUBMISSION, named_examples
from app.api.submissions import FINAL_STATUSES, SubmissionShape, round_up_eta, submission_shape

router = api_router("submissions")

READ_SECONDS = 15.0  # after which a stream reads its submission again and sends something, whatever has happened
KEEP_ALIVE = b": keep-alive\n\n"


class QueuePlaceEvent(BaseModel):
    """Where a queued submission stands now."""

    queue_position: int | None
    eta: Moment | None


class EventReply(Response):
    """A reply that sends events while its submission changes, and ends with the final status.

    `read` gives the submission as its reader may see it now, or raises.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        streams: EventStreams,
        caller: str,
        read: Callable[[], SubmissionShape],
        *,
        first: SubmissionShape,
        last_event_id: str | None,
    ) -> None:
        super().__init__()
        self._streams, self._caller, self._read = streams, caller, read
        self._first, self._last_event_id = first, last_event_id

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events; to HEAD only the headers. Raises TooManyStreams, Unavailable before it begins."""
        with self._streams.open(self._caller, self._first.id) as stream:
            events: ContentStream = () if scope.get(HEAD_KEY) else self._events(stream)
            headers = {"X-Accel-Buffering": "no"}  # or a proxy of nginx would keep events back
            await StreamingResponse(events, headers=headers, media_type=self.media_type)(scope, receive, send)

    async def _events(self, stream: EventStream) -> AsyncIterator[bytes]:
        shown, sent_id = self._first, self._last_event_id
        read_at = asyncio.get_running_loop().time()
        while True:
            event_id = _event_id(shown.status, shown.attempt)
            yield KEEP_ALIVE if event_id == sent_id else _encode("status", shown, event_id)
            sent_id = event_id
            if shown.status in FINAL_STATUSES or self._streams.is_closing:
                return
            left = read_at + READ_SECONDS - asyncio.get_running_loop().time()
            seen = await stream.wait(max(0.0, left))
            if seen is not None and _event_id(seen.status, seen.attempt) == sent_id and left > 0:
                place = QueuePlaceEvent(queue_position=seen.queue_position, eta=round_up_eta(seen.eta))
                yield _encode("queue", place)
                continue
            try:
                shown = await run_in_threadpool(self._read)
            except errors.AssayError:
                return  # whoever connects again gets the reason as a reply
            read_at = asyncio.get_running_loop().time()


def _event_id(status: str, attempt: int) -> str:
    return f"{status}-{attempt}"


def _encode(name: str, data: BaseModel, event_id: str | None = None) -> bytes:
    """One event; its JSON has no line breaks."""
    head = f"event: {name}\n" + ("" if event_id is None else f"id: {event_id}\n")
    return f"{head}data: {data.model_dump_json()}\n\n".encode()


EXAMPLE_EVENTS = b"".join(
    (
        _encode("status", SubmissionShape(**QUEUED), "queued-0"),
        _encode("queue", QueuePlaceEvent(queue_position=1, eta=QUEUED["eta"])),
        _encode("status", SubmissionShape(**SUBMISSION), "finished-1"),
    )
).decode()


@router.get(
    "/submissions/{submission_id}/events",
    summary="Follow a submission",
    response_class=Response,
    responses=success_response(
        "The events, until the final status.", {"text/event-stream": named_examples(events=EXAMPLE_EVENTS)}
    )
    | {204: {"description": "The client has the final status, by its `Last-Event-ID`: nothing more will happen."}}
    | error_responses(errors.NotFound, TooManyStreams),
)
async def get_submission_events(
    submission_id: str,
    request: Request,
    caller: AccountDep,
    credentials: CredentialsDep,
    state: AppStateDep,
    last_event_id: Annotated[
        str | None,
        Header(alias="Last-Event-ID", max_length=100, description="The id of the last event that the client has."),
    ] = None,
) -> Response:
    """Sends server-sent events while a submission waits and is scored, and ends after its final status.

    An event `status` has the submission as `GET /submissions/{submission_id}` gives it, at first and whenever the
    status changes; its id names status and attempt. An event `queue` has the `queue_position` and `eta` of a
    submission that waits, whenever the position changes. A comment is sent at least every 15 s, so that no proxy takes
    the stream for dead. A client that connects again names the id of its last event in `Last-Event-ID`: what it has is
    not repeated, and after the final status the reply is 204. Ten streams of a caller may be open at a time.
    """

    def read() -> SubmissionShape:
        """By the token and the rights that there are now, which may have been taken away since the stream began."""
        reader = authenticate_again(state, credentials)
        with state.db.read() as session:
            return submission_shape(read_submission(session, reader, submission_id))

    first = await run_in_threadpool(read)
    if first.status in FINAL_STATUSES and last_event_id == _event_id(first.status, first.attempt):
        return Response(status_code=204)
    streams, key = state.event_streams, caller_key(request, caller)
    return EventReply(streams, key, read, first=first, last_event_id=last_event_id)
