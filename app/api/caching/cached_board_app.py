"""Leaderboards for visitors, answered before any route: from memory, or built once for all waiting requests."""

import asyncio
import re
import time
import uuid
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple, get_args
from urllib.parse import parse_qsl

import structlog
from fastapi import FastAPI
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from app.actions.submissions.read_leaderboard import VISITOR_AUDIENCE
from app.api.caching.board_cache import BoardFormat, BoardKey, BoardWhileAway, CacheKey, Render
from app.api.caching.cached_reply import CachedReply, HeaderPair
from app.api.dependencies import AppState
from app.api.http.middleware import ANONYMOUS_CACHE_CONTROL, SECURITY_HEADERS, keep_encoded_slashes
from app.api.http.negotiation import matches_etag
from app.api.http.problem_documents import error_response
from app.api.leaderboards import board_render, get_leaderboard
from app.api.limits.client_addresses import scope_address_block
from app.errors import AssayError, DatabaseUnavailable, TooManyRequests
from app.settings import Settings
from app.store.types import format_timestamp

log = structlog.get_logger()

BOARD_ROUTE = "/api/v1/challenges/{slug}/phases/{phase}/leaderboard"
ROUTE_SEGMENTS = BOARD_ROUTE.split("/")
ROUTE_PREFIX = BOARD_ROUTE.partition("{")[0]
ROUTE_SUFFIX = BOARD_ROUTE.rpartition("}")[2]
MAX_QUERY_BYTES = 500
AWAY_CHECK_SECONDS = 1.0  # between two checks whether the database still answers, while a board is being built
SPLITS = frozenset({"all", "public", "private"})
LIMIT_PATTERN = re.compile(r"[1-9][0-9]?|1[0-9]{2}|200")  # others are left to the route, which refuses them
BOARD_FORMATS: dict[str, BoardFormat] = {form: form for form in get_args(BoardFormat)}
_FIXED_HEADERS = (*SECURITY_HEADERS, ("Cache-Control", ANONYMOUS_CACHE_CONTROL))
FIXED_HEADERS = [(name.lower().encode(), value.encode()) for name, value in _FIXED_HEADERS]


class BoardRequest(NamedTuple):
    """A visitor's request for a board or for its page, with the headers that decide the form of the reply.

    `headers` and `route` are those of the reply and of the metrics.
    """

    key: CacheKey
    accept_encoding: str
    if_none_match: str | None
    headers: Sequence[HeaderPair] = FIXED_HEADERS
    route: str = BOARD_ROUTE


ParsePageRequest = Callable[[Scope, Settings], BoardRequest | None]


def parse_board_request(scope: Scope) -> BoardRequest | None:
    """The board that a visitor requests; None for all other requests, and for queries that the route should refuse."""
    path: str = scope["path"]
    if not path.startswith(ROUTE_PREFIX) or not path.endswith(ROUTE_SUFFIX) or scope["method"] not in {"GET", "HEAD"}:
        return None
    segments = path.split("/")
    if len(segments) != len(ROUTE_SEGMENTS) or not segments[4] or segments[5] != "phases" or not segments[6]:
        return None
    if "\0" in path:
        return None
    encodings = tags = None
    for name, value in scope["headers"]:
        if name == b"authorization":
            return None
        if name == b"accept-encoding":
            encodings = join_header(encodings, value)
        elif name == b"if-none-match":
            tags = join_header(tags, value)
    key = _apply_query(BoardKey(segments[4], segments[6], VISITOR_AUDIENCE), scope["query_string"])
    return None if key is None else BoardRequest(key, encodings or "", tags)


def join_header(before: str | None, value: bytes) -> str:
    """Append a value to a header that may occur several times; RFC 9110 reads all of them as one list."""
    text = value.decode("latin-1")
    return text if before is None else f"{before},{text}"


def _apply_query(key: BoardKey, query: bytes) -> BoardKey | None:
    """The key with the parameters of a query string; None for a query that the route should refuse."""
    if not query:
        return key
    if len(query) > MAX_QUERY_BYTES:
        return None
    pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    parameters = dict(pairs)
    if len(parameters) != len(pairs):
        return None
    form = BOARD_FORMATS.get(parameters.pop("format", "json"))
    split, metric = parameters.pop("split", None), parameters.pop("metric", None)
    limit, cursor = parameters.pop("limit", None), parameters.pop("cursor", None)
    if parameters or form is None or not (split is None or split in SPLITS):
        return None
    if limit is not None and not LIMIT_PATTERN.fullmatch(limit):
        return None
    rows = None if limit is None else int(limit)
    return key._replace(split=split, metric=metric, form=form, limit=rows, cursor=cursor)


class CachedBoardApp(FastAPI):
    """The app. It sends cached boards and their pages to visitors without a session, a thread, a middleware or a route.

    `parse_page_request` finds the requests for pages that may be cached.
    """

    parse_page_request: ParsePageRequest | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        began = time.perf_counter()
        scope = keep_encoded_slashes(scope) if scope["type"] == "http" else scope
        board_request = self._parse(scope) if scope["type"] == "http" else None
        entry = None if board_request is None else self._cached_entry(board_request.key, scope)
        if board_request is None or entry is None:
            await super().__call__(scope, receive, send)
            return
        request_id, status = uuid.uuid4().hex, 0
        try:
            status = await _send_cached(entry, board_request, scope, send, request_id)
        finally:
            self._record_request(scope, board_request.route, request_id, status, time.perf_counter() - began)

    def _parse(self, scope: Scope) -> BoardRequest | None:
        board_request = parse_board_request(scope)
        if board_request is None and self.parse_page_request is not None:
            return self.parse_page_request(scope, self.state.service.settings)
        return board_request

    def _cached_entry(self, key: CacheKey, scope: Scope) -> CachedReply | None:
        state: AppState = self.state.service
        entry = state.board_cache.get(key)
        if entry is None or entry.refusal is not None:
            return None
        try:
            state.request_limits.count_request("address", scope_address_block(scope))
        except TooManyRequests:
            return None  # BoardBuildMiddleware counts it again and refuses it with a problem document.
        return entry

    def _record_request(self, scope: Scope, route: str, request_id: str, status: int, seconds: float) -> None:
        """Count and log the request, as ReplyMiddleware does for all others."""
        method, state = scope["method"], self.state.service
        state.figures.count_request(method, route, status, seconds)
        line = {"path": scope["path"], "status": status, "ms": round(seconds * 1000, 1)}
        log.info("request", request=request_id, method=method, **line)


async def _send_cached(
    entry: CachedReply, board_request: BoardRequest, scope: Scope, send: Send, request_id: str
) -> int:
    """Send the body that the caller prefers, or 304 if the caller has it; returns the status."""
    body_encoding = entry.encoded(board_request.accept_encoding)
    same = matches_etag(board_request.if_none_match, body_encoding.etag)
    status = 304 if same else 200
    request_id_header = (b"x-request-id", request_id.encode())
    headers = [
        *(body_encoding.not_modified_headers if same else body_encoding.headers),
        request_id_header,
        *board_request.headers,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    body = b"" if same or scope["method"] == "HEAD" else body_encoding.body
    await send({"type": "http.response.body", "body": body})
    return status


class BoardBuildMiddleware:
    """The innermost middleware: one thread builds a visitor's board that is not cached, other requests await it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        board_request = parse_board_request(scope) if scope["type"] == "http" else None
        if board_request is None:
            await self.app(scope, receive, send)
            return
        scope["endpoint"] = get_leaderboard  # for metrics
        state: AppState = scope["app"].state.service
        try:
            state.request_limits.count_request("address", scope_address_block(scope))
            key = board_request.key
            assert isinstance(key, BoardKey)
            entry, stale_since = await read_kept_board(state, key, board_render(state, key))
        except AssayError as error:
            await error_response(error, scope)(scope, receive, send)
            return
        response = entry.response(board_request.accept_encoding)
        if stale_since is not None:
            mark_stale(response, stale_since)
        await response(scope, receive, send)


def mark_stale(response: Response, since: datetime) -> None:
    """Say in a reply since when changes of its board may be missing."""
    response.headers["Assay-Stale-Since"] = format_timestamp(since.replace(microsecond=0))


async def read_kept_board(state: AppState, key: CacheKey, render: Render) -> tuple[CachedReply, datetime | None]:
    """The cached or newly built board; while the database is away, the last one and since when it may be outdated.

    A database that fell silent would keep the request waiting, so it is checked again each second.
    """
    boards = state.board_cache
    if not boards.is_trusted and (away := await _board_while_away(state, key)) is not None:
        return away
    build = asyncio.ensure_future(boards.get_or_build(key, render))
    try:
        while True:
            done, _ = await asyncio.wait({build}, timeout=AWAY_CHECK_SECONDS)
            if done:
                return build.result(), None
            if not boards.is_trusted and (away := await _board_while_away(state, key)) is not None:
                return away
    except DatabaseUnavailable:
        if (away := await _board_while_away(state, key)) is None:
            raise
        return away
    finally:
        build.cancel()


async def _board_while_away(state: AppState, key: CacheKey) -> BoardWhileAway | None:
    """The board to show if the database is away. If it answers, boards that are not trusted are dropped instead."""
    boards = state.board_cache
    if boards.board_while_away(key) is None:
        return None
    if await state.database_presence.answers():
        if not boards.is_trusted:
            boards.forget()
        return None
    return boards.board_while_away(key)  # read again: an organizer may have hidden it meanwhile
