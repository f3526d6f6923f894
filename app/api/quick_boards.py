"""Boards for visitors before any route: what is kept is sent from memory, what is not is made once for all who wait."""

import time
import uuid
from functools import partial
from typing import get_args
from urllib.parse import parse_qsl

import structlog
from starlette.types import ASGIApp, Receive, Scope, Send

from app.actions.read_leaderboard import VISITOR_VIEW
from app.api.deps import Service
from app.api.kept_boards import Asked, Entry, Form
from app.api.leaderboards import get_leaderboard, prepared
from app.api.middleware import SAFE, UNTAGGED
from app.api.negotiation import has
from app.api.problems import problem_response
from app.errors import AssayError, TooMany
from app.figures import Figures

log = structlog.get_logger()

ROUTE = "/api/v1/challenges/{slug}/phases/{phase}/leaderboard"
PLACES = ROUTE.split("/")
BEFORE = ROUTE.partition("{")[0]
AFTER = ROUTE.rpartition("}")[2]
LONGEST_QUERY = 500  # bytes
SPLITS = frozenset({"all", "public", "private"})
FORMS: dict[str, Form] = {form: form for form in get_args(Form)}
FIXED = [(name.lower().encode(), value.encode()) for name, value in (*SAFE, ("Cache-Control", UNTAGGED))]


def asked_of(scope: Scope) -> Asked | None:
    """The board that a visitor asks for; None for all other requests, and for queries that a route had better refuse."""
    path: str = scope["path"]
    if not path.startswith(BEFORE) or not path.endswith(AFTER) or scope["method"] not in {"GET", "HEAD"}:
        return None
    places = path.split("/")
    if len(places) != len(PLACES) or not places[4] or places[5] != "phases" or not places[6]:
        return None
    if "\0" in path or any(name == b"authorization" for name, _ in scope["headers"]):
        return None
    slug, phase = places[4], places[6]
    return _with_query(Asked(slug, phase, VISITOR_VIEW), scope["query_string"])


def _with_query(asked: Asked, query: bytes) -> Asked | None:
    if not query:
        return asked
    if len(query) > LONGEST_QUERY:
        return None
    pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    found = dict(pairs)
    form = FORMS.get(found.pop("format", "json"))
    split, metric = found.pop("split", None), found.pop("metric", None)
    known = len(found) == 0 and len(dict(pairs)) == len(pairs) and (split is None or split in SPLITS)
    return asked._replace(split=split, metric=metric, form=form) if known and form is not None else None


def _address(scope: Scope) -> str:
    return scope["client"][0] if scope.get("client") else "unknown"


class KeptReplies:
    """The outermost layer: a visitor's board that is kept is sent as it is, without session, thread or route."""

    def __init__(self, app: ASGIApp, figures: Figures) -> None:
        self.app = app
        self._figures = figures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        began = time.perf_counter()
        entry = self._kept(scope) if scope["type"] == "http" else None
        if entry is None:
            await self.app(scope, receive, send)
            return
        request_id = uuid.uuid4().hex
        status = 0
        try:
            status = await _send(entry, scope, send, request_id)
        finally:
            self._keep(scope, request_id, status, time.perf_counter() - began)

    def _kept(self, scope: Scope) -> Entry | None:
        asked = asked_of(scope)
        if asked is None:
            return None
        parts: Service = scope["app"].state.service
        entry = parts.boards.get(asked)
        if entry is None or entry.refusal is not None:
            return None
        try:
            parts.limiter.request(_address(scope))
        except TooMany:
            return None  # the next layer refuses it, with all that a problem carries
        return entry

    def _keep(self, scope: Scope, request_id: str, status: int, seconds: float) -> None:
        """What is kept of a request, as of all others."""
        method = scope["method"]
        self._figures.answered(method, ROUTE, status, seconds)
        line = {"path": scope["path"], "status": status, "ms": round(seconds * 1000, 1)}
        log.info("request", request=request_id, method=method, **line)


async def _send(entry: Entry, scope: Scope, send: Send, request_id: str) -> int:
    """Send what the caller prefers and has not; gives the status."""
    encodings, tags = _wishes(scope)
    chosen = entry.sent(encodings)
    same = tags is not None and has(tags, chosen.tag)
    status = 304 if same else 200
    own = (b"x-request-id", request_id.encode())
    headers = [*(chosen.brief if same else chosen.headers), own, *FIXED]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    body = b"" if same or scope["method"] == "HEAD" else chosen.body
    await send({"type": "http.response.body", "body": body})
    return status


def _wishes(scope: Scope) -> tuple[str, str | None]:
    """The values of Accept-Encoding and If-None-Match; a header given several times is one list."""
    encodings, tags = [], []
    for name, value in scope["headers"]:
        if name == b"accept-encoding":
            encodings.append(value.decode("latin-1"))
        elif name == b"if-none-match":
            tags.append(value.decode("latin-1"))
    return ",".join(encodings), ",".join(tags) if tags else None


class MadeReplies:
    """The innermost layer: a visitor's board that is not kept is made in one thread, and awaited by all others."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        asked = asked_of(scope) if scope["type"] == "http" else None
        if asked is None:
            await self.app(scope, receive, send)
            return
        scope["endpoint"] = get_leaderboard  # for the figures
        parts: Service = scope["app"].state.service
        try:
            parts.limiter.request(_address(scope))
            entry = await parts.boards.find_from_loop(asked, partial(prepared, parts.db, asked))
        except AssayError as refused:
            await problem_response(refused)(scope, receive, send)
            return
        await entry.response(_wishes(scope)[0])(scope, receive, send)
