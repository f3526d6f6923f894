"""Pages of boards for visitors: built once for all readers, kept beside the boards, and sent without a route."""

import time
from collections.abc import Callable, Sequence
from urllib.parse import parse_qsl, unquote

from starlette.requests import Request
from starlette.types import Scope

from app.actions.access import VISITOR
from app.actions.submissions.follow_board import challenge_tags
from app.actions.submissions.read_leaderboard import VISITOR_AUDIENCE
from app.api.caching.board_cache import BoardPageKey
from app.api.caching.cached_board_app import BoardRequest, join_header
from app.api.caching.cached_reply import CachedReply, HeaderPair
from app.api.dependencies import AppState
from app.api.http.middleware import SECURITY_HEADERS
from app.api.leaderboards import build_board
from app.api.live.board_changes import link_scores
from app.settings import Settings
from app.web.board_page import board_key, read_place, render_board
from app.web.board_query import BoardQuery
from app.web.page import SESSION, PageContext
from app.web.rendering import CONTENT_SECURITY_POLICY
from app.web.site import Site, site_of

ROUTES = {"page": "/challenges/{slug}/leaderboard", "embed": "/challenges/{slug}/leaderboard/embed"}
ANCESTORS = {"page": "'none'", "embed": "*"}
PREFIX = b"/challenges/"
MAX_QUERY_BYTES = 500
KEPT_PARAMETERS = frozenset({"phase", "metric", "cursor"})
MEDIA_TYPE = "text/html; charset=utf-8"


def page_headers(form: str) -> list[tuple[str, str]]:
    """The headers of a page that is the same for all visitors."""
    return [
        *((name, value) for name, value in SECURITY_HEADERS if name != "Referrer-Policy"),
        ("Referrer-Policy", "same-origin"),
        ("Content-Security-Policy", CONTENT_SECURITY_POLICY + ANCESTORS[form]),
        ("Cache-Control", "no-cache"),
    ]


def _encoded(form: str) -> Sequence[HeaderPair]:
    vary = [] if form == "embed" else [(b"vary", b"Cookie")]
    return [*((name.lower().encode(), value.encode()) for name, value in page_headers(form)), *vary]


_HEADERS = {form: _encoded(form) for form in ROUTES}


def parse_page_request(scope: Scope, settings: Settings) -> BoardRequest | None:
    """The kept page that a visitor requests; None for all other requests, which go to their route."""
    path: str = scope["path"]
    if "/leaderboard" not in path or scope["method"] not in {"GET", "HEAD"}:
        return None
    segments = path.split("/")
    form = {4: "page", 5: "embed"}.get(len(segments))
    if form is None or segments[:2] != ["", "challenges"] or not segments[2] or "\0" in path:
        return None
    if segments[3:] != ["leaderboard", "embed"][: len(segments) - 3]:
        return None
    asked = _parse_query(scope["query_string"])
    found = _parse_headers(scope, reads_cookies=form == "page")
    site = None if asked is None or found is None else site_of(Request(scope), settings)
    if asked is None or found is None or site is None or not site.is_certain:
        return None
    return BoardRequest(page_key(segments[2], asked, site, form), found[0], found[1], _HEADERS[form], ROUTES[form])


def _parse_query(query: bytes) -> BoardQuery | None:
    if len(query) > MAX_QUERY_BYTES or b"%00" in query:
        return None
    pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    given = dict(pairs)
    if len(given) != len(pairs) or not given.keys() <= KEPT_PARAMETERS or not all(given.values()):
        return None
    return BoardQuery(given.get("phase"), given.get("metric"), cursor=given.get("cursor"))


def _parse_headers(scope: Scope, *, reads_cookies: bool) -> tuple[str, str | None] | None:
    """Accept-Encoding and If-None-Match; None if the request may be that of an account."""
    encodings = tags = None
    for name, value in scope["headers"]:
        if name == b"cookie" and reads_cookies and f"assay_{SESSION}".encode() in value:
            return None
        if name == b"accept-encoding":
            encodings = join_header(encodings, value)
        elif name == b"if-none-match":
            tags = join_header(tags, value)
    return encodings or "", tags


def page_key(slug: str, asked: BoardQuery, site: Site, form: str) -> BoardPageKey:
    """The key of a kept page."""
    return BoardPageKey(board_key(slug, VISITOR_AUDIENCE, asked), form, site.origin)


def _plain_request(request: Request, slug: str, asked: BoardQuery, form: str) -> Request:
    """The request for a kept page with what its key has, and nothing else that one reader sent and others would see."""
    path, _, query = asked.address(slug, "/embed" if form == "embed" else "").partition("?")
    plain = {"path": unquote(path), "raw_path": path.encode(), "query_string": query.encode(), "headers": []}
    return Request({**request.scope, **plain})


def page_render(
    request: Request, state: AppState, site: Site, slug: str, asked: BoardQuery, form: str
) -> Callable[[], CachedReply]:
    """The function that builds a visitor's page, which is kept until a board or a phase changes.

    It raises what no page explains, such as NotFound.
    """
    page = PageContext(_plain_request(request, slug, asked, form), state, site, VISITOR, None)
    is_kept = site.is_certain  # Anybody can make up the name of a host.

    def build() -> CachedReply:
        read_since, began = state.changes.number, time.monotonic()
        with state.db.read() as session:
            place = read_place(page, session, slug, asked, read_since=read_since)
            tags = challenge_tags(session, place.frame.challenge.slug)
        board = build_board(state.db, board_key(slug, VISITOR_AUDIENCE, asked._replace(phase=place.phase.slug)))
        link_scores(state.changes, board.marks)
        html = render_board(page, place, asked, board, form)
        return CachedReply.build(
            html.encode(),
            MEDIA_TYPE,
            marks=board.marks | tags,
            expires_at=min(board.expires_at, began + (place.followed.seconds if is_kept else 0.0)),
        )

    return state.board_times.measured(page_key(slug, asked, site, form), build)
