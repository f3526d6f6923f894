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

from app.api.negotiation import has
from app.api.problems import CODE, problem_response, unforeseen
from app.errors import NotFound
from app.runtime.telemetry import OTHER, Figures

log = structlog.get_logger()

SAFE = (("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"))
UNTAGGED = "no-cache"  # to who shows no token: anybody may keep it, and asks again each time


def whole_segments(scope: Scope) -> Scope:
    """The request with an encoded slash left encoded in its path: it belongs to its segment and separates nothing.

    A server hands the path over decoded, so that /challenges%2Fpets would be routed as /challenges/pets, which a proxy in
    front of it took for something else.
    """
    raw: bytes = scope.get("raw_path") or b""
    if b"%2f" not in raw.lower():
        return scope
    segments = [unquote(segment).replace("/", "%2F") for segment in raw.decode("ascii", "replace").split("/")]
    return {**scope, "path": "/".join(segments)}


class Envelope:
    """The layer around all routes."""

    def __init__(self, app: ASGIApp, figures: Figures) -> None:
        self.app = app
        self._figures = figures
        self._templates: dict[object, str] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request_id = uuid.uuid4().hex
        head = scope["method"] == "HEAD"
        reply = Reply(send, Headers(scope=scope), request_id, reads=head or scope["method"] == "GET", head=head)
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
            await unforeseen(scope["path"], error)(inner, receive, reply.send)
        finally:
            self._keep(scope["method"], inner, reply.status, time.perf_counter() - began)
            structlog.contextvars.clear_contextvars()

    def _keep(self, method: str, scope: Scope, status: int, seconds: float) -> None:
        """What is kept of a request that was answered."""
        self._figures.answered(method, self._template(scope), status, seconds)
        code: str | None = scope.get(CODE)
        if code is not None:
            self._figures.refused(code)
        refused = {} if code is None else {"code": code}
        log.info("request", method=method, path=scope["path"], status=status, ms=round(seconds * 1000, 1), **refused)

    def _template(self, scope: Scope) -> str:
        """The address of the route as it was declared, with its prefix; never what was asked for."""
        if not self._templates:
            for route in iter_route_contexts(scope["app"].routes):
                answers = route.endpoint or getattr(route.original_route, "app", None)  # the latter of a mount
                self._templates[answers] = route.path_format or OTHER
        return self._templates.get(scope.get("endpoint"), OTHER)


class Reply:
    """One reply on its way out: replies to reads that come whole are tagged, the rest passes through."""

    def __init__(self, send: Send, asked: Headers, request_id: str, *, reads: bool, head: bool) -> None:
        self._send = send
        self._asked = asked
        self._request_id = request_id
        self._reads = reads
        self._head = head
        self._held: Message | None = None
        self._mute = False
        self.status = 0

    async def send(self, message: Message) -> None:
        """Pass a message on, or hold the start back until the body is there."""
        if message["type"] == "http.response.start":
            await self._start(message)
        elif self._held is not None and not message.get("more_body"):
            start, self._held = self._held, None
            await self._finish(start, message)
        elif self._held is not None:
            start, self._held = self._held, None
            await self._send(start)
            await self._pass(message)
        else:
            await self._pass(message)

    async def _start(self, message: Message) -> None:
        self.status = message["status"]
        headers = MutableHeaders(scope=message)
        headers["X-Request-ID"] = self._request_id
        for name, value in SAFE:
            headers.setdefault(name, value)
        if "authorization" in self._asked:
            headers["Cache-Control"] = "private, no-cache"
        else:
            headers.setdefault("Cache-Control", UNTAGGED)
        headers.add_vary_header("Authorization")
        if self._reads and self.status == 200 and "etag" in headers:
            self._mute = self._not_modified(message, headers["etag"])
            await self._send(message)
        elif self._reads and self.status == 200 and "content-length" in headers:
            self._held = message
        else:
            await self._send(message)

    def _not_modified(self, start: Message, tag: str) -> bool:
        """Turn the reply into a 304 if the caller has these bytes already."""
        given = self._asked.getlist("if-none-match")
        if not given or not has(",".join(given), tag):
            return False
        self.status = start["status"] = 304
        headers = MutableHeaders(scope=start)
        for name in ("content-length", "content-type", "content-disposition", "content-encoding"):
            if name in headers:
                del headers[name]
        return True

    async def _finish(self, start: Message, body: Message) -> None:
        tag = f'"{hashlib.sha256(body.get("body", b"")).hexdigest()[:32]}"'
        MutableHeaders(scope=start)["ETag"] = tag
        self._mute = self._not_modified(start, tag)
        await self._send(start)
        await self._pass(body)

    async def _pass(self, message: Message) -> None:
        await self._send({**message, "body": b""} if self._mute or self._head else message)
