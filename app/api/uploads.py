"""Streams an upload from the request to the file store: hashed and counted on the way, never held whole or parsed."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from pathlib import Path
from typing import Annotated, Any, TypeVar

from fastapi import Query
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response
from starlette.types import Receive, Scope, Send

from app.actions.challenges.upload_gold import stored_file_kind
from app.api.dependencies import AppState
from app.api.limits.client_addresses import client_address_block
from app.api.openapi.examples import JSON
from app.errors import BadRequest, CommitUncertain, TooLarge, TooSlow, Unavailable
from app.files import FileStore, StoredFile, Upload
from app.formats import FORMATS, FileKind, detect_file_kind
from app.formats.size_limits import BASE_FILE_BYTES
from app.store.tables import GoldVersion, Submission

Filename = Annotated[str | None, Query(description="Tells the format where the media type does not.")]
Layout = Annotated[
    str | None, Query(description="'long' where a table has one row per pair of instance and label (multi-label).")
]

Result = TypeVar("Result")

BUFFER_BYTES = 1 << 20  # bytes gathered before a write to disk


def request_file_kind(request: Request, filename: str | None, layout: str | None) -> FileKind:
    """Format, compression and layout of the body; raises UnsupportedMedia, BadRequest."""
    encodings = ", ".join(request.headers.getlist("content-encoding"))
    return detect_file_kind(filename, request.headers.get("content-type"), encodings, layout)


async def receive_upload(
    request: Request,
    parts: AppState,
    then: Callable[[StoredFile], Result],
    room: Callable[[], int | None] | None = None,
    turn: Callable[[], Awaitable[None]] | None = None,
    large: AbstractContextManager[object] | None = None,
) -> Result:
    """What `then` gives for the body as a stored file; it is called in a thread, and the file goes where it raises.

    `room` tells how many bytes can be of any use, if that is known; it is asked in a thread, about large bodies alone.

    A body below BUFFER bytes waits in memory, where there is room, until it is whole, so that all of it costs one visit to a thread; `large` is
    entered while a larger one is kept. With `turn` the whole body waits on disk until that returns. Raises TooLarge, StorageShort, BadRequest when the client
    breaks off, and whatever `then` raises.
    """
    with ExitStack() as held:
        body = UploadBody(parts.files)
        try:
            rest = await _write_body(request, parts, body, room, lambda: large and held.enter_context(large))
            if turn is not None:
                await run_in_threadpool(body.write, rest)
                rest = []
                await _wait_for_turn(request, turn)
        except ClientDisconnect as gone:
            await run_in_threadpool(body.abort)
            raise BadRequest("The upload broke off before its end.") from gone
        except BaseException:
            await run_in_threadpool(body.abort)
            raise
        return await run_in_threadpool(body.finish_and_use, rest, then)


async def _wait_for_turn(request: Request, turn: Callable[[], Awaitable[None]]) -> None:
    """Wait for its turn; raises ClientDisconnect for a request that nobody waits for any more."""
    await turn()
    if await request.is_disconnected():
        raise ClientDisconnect


class UploadBody:
    """A body on its way to the store; its file is begun with the first bytes that are written."""

    def __init__(self, files: FileStore) -> None:
        self._files = files
        self._upload: Upload | None = None

    def write(self, chunks: Sequence[bytes]) -> None:
        """Append bytes; raises StorageShort."""
        if self._upload is None:
            self._upload = self._files.begin()
        for chunk in chunks:
            self._upload.write(chunk)

    def abort(self) -> None:
        """Forget it."""
        if self._upload is not None:
            self._upload.abort()

    def finish_and_use(self, rest: Sequence[bytes], then: Callable[[StoredFile], Result]) -> Result:
        """Make the file durable with its last bytes, and go on with it; what refuses it takes it away again."""
        stored = self._finish(rest)
        try:
            return then(stored)
        except CommitUncertain:
            raise  # a row may point to the file, so it has to stay
        except Exception:
            delete_unreferenced(self._files, stored)
            raise

    def _finish(self, rest: Sequence[bytes]) -> StoredFile:
        try:
            self.write(rest)
            assert self._upload is not None
            return self._upload.finish()
        except BaseException:
            self.abort()
            raise


def delete_unreferenced(files: FileStore, stored: StoredFile) -> None:
    """Remove a file that no row will point to; where that cannot be done now the sweeper will find it."""
    with suppress(Unavailable):
        files.delete(stored.key)


class _UploadSizeLimit:
    """Refuses a body that is larger than any upload may be, or than can be of use where it is sent."""

    def __init__(self, most: int, room: Callable[[], int | None] | None) -> None:
        self._limit, self._reason = most, "An upload has"
        self._max_useful_bytes = room

    async def check(self, size: int) -> None:
        """Raise TooLarge for so many bytes."""
        if size > self._limit:
            raise _too_large_error(self._limit, self._reason)
        if self._max_useful_bytes is None or size <= BASE_FILE_BYTES:
            return
        room, self._max_useful_bytes = await run_in_threadpool(self._max_useful_bytes), None
        if room is not None and room < self._limit:
            self._limit, self._reason = room, "Predictions for this phase have"
            await self.check(size)


async def _write_body(
    request: Request,
    parts: AppState,
    body: UploadBody,
    room: Callable[[], int | None] | None,
    large: Callable[[], object],
) -> list[bytes]:
    """Write the body but for its last bytes, which are given: while some are written, the next may come.

    `large` is called before the first are written.
    """
    fit = _UploadSizeLimit(parts.settings.max_upload, room)
    declared = request.headers.get("content-length", "")
    await fit.check(int(declared) if declared.isdigit() else 0)
    waiting: list[bytes] = []
    held = size = 0
    writing: asyncio.Future[None] | None = None
    try:
        with parts.upload_memory.admit_body(client_address_block(request)) as holds:
            async for chunk in stream_with_timeout(request, parts.settings.upload_idle, parts.settings.upload_rate):
                waiting.append(chunk)
                held, size = held + len(chunk), size + len(chunk)
                await fit.check(size)
                has_room = holds(held)
                if held >= BUFFER_BYTES or not has_room:
                    if writing is None:
                        large()
                    else:
                        await writing
                    writing = asyncio.ensure_future(run_in_threadpool(body.write, waiting))
                    waiting, held = [], 0
                    holds(0)
        if writing is not None:
            await writing
    finally:
        if writing is not None:
            await asyncio.wait([writing])  # whatever becomes of the body, nobody writes to it any more
    return waiting


async def stream_with_timeout(request: Request, idle: float, rate: int = 0) -> AsyncIterator[bytes]:
    """The chunks of a body; raises TooSlow when none comes for `idle` seconds.

    With `rate`, also when in any `idle` seconds fewer bytes a second than that have come: what came before does not pay
    for a body that has all but ceased to come.
    """
    chunks = aiter(request.stream())
    clock = asyncio.get_running_loop().time
    began, received = clock(), 0
    while True:
        try:
            async with asyncio.timeout(idle):  # wait_for() would make a task of each chunk
                chunk = await anext(chunks)
        except StopAsyncIteration:
            return
        except TimeoutError as stalled:
            raise TooSlow(f"Nothing came for {idle:g} s.") from stalled
        received += len(chunk)
        passed = clock() - began
        if passed > idle:
            if received < rate * passed:
                raise TooSlow(f"Only {received} bytes came in {passed:.0f} s; at least {rate} a second are expected.")
            began, received = clock(), 0
        yield chunk


def _too_large_error(most: int, why: str) -> TooLarge:
    return TooLarge(f"{why} at most {most} bytes.", headers={"Connection": "close"}, limit=most)


class WholeFileResponse(FileResponse):
    """A file as it is: a Range header is ignored, as RFC 9110 (section 14.2) allows, so every error is a problem document."""

    def __init__(
        self,
        path: Path,
        *,
        media_type: str,
        filename: str,
        tag: str,
        sending: AbstractContextManager[object] | None = None,
    ) -> None:
        """`sending` is entered while it is sent."""
        super().__init__(path, media_type=media_type, filename=filename, headers={"ETag": f'"{tag}"'})
        del self.headers["accept-ranges"]
        self._sending = sending or nullcontext()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        headers = [(name, value) for name, value in scope["headers"] if name != b"range"]
        with self._sending:
            await super().__call__({**scope, "headers": headers}, receive, send)


def stored_file_response(parts: AppState, row: GoldVersion | Submission, name: str) -> Response:
    """The file of a row as it was uploaded, named by its format; held until it is sent."""
    held = ExitStack()
    path = held.enter_context(parts.files.local_path(row.file_key))
    return WholeFileResponse(
        path,
        media_type="application/octet-stream",
        filename=name + stored_file_kind(row).ending,
        tag=row.sha256,
        sending=held,
    )


def file_request_body(description: str, examples: Mapping[str, JSON]) -> dict[str, Any]:
    """The OpenAPI request body of a route that takes a file in any of our formats, with examples of each media type."""
    content: dict[str, Any] = {}
    for known in FORMATS.values():
        schema = {"type": "string", "format": "binary"}
        if known.is_binary:
            schema["description"] = f"{known.name}, as Python writes it: {known.shapes[0].example}"
        for media in known.media_types:
            content[media] = {"schema": schema, **({} if known.is_binary else {"examples": examples[media]})}
    content["application/json"]["schema"] = {}
    return {"requestBody": {"required": True, "description": description, "content": content}}
