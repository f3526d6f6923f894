"""Streams uploads from the request to the file store, which hashes them; they are never parsed or held whole."""

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

from fastapi import Query
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response
from starlette.types import Receive, Scope, Send

from app.actions.challenges.upload_gold import stored_file_kind
from app.api.dependencies import AppState, app_state
from app.api.http.form_file import FORM_MEDIA_TYPE, MAX_FRAME_BYTES, FormFile, is_form
from app.api.http.negotiation import matches_etag
from app.api.http.streamed_reply import HEAD_KEY
from app.api.limits.client_addresses import client_address_block
from app.api.openapi.examples import JSON
from app.errors import BadRequest, CommitUncertain, TooLarge, TooSlow, Unavailable
from app.files import FileStore, StoredFile, Upload
from app.formats import FORMATS, FileKind, detect_file_kind, media_type_in_form
from app.formats.phase_size_limits import BASE_FILE_BYTES
from app.store.tables import ChallengeFile, GoldVersion, Submission

Filename = Annotated[str | None, Query(description="The file name, which gives the format if the media type does not.")]
Layout = Annotated[str | None, Query(description="`long` for a multilabel table with one row per instance and label.")]

Result = TypeVar("Result")

BUFFER_BYTES = 1 << 20  # collected before the first write to disk
NEXT_BUFFER_BYTES = 1 << 19  # before each further one: few, so that the allocator keeps their memory for the next ones


async def request_file_kind(request: Request, filename: str | None, layout: str | None) -> FileKind:
    """Format, compression and layout of the file that is sent; raises UnsupportedMedia, BadRequest.

    Of a form, the body is read up to the headers of the file, which say what those of the request say otherwise.
    """
    form = await open_form_file(request)
    if form is not None:
        name = filename or form.filename
        return detect_file_kind(name, media_type_in_form(name, form.media_type), form.encoding, layout)
    return detect_file_kind(filename, request.headers.get("content-type"), _content_encoding(request), layout)


def _content_encoding(request: Request) -> str:
    return ", ".join(request.headers.getlist("content-encoding"))


async def open_form_file(request: Request, leading_fields: Collection[str] = ()) -> FormFile | None:
    """The file of the form that a request sends, open; None for any other body. Raises what FormFile raises, TooSlow.

    The first call for a request may name text fields that stand before the file, which no route of the API takes.
    """
    if not hasattr(request.state, "form_file"):
        if not is_form(request.headers.get("content-type")):
            return None
        settings = app_state(request).settings
        body = stream_with_timeout(request, settings.upload_idle, settings.upload_rate)
        form = FormFile(request.headers["content-type"], _content_encoding(request), body, leading_fields)
        try:
            await form.open()
        except ClientDisconnect as error:
            raise _interrupted() from error
        request.state.form_file = form
    form_file: FormFile = request.state.form_file
    return form_file


def file_chunks(request: Request, form: FormFile | None) -> AsyncIterator[bytes]:
    """The bytes of the file that a request sends, as a form or as its body."""
    settings = app_state(request).settings
    return stream_with_timeout(request, settings.upload_idle, settings.upload_rate) if form is None else form.content()


def _interrupted() -> BadRequest:
    return BadRequest("The upload was interrupted before its end.")


async def receive_upload(
    request: Request,
    state: AppState,
    use_file: Callable[[StoredFile], Result],
    max_useful_bytes: Callable[[], int | None] | None = None,
    turn: Callable[[], Awaitable[None]] | None = None,
    large: AbstractContextManager[object] | None = None,
    max_bytes: int | None = None,
    limit_setting: str = "ASSAY_MAX_CHALLENGE_FILE",
) -> Result:
    """Store the body, or the file of a form, and return the result of `use_file`. If that raises, the file is deleted.

    `max_useful_bytes` returns the size above which a body is certainly useless, if that is known; it is called for
    large bodies only. Both functions are called in a thread.

    A body below BUFFER_BYTES stays in memory, if there is any, until it is complete, so that it needs a thread only
    once; the context `large` is entered for a larger one. With `turn`, the complete body waits on disk until that
    returns. `max_bytes` is the limit of another file, in place of that of predictions and gold, by `limit_setting`.

    Raises TooLarge, StorageAlmostFull, BadRequest if the client disconnects, and whatever `use_file` raises.
    """
    with ExitStack() as stack:
        body = UploadBody(state.files)
        try:
            enter_large = partial(stack.enter_context, large or nullcontext())
            size_limit = _UploadSizeLimit(max_bytes or state.settings.max_upload, max_useful_bytes)
            if max_bytes is not None:
                size_limit.remedy = f"Ask the administrator to raise {limit_setting}."
            rest = await _write_body(request, state, body, size_limit, enter_large)
            if turn is not None:
                await run_in_threadpool(body.write, rest)
                rest = []
                await _wait_for_turn(request, turn)
        except ClientDisconnect as error:
            await run_in_threadpool(body.abort)
            raise _interrupted() from error
        except BaseException:
            await run_in_threadpool(body.abort)
            raise
        return await run_in_threadpool(body.finish_and_use, rest, use_file)


async def _wait_for_turn(request: Request, turn: Callable[[], Awaitable[None]]) -> None:
    """Wait for the turn of a request; raises ClientDisconnect if its client has gone meanwhile."""
    await turn()
    if await request.is_disconnected():
        raise ClientDisconnect


class UploadBody:
    """A body on its way to the file store; the file is created with the first write."""

    def __init__(self, files: FileStore) -> None:
        self._files = files
        self._upload: Upload | None = None

    def write(self, chunks: Sequence[bytes]) -> None:
        """Append bytes; raises StorageAlmostFull."""
        if self._upload is None:
            self._upload = self._files.begin()
        self._upload.write(b"".join(chunks))  # one piece: each write and each hash waits for the interpreter lock

    def abort(self) -> None:
        """Delete what was written."""
        if self._upload is not None:
            self._upload.abort()

    def finish_and_use(self, rest: Sequence[bytes], use_file: Callable[[StoredFile], Result]) -> Result:
        """Write the last bytes, make the file durable and call `use_file`; an error of `use_file` deletes the file."""
        stored = self._finish(rest)
        try:
            return use_file(stored)
        except CommitUncertain:
            raise  # A row may refer to the file, so it has to stay.
        except Exception:
            delete_unreferenced(self._files, stored.key)
            raise

    def _finish(self, rest: Sequence[bytes]) -> StoredFile:
        try:
            self.write(rest)
            assert self._upload is not None
            return self._upload.finish()
        except BaseException:
            self.abort()
            raise


def delete_unreferenced(files: FileStore, *keys: str) -> None:
    """Delete files that no row refers to any more. If the store is unavailable, the sweep deletes them later."""
    for key in keys:
        with suppress(Unavailable):
            files.delete(key)


PHASE_SIZE_REMEDY = "Remove everything that is not scored, or compress the file (gzip); no setting raises this limit."


class _UploadSizeLimit:
    """Refuses a body that exceeds the limit of all uploads, or the size that can be useful where it is sent."""

    def __init__(self, limit: int, max_useful_bytes: Callable[[], int | None] | None) -> None:
        self._limit, self._reason, self.remedy = limit, "An upload has", TooLarge.remedy
        self._max_useful_bytes = max_useful_bytes

    async def check(self, size: int) -> None:
        """Raise TooLarge if a body of this size exceeds a limit."""
        if size > self._limit:
            detail = f"{self._reason} at most {self._limit} bytes."
            raise TooLarge(detail, remedy=self.remedy, headers={"Connection": "close"}, limit=self._limit)
        if self._max_useful_bytes is None or size <= BASE_FILE_BYTES:
            return
        useful, self._max_useful_bytes = await run_in_threadpool(self._max_useful_bytes), None
        if useful is not None and useful < self._limit:
            self._limit, self._reason, self.remedy = useful, "Predictions for this phase have", PHASE_SIZE_REMEDY
            await self.check(size)


async def _write_body(
    request: Request,
    state: AppState,
    body: UploadBody,
    size_limit: _UploadSizeLimit,
    before_first_write: Callable[[], object],
) -> list[bytes]:
    """Write the body except for its last bytes, which are returned. Each write runs while the next bytes arrive."""
    form = await open_form_file(request)
    declared = request.headers.get("content-length", "")
    frame = 0 if form is None else MAX_FRAME_BYTES
    await size_limit.check(int(declared) - frame if declared.isdigit() else 0)
    waiting: list[bytes] = []
    buffered = size = 0
    writing: asyncio.Future[None] | None = None
    try:
        with state.upload_memory.admit_body(client_address_block(request)) as resize:
            async for chunk in file_chunks(request, form):
                waiting.append(chunk)
                buffered, size = buffered + len(chunk), size + len(chunk)
                await size_limit.check(size)
                has_memory = resize(buffered)
                if buffered >= (BUFFER_BYTES if writing is None else NEXT_BUFFER_BYTES) or not has_memory:
                    if writing is None:
                        before_first_write()
                    else:
                        await writing
                    writing = asyncio.ensure_future(run_in_threadpool(body.write, waiting))
                    waiting, buffered = [], 0
                    resize(0)
        if writing is not None:
            await writing
    finally:
        if writing is not None:
            await asyncio.wait([writing])  # After this function no thread writes to the body, even if it was cancelled.
    return waiting


async def stream_with_timeout(request: Request, idle: float, rate: int = 0) -> AsyncIterator[bytes]:
    """The chunks of a body; raises TooSlow if none arrives for `idle` seconds.

    With `rate`, it also raises TooSlow if fewer bytes per second than that arrive in any period of `idle` seconds. Each
    period counts alone, so a fast start does not make up for a body that has almost stopped.
    """
    chunks = aiter(request.stream())
    clock = asyncio.get_running_loop().time
    began, received = clock(), 0
    while True:
        try:
            async with asyncio.timeout(idle):  # wait_for() would create a task for each chunk
                chunk = await anext(chunks)
        except StopAsyncIteration:
            return
        except TimeoutError as error:
            raise TooSlow(f"No data arrived for {idle:g} s.") from error
        received += len(chunk)
        elapsed = clock() - began
        if elapsed > idle:
            if received < rate * elapsed:
                raise TooSlow(f"Only {received} bytes arrived in {elapsed:.0f} s; {rate} per second are required.")
            began, received = clock(), 0
        yield chunk


# Whoever uploaded a file must not gain the rights of a page: should a browser show it after all, it may do nothing.
_DOWNLOAD_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class DownloadResponse(FileResponse):
    """A stored file to be saved, never shown by a browser.

    Its tag depends on its bytes alone; there is no Last-Modified, which would differ between replicas. With `ranges`, a
    request for one range of bytes that the file has gets it, so that a download can go on where it ended. Other Range
    headers are ignored, as RFC 9110 (section 14.2) allows, so every error is a problem document.
    """

    def __init__(
        self,
        path: Path,
        *,
        media_type: str,
        filename: str,
        tag: str,
        ranges: bool = False,
        sending: AbstractContextManager[object] | None = None,
    ) -> None:
        """The context `sending` is entered while the file is being sent."""
        headers = {"ETag": f'"{tag}"'} | _DOWNLOAD_HEADERS
        super().__init__(path, media_type=media_type, filename=filename, headers=headers)
        self._ranges = ranges
        if not ranges:
            del self.headers["accept-ranges"]
        self._sending = sending or nullcontext()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the file."""
        with self._sending:
            asked = Headers(scope=scope)
            # The body of an answer to HEAD, or to somebody who has this version, is not sent: do not read it.
            tags = asked.getlist("if-none-match")
            bodiless = bool(scope.get(HEAD_KEY)) or (bool(tags) and matches_etag(",".join(tags), self.headers["etag"]))
            ignored = {b"if-range"} if not bodiless and self._has_range(asked) else {b"if-range", b"range"}
            headers = [pair for pair in scope["headers"] if pair[0] not in ignored]
            method = {"method": "HEAD"} if bodiless else {}
            await super().__call__({**scope, "headers": headers, **method}, receive, send)

    def set_stat_headers(self, stat_result: os.stat_result) -> None:
        """Say how long the file is, and not when it was written."""
        self.headers.setdefault("content-length", str(stat_result.st_size))

    def _has_range(self, headers: Headers) -> bool:
        """Whether these ask for one range of bytes that this version of the file has, and may be answered."""
        asked = re.fullmatch(
            r"bytes=(?:([0-9]{1,18})-([0-9]{0,18})|-([0-9]{1,18}))", ",".join(headers.getlist("range"))
        )
        if asked is None or not self._ranges or headers.get("if-range", self.headers["etag"]) != self.headers["etag"]:
            return False
        size, (first, last, suffix) = Path(self.path).stat().st_size, asked.groups()
        if suffix is not None:
            return 0 < int(suffix) <= size
        return int(first) < size and (not last or int(last) >= int(first))


def stored_file_response(state: AppState, row: GoldVersion | Submission, name: str) -> Response:
    """The uploaded file of a row, with the extension of its format. The local copy is held until it is sent."""
    sending = ExitStack()
    path = sending.enter_context(state.files.local_path(row.file_key))
    return DownloadResponse(
        path,
        media_type="application/octet-stream",
        filename=name + stored_file_kind(row).ending,
        tag=row.sha256,
        sending=sending,
    )


_ACTIVE_TYPE = re.compile(r"script|css|html|xml|svg|wasm")
"""Part of every media type that a browser runs, takes for a style sheet or shows as a document with scripts."""


def offered_file_response(state: AppState, row: ChallengeFile) -> Response:
    """A file of a challenge. The local copy is held until it is sent.

    A script or a style sheet comes without its media type: pages take scripts and styles from this service, and browsers
    refuse those of another type.
    """
    sending = ExitStack()
    path = sending.enter_context(state.files.local_path(row.file_key))
    kind = "application/octet-stream" if _ACTIVE_TYPE.search(row.media_type) else row.media_type
    return DownloadResponse(path, media_type=kind, filename=row.name, tag=row.sha256, ranges=True, sending=sending)


_FORM_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"file": {"type": "string", "format": "binary", "description": "The file, with its name."}},
    "required": ["file"],
    "additionalProperties": False,
}


def file_request_body(description: str, examples: Mapping[str, JSON]) -> dict[str, Any]:
    """The OpenAPI request body of a route that takes a file in any format, with examples for each media type."""
    content: dict[str, Any] = {}
    for known in FORMATS.values():
        schema = {"type": "string", "format": "binary"}
        if known.is_binary:
            schema["description"] = f"{known.name}, written in Python: {known.shapes[0].example}"
        for media in known.media_types:
            content[media] = {"schema": schema, **({} if known.is_binary else {"examples": examples[media]})}
    content["application/json"]["schema"] = {}
    shown = next(iter(examples["application/json"].values()))["value"]
    content |= form_content(json.dumps(shown))
    return {"requestBody": {"required": True, "description": description, "content": content}}


def form_content(example: str) -> dict[str, Any]:
    """The part of an OpenAPI request body that describes a form with a file."""
    form_example = {"summary": "As curl -F file=@FILE sends it", "value": {"file": example}}
    return {FORM_MEDIA_TYPE: {"schema": _FORM_SCHEMA, "examples": {"form": form_example}}}
