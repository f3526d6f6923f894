"""Boards for visitors before any route: what is kept is sent from memory, what is not is made once for all who wait."""

import time
import uuid
from functools import partial
from typing import NamedTuple, get_args
from urllib.parse import parse_qsl

import structlog
from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from app.actions.submissions.read_leaderboard import VISITOR_AUDIENCE
from app.api.caching.board_cache import BoardFormat, BoardKey, CachedReply
from app.api.dependencies import AppState
from app.api.leaderboards import build_board, get_leaderboard
from app.api.limits.client_addresses import scope_address_block
from app.api.middleware import ANONYMOUS_CACHE_CONTROL, SECURITY_HEADERS, keep_encoded_slashes
from app.api.negotiation import matches_etag
from app.api.problems import problem_response
from app.errors import AssayError, TooManyRequests

log = structlog.get_logger()

BOARD_ROUTE = "/api/v1/challenges/{slug}/phases/{phase}/leaderboard"
ROUTE_SEGMENTS = BOARD_ROUTE.split("/")
ROUTE_PREFIX = BOARD_ROUTE.partition("{")[0]
ROUTE_SUFFIX = BOARD_ROUTE.rpartition("}")[2]
MAX_QUERY_BYTES = 500  # bytes
SPLITS = frozenset({"all", "public", "private"})
BOARD_FORMATS: dict[str, BoardFormat] = {form: form for form in get_args(BoardFormat)}
FIXED_HEADERS = [
    (name.lower().encode(), value.encode())
    for name, value in (*SECURITY_HEADERS, ("Cache-Control", ANONYMOUS_CACHE_CONTROL))
]


class BoardRequest(NamedTuple):
    """What a visitor's request for a board says beside its address."""

    key: BoardKey
    accept_encoding: str
    if_none_match: str | None


def parse_board_request(scope: Scope) -> BoardRequest | None:
    """The board that a visitor asks for; None for all other requests, and for queries that a route had better refuse."""
    path: str = scope["path"]
    if not path.startswith(ROUTE_PREFIX) or not path.endswith(ROUTE_SUFFIX) or scope["method"] not in {"GET", "HEAD"}:
        return None
    places = path.split("/")
    if len(places) != len(ROUTE_SEGMENTS) or not places[4] or places[5] != "phases" or not places[6] or "\0" in path:
        return None
    encodings = tags = None
    for name, value in scope["headers"]:
        if name == b"authorization":
            return None
        if name == b"accept-encoding":
            encodings = _join_header(encodings, value)
        elif name == b"if-none-match":
            tags = _join_header(tags, value)
    asked = _apply_query(BoardKey(places[4], places[6], VISITOR_AUDIENCE), scope["query_string"])
    return None if asked is None else BoardRequest(asked, encodings or "", tags)


def _join_header(before: str | None, value: bytes) -> str:
    """A header that is given several times is one list."""
    text = value.decode("latin-1")
    return text if before is None else f"{before},{text}"


def _apply_query(asked: BoardKey, query: bytes) -> BoardKey | None:
    if not query:
        return asked
    if len(query) > MAX_QUERY_BYTES:
        return None
    pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    found = dict(pairs)
    if len(found) != len(pairs):
        return None
    form = BOARD_FORMATS.get(found.pop("format", "json"))
    split, metric = found.pop("split", None), found.pop("metric", None)
    if found or form is None or not (split is None or split in SPLITS):
        return None
    return asked._replace(split=split, metric=metric, form=form)


class CachedBoardApp(FastAPI):
    """The app; a visitor's board that is kept is sent as it is, without session, thread, layer or route."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        began = time.perf_counter()
        scope = keep_encoded_slashes(scope) if scope["type"] == "http" else scope
        wishes = parse_board_request(scope) if scope["type"] == "http" else None
        entry = None if wishes is None else self._cached_entry(wishes.key, scope)
        if wishes is None or entry is None:
            await super().__call__(scope, receive, send)
            return
        request_id = uuid.uuid4().hex
        status = 0
        try:
            status = await _send_cached(entry, wishes, scope, send, request_id)
        finally:
            self._record_request(scope, request_id, status, time.perf_counter() - began)

    def _cached_entry(self, asked: BoardKey, scope: Scope) -> CachedReply | None:
        parts: AppState = self.state.service
        entry = parts.board_cache.get(asked)
        if entry is None or entry.refusal is not None:
            return None
        try:
            parts.request_limits.count_request("address", scope_address_block(scope))
        except TooManyRequests:
            return None  # the next layer refuses it, with all that a problem carries
        return entry

    def _record_request(self, scope: Scope, request_id: str, status: int, seconds: float) -> None:
        """What is kept of a request, as of all others."""
        method, parts = scope["method"], self.state.service
        parts.figures.count_request(method, BOARD_ROUTE, status, seconds)
        line = {"path": scope["path"], "status": status, "ms": round(seconds * 1000, 1)}
        log.info("request", request=request_id, method=method, **line)


async def _send_cached(entry: CachedReply, wishes: BoardRequest, scope: Scope, send: Send, request_id: str) -> int:
    """Send what the caller prefers and has not; gives the status."""
    chosen = entry.encoded(wishes.accept_encoding)
    same = matches_etag(wishes.if_none_match, chosen.etag)
    status = 304 if same else 200
    own = (b"x-request-id", request_id.encode())
    headers = [*(chosen.not_modified_headers if same else chosen.headers), own, *FIXED_HEADERS]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    body = b"" if same or scope["method"] == "HEAD" else chosen.body
    await send({"type": "http.response.body", "body": body})
    return status


class BoardBuildMiddleware:
    """The innermost layer: a visitor's board that is not kept is made in one thread, and awaited by all others."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        wishes = parse_board_request(scope) if scope["type"] == "http" else None
        if wishes is None:
            await self.app(scope, receive, send)
            return
        scope["endpoint"] = get_leaderboard  # for the figures
        parts: AppState = scope["app"].state.service
        try:
            parts.request_limits.count_request("address", scope_address_block(scope))
            asked = wishes.key
            entry = await parts.board_cache.get_or_build_async(asked, partial(build_board, parts.db, asked))
        except AssayError as refused:
            await problem_response(refused)(scope, receive, send)
            return
        await entry.response(wishes.accept_encoding)(scope, receive, send)
