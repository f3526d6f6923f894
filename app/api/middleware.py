"""What every reply carries: a request id, safe headers, strong ETags of the bytes sent, answers to HEAD.

And what is kept of it: one log line, and the figures.
"""

import hashlib
import time
import uuid
from urllib.parse import unquote

import structlog
from fastapi.routing import iter_route_contexts
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.negotiation import matches_etag
from app.api.problems import PROBLEM_CODE_KEY, internal_error_response, problem_response
from app.errors import NotFound
from app.runtime.telemetry import OTHER_METHOD, Telemetry

log = structlog.get_logger()

SECURITY_HEADERS = (("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"))
ANONYMOUS_CACHE_CONTROL = "no-cache"  # to who shows no token: anybody may keep it, and asks again each time


def keep_encoded_slashes(scope: Scope) -> Scope:
    """The request with an encoded slash left encoded in its path: it belongs to its segment and separates nothing.

    A server hands the path over decoded, so that /challenges%2Fpets would be routed as /challenges/pets, which a proxy in
    front of it took for something else.
    """
    raw: bytes = scope.get("raw_path") or b""
    if b"%2f" not in raw.lower():
        return scope
    segments = [unquote(segment).replace("/", "%2F") for segment in raw.decode("ascii", "replace").split("/")]
    return {**scope, "path": "/".join(segments)}


class ReplyMiddleware:
    """The layer around all routes."""

    def __init__(self, app: ASGIApp, figures: Telemetry) -> None:
        self.app = app
        self._figures = figures
        self._route_templates: dict[object, str] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request_id = uuid.uuid4().hex
        head = scope["method"] == "HEAD"
        reply = ReplySender(send, Headers(scope=scope), request_id, reads=head or scope["method"] == "GET", head=head)
        structlog.contextvars.bind_contextvars(request=request_id)
        began = time.perf_counter()
        inner = {**scope, "method": "GET"} if head else scope
        # Nothing has such a name, and PostgreSQL cannot even look for it.
        asked = problem_response(NotFound()) if "\0" in scope["path"] else self.app
        try:
            await asked(inner, receive, reply.send)
        except Exception as error:
            if reply.status:
                raise  # the answer has begun: all that is left is to break it off
            await internal_error_response(scope["path"], error)(inner, receive, reply.send)
        finally:
            self._record_request(scope["method"], inner, reply.status, time.perf_counter() - began)
            structlog.contextvars.clear_contextvars()

    def _record_request(self, method: str, scope: Scope, status: int, seconds: float) -> None:
        """What is kept of a request that was answered."""
        self._figures.count_request(method, self._route_template(scope), status, seconds)
        code: str | None = scope.get(PROBLEM_CODE_KEY)
        if code is not None:
            self._figures.count_refusal(code)
        refused = {} if code is None else {"code": code}
        log.info("request", method=method, path=scope["path"], status=status, ms=round(seconds * 1000, 1), **refused)

    def _route_template(self, scope: Scope) -> str:
        """The address of the route as it was declared, with its prefix; never what was asked for."""
        if not self._route_templates:
            for route in iter_route_contexts(scope["app"].routes):
                answers = route.endpoint or getattr(route.original_route, "app", None)  # the latter of a mount
                self._route_templates[answers] = route.path_format or OTHER_METHOD
        return self._route_templates.get(scope.get("endpoint"), OTHER_METHOD)


class ReplySender:
    """One reply on its way out: replies to reads that come whole are tagged, the rest passes through."""

    def __init__(self, send: Send, asked: Headers, request_id: str, *, reads: bool, head: bool) -> None:
        self._send = send
        self._request_headers = asked
        self._request_id = request_id
        self._is_read = reads
        self._is_head = head
        self._held_start: Message | None = None
        self._omits_body = False
        self.status = 0

    async def send(self, message: Message) -> None:
        """Pass a message on, or hold the start back until the body is there."""
        if message["type"] == "http.response.start":
            await self._start(message)
        elif self._held_start is not None and not message.get("more_body"):
            start, self._held_start = self._held_start, None
            await self._send_tagged(start, message)
        elif self._held_start is not None:
            start, self._held_start = self._held_start, None
            await self._send(start)
            await self._forward(message)
        else:
            await self._forward(message)

    async def _start(self, message: Message) -> None:
        self.status = message["status"]
        headers = MutableHeaders(scope=message)
        headers["X-Request-ID"] = self._request_id
        for name, value in SECURITY_HEADERS:
            headers.setdefault(name, value)
        if "authorization" in self._request_headers:
            headers["Cache-Control"] = "private, no-cache"
        else:
            headers.setdefault("Cache-Control", ANONYMOUS_CACHE_CONTROL)
        headers.add_vary_header("Authorization")
        if self._is_read and self.status == 200 and "etag" in headers:
            self._omits_body = self._apply_not_modified(message, headers["etag"])
            await self._send(message)
        elif self._is_read and self.status == 200 and "content-length" in headers:
            self._held_start = message
        else:
            await self._send(message)

    def _apply_not_modified(self, start: Message, tag: str) -> bool:
        """Turn the reply into a 304 if the caller has these bytes already."""
        given = self._request_headers.getlist("if-none-match")
        if not given or not matches_etag(",".join(given), tag):
            return False
        self.status = start["status"] = 304
        headers = MutableHeaders(scope=start)
        for name in ("content-length", "content-type", "content-disposition", "content-encoding"):
            if name in headers:
                del headers[name]
        return True

    async def _send_tagged(self, start: Message, body: Message) -> None:
        tag = f'"{hashlib.sha256(body.get("body", b"")).hexdigest()[:32]}"'
        MutableHeaders(scope=start)["ETag"] = tag
        self._omits_body = self._apply_not_modified(start, tag)
        await self._send(start)
        await self._forward(body)

    async def _forward(self, message: Message) -> None:
        await self._send({**message, "body": b""} if self._omits_body or self._is_head else message)
