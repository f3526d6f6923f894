"""The page 'Is the order real?': what the data say about the order of a board, and its data for accounts."""

from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple
from urllib.parse import quote, urlencode

from fastapi import Query
from pydantic_core import from_json
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from app.api.caching.cached_reply import CachedReply
from app.api.comparisons import SideBySide, Significance, get_rankings, get_significance
from app.errors import Forbidden
from app.web.board_page import REFUSALS, BoardPlace, metric_choices, phase_choices, split_choices
from app.web.board_query import BoardQuery, BoardQueryDep, Split
from app.web.leaderboard import find_board, read_board
from app.web.order_view import order_view
from app.web.page import PageContext, PageDep, for_this_reader, page_router
from app.web.rankings_view import rankings_view
from app.web.rendering import render

router = page_router()
BELOW = "/order"


class Answer(NamedTuple):
    """What the API says about an order, or why it says nothing."""

    payload: dict[str, Any] | None
    refusal: str | None


@router.get("/challenges/{slug}/leaderboard/order")
async def show_order(slug: str, page: PageDep, asked: BoardQueryDep) -> Response:
    """How sure the order of a board is: rank sets, significant differences, and the rankings by other metrics."""
    plain = BoardQuery(asked.phase, asked.metric, asked.split)
    place, key, reader = await run_in_threadpool(find_board, page, slug, plain)
    reply = await read_board(page, key, reader)
    return await run_in_threadpool(_order_page, page, place, plain, reply)


def _order_page(page: PageContext, place: BoardPlace, asked: BoardQuery, reply: CachedReply) -> Response:
    if reply.refusal is not None and not isinstance(reply.refusal, REFUSALS):
        raise reply.refusal
    slug, phase = place.frame.challenge.slug, place.phase.slug
    board = None if reply.refusal is not None else from_json(reply.plain.body)
    significance = rankings = Answer(None, None)
    if board is not None:
        significance = _answer(
            lambda: get_significance(slug, phase, page.caller, page.state, asked.metric, asked.split)
        )
        rankings = _answer(lambda: get_rankings(slug, phase, page.caller, page.state, asked.split))
    here = asked._replace(phase=phase)
    return render(
        page,
        "order.html",
        frame=place.frame,
        tab="leaderboard",
        phase=place.phase,
        board=board,
        refusal=reply.refusal,
        significance=significance,
        said=significance.payload,
        order=None if significance.payload is None or board is None else order_view(significance.payload, board),
        rankings=rankings,
        side_by_side=None if rankings.payload is None else rankings_view(rankings.payload),
        links={
            "own": here.address(slug, BELOW),
            "board": here.address(slug),
            "phases": phase_choices(place, BELOW),
            "metrics": metric_choices(slug, here, board, BELOW),
            "splits": split_choices(slug, here, board, BELOW, is_organizer=place.frame.role is not None),
            "significance": _data_address(page, place, here, "significance"),
            "rankings": _data_address(page, place, here, "rankings"),
            "stream": f"{BoardQuery(phase).address(slug, '/changes')}&{urlencode({'seen': place.seen})}",
        },
    )


def _answer(read: Callable[[], Significance | SideBySide]) -> Answer:
    """What the API says, or its refusal to show this reader a report that the phase does not have."""
    try:
        return Answer(read().model_dump(), None)
    except Forbidden as refusal:
        return Answer(None, refusal.detail)


def _data_address(page: PageContext, place: BoardPlace, asked: BoardQuery, part: str) -> str:
    """The same as JSON: from the API, or for an account through the pages, as the API takes tokens alone."""
    given = {name: value for name, value in (("metric", asked.metric), ("split", asked.split)) if value is not None}
    if part == "rankings":
        given.pop("metric", None)
    slug, phase = quote(place.frame.challenge.slug, safe=""), quote(place.phase.slug, safe="")
    if not page.is_logged_in:
        path = f"/api/v1/challenges/{slug}/phases/{phase}/leaderboard/{part}"
        return f"{path}?{urlencode(given)}" if given else path
    return f"/challenges/{slug}/leaderboard/order/data?{urlencode({'phase': place.phase.slug, 'part': part} | given)}"


@router.get("/challenges/{slug}/leaderboard/order/data")
def get_order_data(
    slug: str,
    page: PageDep,
    phase: Annotated[str, Query(max_length=200)],
    part: Literal["significance", "rankings"] = "significance",
    metric: Annotated[str | None, Query(max_length=200)] = None,
    split: Split | None = None,
) -> Response:
    """The same in the form of the API, for an account by its session."""
    found: Significance | SideBySide
    if part == "significance":
        found = get_significance(slug, phase, page.caller, page.state, metric, split)
    else:
        found = get_rankings(slug, phase, page.caller, page.state, split)
    return for_this_reader(Response(found.model_dump_json(), media_type="application/json"))
