"""The request of a page: its caller by the session cookie, and the check of forms against forgery."""

import re
import secrets
from dataclasses import dataclass, field
from typing import Annotated
from urllib.parse import quote, unquote, urlsplit

from fastapi import APIRouter, Depends, Request
from starlette.responses import RedirectResponse, Response

from app import errors
from app.actions.access import VISITOR, Caller
from app.actions.accounts.sessions import SESSION_LIFETIME, authenticate_session
from app.api.dependencies import AppState, app_state
from app.api.http.json_body import JsonBodyRequest
from app.api.http.middleware import PERSONAL_KEY
from app.api.limits.client_addresses import client_address_block
from app.web.csrf import csrf_token, is_csrf_token
from app.web.forms import Form, parse_form
from app.web.notices import Notice, notice_sentence
from app.web.site import Site, site_of

SESSION, VISITOR_COOKIE, INVITATION_COOKIE, NOTICE_COOKIE = "session", "visitor", "invitation", "notice"
COOKIE_SECONDS = {SESSION: int(SESSION_LIFETIME.total_seconds()), NOTICE_COOKIE: 60}
"""How long a browser keeps a cookie; it forgets others when it closes."""
SESSION_PATTERN = re.compile(r"[0-9a-f]{32}\.[\w-]{1,100}", re.ASCII)
CODE_PATTERN = re.compile(r"[\w-]{1,200}", re.ASCII)
CSRF_FIELD, CSRF_HEADER = "csrf", "x-csrf-token"


class FormExpired(errors.Forbidden):
    """This form does not belong to your present session, so nothing was changed."""

    code = "form_expired"
    remedy = "Go back, reload the page and send the form again."


class ForeignForm(errors.Forbidden):
    """This form came from another site, so nothing was changed."""

    code = "foreign_form"
    remedy = (
        "Open the page at the address of this service and send the form from there. If you operate it and this is its "
        "address, set ASSAY_PUBLIC_URL to it."
    )


def page_router() -> APIRouter:
    """A router for pages, which are not part of the API's description."""
    return APIRouter(include_in_schema=False)


@dataclass
class PageContext:
    """What a page needs of its request. Templates see it as `page`."""

    request: Request
    state: AppState
    site: Site
    caller: Caller
    session_text: str | None
    """The session's cookie, if it is that of a live session."""
    new_cookies: dict[str, str | None] = field(default_factory=dict)
    """Cookies to set with the reply, by name; None deletes one."""
    _csrf_cookie: str | None = None

    @property
    def csrf(self) -> str:
        """The token that forms of this page carry. A visitor gets a cookie to bind it to."""
        return csrf_token(self.session_text or self._visitor_cookie())

    def _visitor_cookie(self) -> str:
        if self._csrf_cookie is None:
            self._csrf_cookie = self.request.cookies.get(self.site.cookie_name(VISITOR_COOKIE))
        if self._csrf_cookie is None:
            self._csrf_cookie = self.new_cookies[VISITOR_COOKIE] = secrets.token_urlsafe(24)
        return self._csrf_cookie

    @property
    def is_logged_in(self) -> bool:
        """Whether the caller has an account."""
        return self.caller.user_id is not None

    @property
    def is_personal(self) -> bool:
        """Whether what this browser gets is for it alone, so that no cache may keep it."""
        return self.is_logged_in or bool(self.new_cookies) or self.invitation is not None

    @property
    def account(self) -> Caller:
        """The caller, who has an account; raises Unauthorized for a visitor, whom it sends to the log-in page."""
        if self.caller.user_id is None:
            raise errors.Unauthorized("Log in to see this page.", remedy="Log in, or sign up for an account.")
        return self.caller

    @property
    def invitation(self) -> str | None:
        """The code of an invitation that this browser entered and has not used yet."""
        text = self.request.cookies.get(self.site.cookie_name(INVITATION_COOKIE))
        return text if text is not None and CODE_PATTERN.fullmatch(text) else None

    def take_notice(self) -> str | None:
        """The sentence that a redirect to this page left for it, which is shown once.

        It comes in a cookie, which no link can bring along, so that no other site makes the pages say something.
        """
        code, _, path = self.request.cookies.get(self.site.cookie_name(NOTICE_COOKIE), "").partition(":")
        if self.request.method != "GET" or unquote(path) != self.request.scope["path"]:
            return None
        self.new_cookies[NOTICE_COOKIE] = None
        return notice_sentence(code)

    def leave_notice(self, code: Notice, path: str) -> None:
        """Leave a notice for the page with this path."""
        self.new_cookies[NOTICE_COOKIE] = f"{code}:{quote(unquote(path), safe='')}"

    def begin_session(self, text: str) -> None:
        """Give the browser the cookie of a new session; forms of its former pages no longer work."""
        self.new_cookies |= {SESSION: text, VISITOR_COOKIE: None}

    def forget_session(self) -> None:
        """Take the cookies of a person from the browser."""
        self.new_cookies |= {SESSION: None, INVITATION_COOKIE: None}

    @property
    def path(self) -> str:
        """The path and query of this page, as a link."""
        query = self.request.url.query
        return quote(self.request.url.path) + (f"?{query}" if query else "")

    @property
    def log_in_path(self) -> str:
        """The path of the log-in page, which leads back to this one, or on to where this one leads after a log-in."""
        return self._entrance("/log-in")

    @property
    def sign_up_path(self) -> str:
        """The same for the page that makes an account."""
        return self._entrance("/sign-up")

    def _entrance(self, path: str) -> str:
        is_entrance = self.request.url.path in {"/log-in", "/sign-up"}
        back = self.request.query_params.get("next") if is_entrance else self.path
        return path if back in {None, "/"} else f"{path}?next={quote(str(back))}"

    def require_own_form(self, token: str | None) -> None:
        """Refuse a form of another site or another session; raises ForeignForm, FormExpired."""
        require_same_origin(self.request, self.site)
        cookie = self.session_text or self.request.cookies.get(self.site.cookie_name(VISITOR_COOKIE))
        if cookie is None or not is_csrf_token(token or "", cookie):
            raise FormExpired

    def set_cookies(self, response: Response) -> Response:
        """Add the new cookies to a reply."""
        for name, value in self.new_cookies.items():
            response.set_cookie(
                self.site.cookie_name(name),
                value or "",
                max_age=0 if value is None else COOKIE_SECONDS.get(name),
                secure=self.site.is_secure,
                httponly=True,
                samesite="lax",
            )
        return response


def require_same_origin(request: Request, site: Site) -> None:
    """Refuse a request that a page of another origin sent; raises ForeignForm.

    All present browsers send Origin with a form. Without it the token alone decides.
    """
    origin = request.headers.get("origin")
    if origin is not None and origin.lower() != site.origin:
        detail = f"This form came from the address {origin[:200]}, but the service has the address {site.origin}."
        raise ForeignForm(detail)
    if request.headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        raise ForeignForm


def page_context(request: Request) -> PageContext:
    """The context of a page; a session that has ended or expired makes the caller a visitor. Raises TooManyRequests.

    The request keeps it, so that its error page counts no second request.
    """
    state = app_state(request)
    site = site_of(request, state.settings)
    text = request.cookies.get(site.cookie_name(SESSION))
    caller = _session_caller(state, text) if text is not None and SESSION_PATTERN.fullmatch(text) else VISITOR
    if caller.user_id is None:
        state.request_limits.count_request("address", client_address_block(request))
    else:
        request.scope[PERSONAL_KEY] = True  # Files are sent by functions of the API, which know no cookies.
        state.request_limits.count_request("user", caller.user_id)
    live = text if caller.user_id is not None else None
    context = request.state.page = PageContext(request, state, site, caller, live)
    return context


def _session_caller(state: AppState, text: str) -> Caller:
    try:
        with state.db.read_one() as session:
            return authenticate_session(session, text)
    except errors.Unauthorized:
        return VISITOR


PageDep = Annotated[PageContext, Depends(page_context)]


def for_this_reader(reply: Response) -> Response:
    """A reply of the API, such as a file, as one that depends on the session. ReplyMiddleware says who may keep it."""
    reply.headers.add_vary_header("Cookie")
    return reply


async def page_form(request: Request, page: PageDep) -> Form:
    """The fields of a form, which belongs to this session; raises ForeignForm, FormExpired and what limits raise."""
    body = await JsonBodyRequest(request.scope, request.receive).body()
    form = parse_form(body)
    page.require_own_form(form.value(CSRF_FIELD) or request.headers.get(CSRF_HEADER))
    return form


FormDep = Annotated[Form, Depends(page_form)]


def local_path(text: str | None, default: str = "/") -> str:
    """The path to go on to after a form, if it is one of this site; otherwise the default: no redirect leads away."""
    if not text or not text.startswith("/") or text.startswith(("//", "/\\")):
        return default
    if any(ord(char) <= 32 or char == "\\" for char in text):
        return default
    address = urlsplit(text)
    return default if address.scheme or address.netloc else text


def redirect(page: PageContext, path: str, *, done: Notice | None = None) -> Response:
    """Go on to another page after a form was handled; `done` is a notice that it shows once."""
    if done is not None:
        page.leave_notice(done, urlsplit(path).path)
    return page.set_cookies(RedirectResponse(path, status_code=303))
