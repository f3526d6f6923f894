"""Common parts of every reply: request id, security headers, strong ETags, answers to HEAD, a log line and metrics."""

import hashlib
import time
import uuid
from collections.abc import Callable
from urllib.parse import parse_qsl, unquote

import structlog
from fastapi.routing import iter_route_contexts
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.http.negotiation import matches_etag
from app.api.http.problem_documents import PROBLEM_CODE_KEY, problem_response
from app.api.http.streamed_reply import HEAD_KEY
from app.errors import AssayError, BadRequest, NotFound
from app.runtime.telemetry import OTHER_METHOD, Telemetry

log = structlog.get_logger()

InternalErrorReply = Callable[[Scope], ASGIApp]

SECURITY_HEADERS = (("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"))
PERSONAL_KEY = "assay.personal"  # the key in the ASGI scope that says: an account is answered, by its cookie
ANONYMOUS_CACHE_CONTROL = "no-cache"  # Without a token, any cache may store what is read, but must revalidate it.


def keep_encoded_slashes(scope: Scope) -> Scope:
    """The scope with encoded slashes left encoded in its path: such a slash is part of a segment and separates nothing.

    The server decodes the path, so that /challenges%2Fpets would be routed as /challenges/pets, although a proxy in
    front of it may have treated it as a different path.
    """
    raw: bytes = scope.get("raw_path") or b""
    if b"%2f" not in raw.lower():
        return scope
    segments = [unquote(segment).replace("/", "%2F") for segment in raw.decode("ascii", "replace").split("/")]
    return {**scope, "path": "/".join(segments)}


class ReplyMiddleware:
    """The middleware around all routes."""

    def __init__(self, app: ASGIApp, figures: Telemetry, internal_error: InternalErrorReply | None = None) -> None:
        """`internal_error` makes the reply to an unexpected error, in place of a problem document."""
        self.app = app
        self._figures = figures
        self._internal_error = internal_error or _internal_problem
        self._route_templates: dict[object, str] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request_id = uuid.uuid4().hex
        head = scope["method"] == "HEAD"
        inner = {**scope, "method": "GET", HEAD_KEY: True} if head else scope
        reply = ReplySender(send, inner, request_id, reads=head or scope["method"] == "GET", head=head)
        structlog.contextvars.bind_contextvars(request=request_id)
        began = time.perf_counter()
        app = self.app
        # No name and no parameter contains a NUL, and PostgreSQL refuses text with one.
        if "\0" in scope["path"]:
            app = problem_response(NotFound())
        elif b"%00" in scope["query_string"] or b"\0" in scope["query_string"]:
            app = problem_response(_null_character_problem(scope["query_string"]))
        try:
            await app(inner, receive, reply.send)
        except Exception:
            if reply.status:
                raise  # The reply has begun, so it can only be broken off.
            log.exception("unforeseen_error", path=scope["path"])
            await self._internal_error(inner)(inner, receive, reply.send)
        finally:
            self._record_request(scope["method"], inner, reply.status, time.perf_counter() - began)
            structlog.contextvars.clear_contextvars()

    def _record_request(self, method: str, scope: Scope, status: int, seconds: float) -> None:
        """Count and log a request that was answered."""
        self._figures.count_request(method, self._route_template(scope), status, seconds)
        code: str | None = scope.get(PROBLEM_CODE_KEY)
        if code is not None:
            self._figures.count_refusal(code)
        problem = {} if code is None else {"code": code}
        log.info("request", method=method, path=scope["path"], status=status, ms=round(seconds * 1000, 1), **problem)

    def _route_template(self, scope: Scope) -> str:
        """The declared path of the route, never the requested path: metrics need a bounded set of labels."""
        if not self._route_templates:
            for route in iter_route_contexts(scope["app"].routes):
                endpoint = route.endpoint or getattr(route.original_route, "app", None)  # the latter for a mount
                self._route_templates[endpoint] = route.path_format or OTHER_METHOD
        return self._route_templates.get(scope.get("endpoint"), OTHER_METHOD)


def _internal_problem(_scope: Scope) -> ASGIApp:
    return problem_response(AssayError())


class ReplySender:
    """Sends one reply. A complete reply to a read gets an ETag; all others pass through."""

    def __init__(self, send: Send, scope: Scope, request_id: str, *, reads: bool, head: bool) -> None:
        self._send = send
        self._scope = scope
        self._request_headers = Headers(scope=scope)
        self._request_id = request_id
        self._is_read = reads
        self._is_head = head
        self._held_start: Message | None = None
        self._omits_body = False
        self.status = 0

    async def send(self, message: Message) -> None:
        """Forward a message; the start of a reply that may get an ETag is held until its body is there."""
        if message["type"] == "http.response.start":
            await self._start(message)
            return
        start, self._held_start = self._held_start, None
        if start is not None and not message.get("more_body"):
            self._add_etag(start, message)
        if start is not None:
            await self._send(start)
        await self._forward(message)

    async def _start(self, message: Message) -> None:
        self.status = message["status"]
        headers = MutableHeaders(scope=message)
        headers["X-Request-ID"] = self._request_id
        for name, value in SECURITY_HEADERS:
            headers.setdefault(name, value)
        if not self._is_read or PERSONAL_KEY in self._scope:
            headers["Cache-Control"] = "no-store"  # It may hold a secret that is shown once, such as a token.
        elif "authorization" in self._request_headers and headers.get("cache-control") != "no-store":
            headers["Cache-Control"] = "private, no-cache"
        else:
            headers.setdefault("Cache-Control", ANONYMOUS_CACHE_CONTROL)
        headers.add_vary_header("Authorization")
        is_taggable = self._is_read and self.status == 200
        if is_taggable and "etag" not in headers and "content-length" in headers:
            self._held_start = message
            return
        if is_taggable and "etag" in headers:
            self._omits_body = self._apply_not_modified(message, headers["etag"])
        await self._send(message)

    def _apply_not_modified(self, start: Message, tag: str) -> bool:
        """Turn the reply into a 304 if the client has the current version; returns whether it did."""
        tags = self._request_headers.getlist("if-none-match")
        if not tags or not matches_etag(",".join(tags), tag):
            return False
        self.status = start["status"] = 304
        headers = MutableHeaders(scope=start)
        for name in ("content-length", "content-type", "content-disposition", "content-encoding"):
            if name in headers:
                del headers[name]
        return True

    def _add_etag(self, start: Message, body: Message) -> None:
        tag = f'"{hashlib.sha256(body.get("body", b"")).hexdigest()[:32]}"'
        MutableHeaders(scope=start)["ETag"] = tag
        self._omits_body = self._apply_not_modified(start, tag)

    async def _forward(self, message: Message) -> None:
        await self._send({**message, "body": b""} if self._omits_body or self._is_head else message)


def _null_character_problem(query: bytes) -> BadRequest:
    """Names the parameter whose name or value contains a NUL."""
    parameters = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    name = next((name for name, value in parameters if "\0" in name + value), "").replace("\0", "")
    return BadRequest(f"The query parameter '{name}' contains the character U+0000.")
