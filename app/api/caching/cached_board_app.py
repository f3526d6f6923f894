"""Boards for visitors before any route: what is kept is sent from memory, what is not is made once for all who wait."""

import time
import uuid
from functools import partial
from typing import NamedTuple, get_args
from urllib.parse import parse_qsl

import structlog
from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from app.actions.submissions.read_leaderboard import VISITOR_VIEW
from app.api.caching.board_cache import Asked, Entry, Form
from app.api.dependencies import Service
from app.api.leaderboards import get_leaderboard, prepared
from app.api.limits.client_addresses import scope_block
from app.api.middleware import SAFE, UNTAGGED, whole_segments
from app.api.negotiation import has
from app.api.problems import problem_response
from app.errors import AssayError, TooMany

log = structlog.get_logger()

ROUTE = "/api/v1/challenges/{slug}/phases/{phase}/leaderboard"
PLACES = ROUTE.split("/")
BEFORE = ROUTE.partition("{")[0]
AFTER = ROUTE.rpartition("}")[2]
LONGEST_QUERY = 500  # bytes
SPLITS = frozenset({"all", "public", "private"})
FORMS: dict[str, Form] = {form: form for form in get_args(Form)}
FIXED = [(name.lower().encode(), value.encode()) for name, value in (*SAFE, ("Cache-Control", UNTAGGED))]


class Wishes(NamedTuple):
    """What a visitor's request for a board says beside its address."""

    asked: Asked
    accept_encoding: str
    if_none_match: str | None


def wishes_of(scope: Scope) -> Wishes | None:
    """The board that a visitor asks for; None for all other requests, and for queries that a route had better refuse."""
    path: str = scope["path"]
    if not path.startswith(BEFORE) or not path.endswith(AFTER) or scope["method"] not in {"GET", "HEAD"}:
        return None
    places = path.split("/")
    if len(places) != len(PLACES) or not places[4] or places[5] != "phases" or not places[6] or "\0" in path:
        return None
    encodings = tags = None
    for name, value in scope["headers"]:
        if name == b"authorization":
            return None
        if name == b"accept-encoding":
            encodings = _listed(encodings, value)
        elif name == b"if-none-match":
            tags = _listed(tags, value)
    asked = _with_query(Asked(places[4], places[6], VISITOR_VIEW), scope["query_string"])
    return None if asked is None else Wishes(asked, encodings or "", tags)


def _listed(before: str | None, value: bytes) -> str:
    """A header that is given several times is one list."""
    text = value.decode("latin-1")
    return text if before is None else f"{before},{text}"


def _with_query(asked: Asked, query: bytes) -> Asked | None:
    if not query:
        return asked
    if len(query) > LONGEST_QUERY:
        return None
    pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    found = dict(pairs)
    if len(found) != len(pairs):
        return None
    form = FORMS.get(found.pop("format", "json"))
    split, metric = found.pop("split", None), found.pop("metric", None)
    if found or form is None or not (split is None or split in SPLITS):
        return None
    return asked._replace(split=split, metric=metric, form=form)


class QuickApp(FastAPI):
    """The app; a visitor's board that is kept is sent as it is, without session, thread, layer or route."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        began = time.perf_counter()
        scope = whole_segments(scope) if scope["type"] == "http" else scope
        wishes = wishes_of(scope) if scope["type"] == "http" else None
        entry = None if wishes is None else self._kept(wishes.asked, scope)
        if wishes is None or entry is None:
            await super().__call__(scope, receive, send)
            return
        request_id = uuid.uuid4().hex
        status = 0
        try:
            status = await _send(entry, wishes, scope, send, request_id)
        finally:
            self._note(scope, request_id, status, time.perf_counter() - began)

    def _kept(self, asked: Asked, scope: Scope) -> Entry | None:
        parts: Service = self.state.service
        entry = parts.boards.get(asked)
        if entry is None or entry.refusal is not None:
            return None
        try:
            parts.limiter.request("address", scope_block(scope))
        except TooMany:
            return None  # the next layer refuses it, with all that a problem carries
        return entry

    def _note(self, scope: Scope, request_id: str, status: int, seconds: float) -> None:
        """What is kept of a request, as of all others."""
        method, parts = scope["method"], self.state.service
        parts.figures.answered(method, ROUTE, status, seconds)
        line = {"path": scope["path"], "status": status, "ms": round(seconds * 1000, 1)}
        log.info("request", request=request_id, method=method, **line)


async def _send(entry: Entry, wishes: Wishes, scope: Scope, send: Send, request_id: str) -> int:
    """Send what the caller prefers and has not; gives the status."""
    chosen = entry.sent(wishes.accept_encoding)
    same = has(wishes.if_none_match, chosen.tag)
    status = 304 if same else 200
    own = (b"x-request-id", request_id.encode())
    headers = [*(chosen.brief if same else chosen.headers), own, *FIXED]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    body = b"" if same or scope["method"] == "HEAD" else chosen.body
    await send({"type": "http.response.body", "body": body})
    return status


class MadeReplies:
    """The innermost layer: a visitor's board that is not kept is made in one thread, and awaited by all others."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        wishes = wishes_of(scope) if scope["type"] == "http" else None
        if wishes is None:
            await self.app(scope, receive, send)
            return
        scope["endpoint"] = get_leaderboard  # for the figures
        parts: Service = scope["app"].state.service
        try:
            parts.limiter.request("address", scope_block(scope))
            asked = wishes.asked
            entry = await parts.boards.find_from_loop(asked, partial(prepared, parts.db, asked))
        except AssayError as refused:
            await problem_response(refused)(scope, receive, send)
            return
        await entry.response(wishes.accept_encoding)(scope, receive, send)
