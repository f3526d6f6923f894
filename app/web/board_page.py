"""The page of a leaderboard as HTML: where it stands, what its reader may see, and the table or the reason for none."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from pydantic_core import from_json

from app import errors
from app.actions.submissions.follow_board import FollowedBoard, board_phase
from app.actions.versions.read_errata import last_correction
from app.api.caching.board_cache import BoardKey
from app.api.caching.cached_reply import CachedReply
from app.api.live.board_changes import follow
from app.api.phases import PhaseShape
from app.store.session import ReadSession
from app.web.board_query import PAGE_ROWS, BoardQuery
from app.web.board_search import Board, SearchableBoard
from app.web.board_table import BoardTable, make_table
from app.web.challenge_frame import ChallengeFrame, read_frame
from app.web.page import PageContext
from app.web.rendering import render_text

REFUSALS = (errors.LeaderboardHidden, errors.NoGold)  # which the page explains
FORMS = {"page": "leaderboard.html", "embed": "leaderboard_embed.html"}


@dataclass(frozen=True, slots=True)
class BoardPlace:
    """The challenge and the phase of a board, and what its reader follows."""

    frame: ChallengeFrame
    phase: PhaseShape
    followed: FollowedBoard
    seen: str
    """The id of the newest change that the page shows; the stream tells of later ones."""
    corrected_at: datetime | None
    """When the board last switched to other versions."""


def read_place(
    page: PageContext, session: ReadSession, slug: str, asked: BoardQuery, *, read_since: int | None
) -> BoardPlace:
    """Where the board of a request stands; raises NotFound, Renamed. `read_since`: see `ChangeHub.seen_id`."""
    frame = read_frame(page, session, slug)
    hub, phase = page.state.changes, asked.phase or board_phase(session, page.caller, slug)
    board, _ = follow(session, hub, page.caller, slug, phase)
    shape = next(each for each in frame.challenge.phases if each.slug == board.phase_slug)
    seen = hub.seen_id(board.tags, board.state, read_since=read_since)
    return BoardPlace(frame, shape, board, seen, last_correction(session, page.caller, slug, board.phase_slug))


def board_key(slug: str, view: str, asked: BoardQuery) -> BoardKey:
    """The board of the API that a page shows: a page of it, or all rows to search or to sort them."""
    limit, cursor = (PAGE_ROWS, asked.cursor) if asked.is_plain else (None, None)
    return BoardKey(slug, asked.phase or "", view, asked.split, asked.metric, "json", limit, cursor, asked.board)


def render_board(
    page: PageContext,
    place: BoardPlace,
    asked: BoardQuery,
    reply: CachedReply,
    form: str = "page",
    searched: SearchableBoard | None = None,
) -> str:
    """The HTML of a page, made from what the API replies to the same reader. Raises refusals that no page explains.

    `searched` is the same board, if its rows are searched or sorted.
    """
    if reply.refusal is not None and not isinstance(reply.refusal, REFUSALS):
        raise reply.refusal
    board = None
    if reply.refusal is None:
        board = from_json(reply.plain.body) if searched is None else searched.head
    return render_text(
        page,
        FORMS[form],
        frame=place.frame,
        tab="leaderboard",
        place=place,
        phase=place.phase,
        asked=asked,
        table=None if board is None else _table(place, asked, board, searched),
        as_of=None if board is None else datetime.fromisoformat(board["as_of"]),
        refusal=reply.refusal,
        links=_links(page, place, asked, board),
        page_rows=PAGE_ROWS,
    )


def _table(place: BoardPlace, asked: BoardQuery, board: Board, searched: SearchableBoard | None) -> BoardTable:
    own = place.frame.team_id if place.frame.is_member else None

    def may_read(row: dict[str, Any]) -> bool:
        return place.frame.role is not None or (own is not None and row["team"]["id"] == own)

    slug = place.frame.challenge.slug
    has_counts = place.frame.role is not None or ("scores" in place.phase.reports and not board["ladder"])
    return make_table(board, slug, asked, may_read=may_read, own_team=own, searched=searched, has_counts=has_counts)


class Choice(NamedTuple):
    """A link to another board, and whether it is the one that is shown."""

    label: str
    address: str
    is_shown: bool = False
    file_name: str | None = None


@dataclass(frozen=True, slots=True)
class BoardLinks:
    """The addresses that a page of a board names."""

    own: str
    without_search: str
    first: str
    phases: list[Choice]
    metrics: list[Choice]
    splits: list[Choice]
    forms: list[Choice]
    stream: str
    canonical: str | None
    """The address for others, of boards that visitors may see."""
    embed: str | None
    order: str | None
    """The page that says how sure the order is, of the present board."""
    present: str
    history: str
    frozen: str


def _links(page: PageContext, place: BoardPlace, asked: BoardQuery, board: Board | None) -> BoardLinks:
    slug, phase = place.frame.challenge.slug, place.phase.slug
    stream = BoardQuery(phase).address(slug, "/changes")
    public = f"{page.site.origin}{BoardQuery(phase).address(slug)}"
    is_present = asked.board.is_present
    is_shared = place.followed.is_public and board is not None and page.site.is_certain and is_present
    return BoardLinks(
        own=asked.address(slug),
        without_search=asked.changed(search=None).address(slug),
        first=asked.changed().address(slug),
        phases=phase_choices(place),
        metrics=metric_choices(slug, asked, board),
        splits=split_choices(slug, asked, board, is_organizer=place.frame.role is not None),
        forms=[
            Choice(name, _data_address(page, place, asked, name.lower()), False) for name in ("JSON", "CSV", "LaTeX")
        ],
        stream=f"{stream}&{urlencode({'seen': place.seen})}",
        canonical=public if is_shared else None,
        embed=f"{page.site.origin}{BoardQuery(phase).address(slug, '/embed')}" if is_shared else None,
        order=BoardQuery(phase, asked.metric, asked.split).address(slug, "/order") if is_present else None,
        present=asked.present.address(slug),
        history=BoardQuery(phase, split=asked.split).address(slug, "/history"),
        frozen=f"/challenges/{quote(slug, safe='')}/phases/{quote(phase, safe='')}/frozen-boards",
    )


def phase_choices(place: BoardPlace, below: str = "") -> list[Choice]:
    """The phases of the challenge; `below` names a page below that of the board, here and in the other choices."""
    slug = place.frame.challenge.slug
    return [
        Choice(each.name, BoardQuery(each.slug).address(slug, below), each.slug == place.phase.slug)
        for each in place.frame.challenge.phases
    ]


def metric_choices(slug: str, asked: BoardQuery, board: Board | None, below: str = "") -> list[Choice]:
    """The metrics to rank by, if there are several."""
    metrics = [] if board is None or len(board["metrics"]) < 2 else board["metrics"]
    return [
        Choice(
            metric["name"],
            asked.changed(metric=metric["key"], sort=None, order=None).address(slug, below),
            board is not None and metric["key"] == board["primary"],
        )
        for metric in metrics
    ]


def split_choices(
    slug: str, asked: BoardQuery, board: Board | None, below: str = "", *, is_organizer: bool
) -> list[Choice]:
    """The splits, for organizers of a phase that has some."""
    if board is None or not is_organizer or (board["split"] == "all" and asked.split is None):
        return []
    return [
        Choice(split, asked.changed(split=split).address(slug, below), split == board["split"])
        for split in ("public", "private", "all")
    ]


def _data_address(page: PageContext, place: BoardPlace, asked: BoardQuery, form: str) -> str:
    """The board in another form: from the API, or for an account through the pages, as the API takes tokens alone."""
    given = {"format": form} | {
        name: value
        for name in ("metric", "split", "as_of", "gold_version", "recipe_version")
        if (value := getattr(asked, name)) is not None
    }
    if asked.board.at is not None:
        given["as_of"] = asked.board.at.isoformat()
    slug, phase = quote(place.frame.challenge.slug, safe=""), quote(place.phase.slug, safe="")
    if not page.is_logged_in:
        return f"/api/v1/challenges/{slug}/phases/{phase}/leaderboard?{urlencode(given)}"
    return f"/challenges/{slug}/leaderboard/data?{urlencode({'phase': place.phase.slug} | given)}"
