"""Errors as pages, for browsers; everything else gets problem documents."""

from urllib.parse import quote

import structlog
from fastapi import FastAPI, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response
from starlette.routing import Match
from starlette.types import ASGIApp, Receive, Scope, Send

from app import errors
from app.actions.access import VISITOR
from app.api.dependencies import app_state
from app.api.http.problem_documents import (
    HANDLED,
    PROBLEM_CODE_KEY,
    MethodNotAllowed,
    error_of,
    error_response,
    problem_response,
    renamed_location,
)
from app.errors import AssayError
from app.web.page import PageContext, page_context
from app.web.remedies import detail_of, remedy_of
from app.web.rendering import render
from app.web.site import site_of

# What the API says to programs, in words for a reader of pages.
HEADINGS = {
    400: "This address is not right",
    401: "Log in first",
    403: "You may not do this",
    404: "Page not found",
    405: "This page cannot do that",
    408: "The file stopped arriving",
    409: "This is not possible now",
    410: "This was deleted",
    413: "This is too large",
    415: "This kind of file is not supported",
    422: "Something in the form is wrong",
    429: "Too many requests",
    500: "Something went wrong",
    503: "The service is busy",
}
OTHER_HEADING = "Something is wrong with this request"


def heading_of(error: AssayError, method: str) -> str:
    """The heading of the page of an error."""
    if error.status == 422 and method in {"GET", "HEAD"}:
        return HEADINGS[400]
    return HEADINGS.get(error.status, OTHER_HEADING)


def wants_page(scope: Scope) -> bool:
    """Whether an error of this request should be a page: its path is no path of the API, and a browser asks."""
    if scope["path"].startswith(("/api/", "/static/", "/metrics", "/healthz", "/readyz")):
        return False
    accepted = b",".join(value for name, value in scope["headers"] if name == b"accept")
    return b"text/html" in accepted


def install_error_pages(app: FastAPI) -> None:
    """Answer errors of requests by browsers with pages."""
    for kind in HANDLED:
        app.add_exception_handler(kind, _handle)


async def _handle(request: Request, error: Exception) -> Response:
    known = error_of(error, request.url.path)
    if not wants_page(request.scope):
        return error_response(known, request.scope)
    return await run_in_threadpool(error_page, request, known)


def error_page(request: Request, error: AssayError, page: PageContext | None = None) -> Response:
    """An error as a page. A visitor who should log in is sent to the log-in page, and comes back from there.

    A script that fetches a part of a page is not: the log-in page would take the place of that part. Without `page`,
    the caller is the one of the request.
    """
    request.scope[PROBLEM_CODE_KEY] = error.code
    page = page or _context(request)
    if isinstance(error, errors.Renamed):
        return RedirectResponse(renamed_location(error, request.scope, first=2), status_code=error.status)
    is_whole_page = request.method == "GET" and "hx-request" not in request.headers
    if isinstance(error, errors.Unauthorized) and is_whole_page and not page.is_logged_in:
        return RedirectResponse(page.log_in_path, status_code=303)
    if isinstance(error, MethodNotAllowed) and request.method == "GET":
        return RedirectResponse(_page_above(request), status_code=303)
    reply = render(
        page,
        "error.html",
        status=error.status,
        error=error,
        heading=heading_of(error, request.method),
        detail=detail_of(error),
        remedy=remedy_of(error),
        request_id=structlog.contextvars.get_contextvars().get("request"),
    )
    for name in ("retry-after", "allow"):
        if value := {key.lower(): text for key, text in error.headers.items()}.get(name):
            reply.headers[name] = value
    return reply


def internal_error_page(scope: Scope) -> ASGIApp:
    """The reply to an unexpected error, which was logged: a page for browsers."""
    if not wants_page(scope):
        return problem_response(AssayError())

    async def reply(scope: Scope, receive: Receive, send: Send) -> None:
        response = await run_in_threadpool(error_page, Request(scope), AssayError())
        await response(scope, receive, send)

    return reply


def _page_above(request: Request) -> str:
    """The page nearest above an address that only receives a form, as somebody meets who opens it again."""
    parts = request.url.path.rstrip("/").split("/")
    for end in range(len(parts) - 1, 1, -1):
        path = "/".join(parts[:end])
        scope = {"type": "http", "method": "GET", "path": path, "root_path": ""}
        if any(route.matches(scope)[0] is Match.FULL for route in request.app.routes):
            return quote(str(path))
    return "/"


def _context(request: Request) -> PageContext:
    """The context of a request that failed: that of a visitor if its account cannot be read either."""
    try:
        return getattr(request.state, "page", None) or page_context(request)
    except Exception:  # noqa: BLE001 - the error page must not fail for the reason that it reports
        state = app_state(request)
        return PageContext(request, state, site_of(request, state.settings), VISITOR, None)
