"""The page of a leaderboard, its form for other sites, its data for accounts, and the stream of its changes."""

from typing import Annotated, Any

from fastapi import Header, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from app.actions.access import VISITOR
from app.api.caching.board_cache import BoardFormat, BoardKey
from app.api.caching.cached_board_app import mark_stale, read_kept_board
from app.api.caching.cached_reply import CachedReply
from app.api.dependencies import app_state
from app.api.leaderboards import AsOf, board_render, get_leaderboard, identify_reader
from app.api.limits.client_addresses import client_address_block
from app.api.live.board_changes import follow
from app.api.live.change_stream import ChangeStream, Followed
from app.errors import AssayError
from app.web.board_page import BoardPlace, board_key, read_place, render_board
from app.web.board_query import PAGE_ROWS, BoardQuery, BoardQueryDep, Split
from app.web.board_search import SearchableBoard, SearchableBoards
from app.web.board_table import require_shown
from app.web.error_pages import error_page
from app.web.kept_boards import page_headers, page_key, page_render
from app.web.page import PageContext, PageDep, for_this_reader, page_router
from app.web.rendering import html_reply
from app.web.site import site_of

router = page_router()


@router.get("/challenges/{slug}/leaderboard")
async def show_leaderboard(slug: str, page: PageDep, asked: BoardQueryDep) -> Response:
    """The board of a phase. A visitor gets the page that is kept for all, unless rows are searched or sorted."""
    if not page.is_logged_in and asked.is_plain and asked.split is None and asked.board.is_present:
        return await _kept_page(page, slug, asked, "page")
    place, key, reader = await _find_shown_board(page, slug, asked)
    reply = await read_board(page, key, reader)
    searched = None
    if not asked.is_plain and reply.refusal is None:
        searched = await searchable_boards(page).get(reply)
    return await run_in_threadpool(_board_page, page, place, asked, reply, searched)


def searchable_boards(page: PageContext) -> SearchableBoards:
    """Those of this process."""
    boards: SearchableBoards = page.request.app.state.searchable_boards
    return boards


async def _find_shown_board(page: PageContext, slug: str, asked: BoardQuery) -> tuple[BoardPlace, BoardKey, str | None]:
    """The same as `find_board`, once its first page, which is kept, has told that it can show what is asked for."""
    place, key, reader = await run_in_threadpool(find_board, page, slug, asked)
    if not asked.is_plain or asked.cursor is not None:
        first = await read_board(page, key._replace(limit=PAGE_ROWS, cursor=None), reader)
        await run_in_threadpool(require_shown, first, asked)
    return place, key, reader


async def read_board(page: PageContext, key: BoardKey, reader: str | None) -> CachedReply:
    """The board from the cache; `reader`: see `BoardCache.get`."""
    return await page.state.board_cache.get_or_build(key, board_render(page.state, key), reader)


def find_board(page: PageContext, slug: str, asked: BoardQuery) -> tuple[BoardPlace, BoardKey, str | None]:
    """Where the board stands, its key for this reader, and whose scores it must contain (see `BoardCache.get`)."""
    with page.state.db.read() as session:
        place = read_place(page, session, slug, asked, read_since=None)
    view, reader = identify_reader(page.state, page.caller, slug, place.phase.slug)
    return place, board_key(slug, view, asked._replace(phase=place.phase.slug)), reader


def _board_page(
    page: PageContext, place: BoardPlace, asked: BoardQuery, reply: CachedReply, searched: SearchableBoard | None
) -> Response:
    return html_reply(page, render_board(page, place, asked, reply, searched=searched))


async def _kept_page(page: PageContext, slug: str, asked: BoardQuery, form: str) -> Response:
    if asked.cursor is not None:
        await _find_shown_board(page, slug, asked)
    key = page_key(slug, asked, page.site, form)
    render = page_render(page.request, page.state, page.site, slug, asked, form)
    entry, stale_since = await read_kept_board(page.state, key, render)
    response = entry.response(",".join(page.request.headers.getlist("accept-encoding")))
    response.headers.update(dict(page_headers(form)))
    if form == "page":
        response.headers.add_vary_header("Cookie")
    if stale_since is not None:
        mark_stale(response, stale_since)
    return response


@router.get("/challenges/{slug}/leaderboard/embed")
async def show_embedded_leaderboard(request: Request, slug: str, asked: BoardQueryDep) -> Response:
    """A board for a frame on another site: what visitors see. Cookies are ignored, so nothing of an account shows."""
    state = app_state(request)
    state.request_limits.count_request("address", client_address_block(request))
    page = PageContext(request, state, site_of(request, state.settings), VISITOR, None)
    plain = BoardQuery(asked.phase, asked.metric, cursor=asked.cursor)
    try:
        return await _kept_page(page, slug, plain, "embed")
    except AssayError as error:
        return error_page(request, error, page)


@router.get("/challenges/{slug}/leaderboard/data")
async def get_leaderboard_data(
    slug: str,
    page: PageDep,
    phase: Annotated[str, Query(max_length=200)],
    board_format: Annotated[BoardFormat, Query(alias="format")] = "json",
    metric: Annotated[str | None, Query(max_length=200)] = None,
    split: Split | None = None,
    as_of: AsOf = None,
    gold_version: Annotated[int | None, Query(ge=1)] = None,
    recipe_version: Annotated[int | None, Query(ge=1)] = None,
) -> Response:
    """The whole board in a form of the API, for an account by its session."""
    former: dict[str, Any] = {"as_of": as_of, "gold_version": gold_version, "recipe_version": recipe_version}
    asked = (metric, split, board_format)
    reply = await get_leaderboard(page.request, slug, phase, page.caller, page.state, *asked, **former)
    return for_this_reader(reply)


@router.get("/challenges/{slug}/leaderboard/changes")
async def follow_leaderboard(
    slug: str,
    page: PageDep,
    phase: Annotated[str, Query(max_length=200)],
    seen: Annotated[str | None, Query(max_length=100)] = None,
    last_event_id: Annotated[str | None, Header(alias="Last-Event-ID", max_length=100)] = None,
) -> Response:
    """The stream of a page: says that the board may have changed. Rights are checked once, when it opens."""
    followed = await run_in_threadpool(_followed, page, slug, phase)
    block = client_address_block(page.request)
    return ChangeStream(page.state.changes, followed, block=block, seen=last_event_id or seen)


def _followed(page: PageContext, slug: str, phase: str) -> Followed:
    with page.state.db.read() as session:
        return follow(session, page.state.changes, page.caller, slug, phase)[1]
