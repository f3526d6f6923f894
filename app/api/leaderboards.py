"""Leaderboards as JSON, CSV and LaTeX, built from the rows or read from the cache."""

import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import Annotated, Any, Literal

from fastapi import Depends, Query, Request, Response
from pydantic import Field
from pydantic_core import to_json
from starlette.concurrency import run_in_threadpool

from app import errors
from app.actions.access import Caller
from app.actions.history.asked_time import read_time
from app.actions.history.former_board import AskedBoard
from app.actions.submissions.read_leaderboard import (
    MAX_PAGE_ROWS,
    ROWS_AT_ONCE,
    BoardPage,
    BoardRows,
    CacheableBoard,
    board_audience,
    build_cacheable_board,
    recently_finished,
    wait_for_admitted_submissions,
)
from app.api.board_tables import csv_pieces, latex_pieces
from app.api.caching.board_cache import ALL_TEAMS, BoardFormat, BoardKey, Render
from app.api.caching.cached_reply import CachedReply
from app.api.dependencies import AppState, AppStateDep, CallerDep, Cursor
from app.api.field_types import Moment, Shape, reply_example
from app.api.http.json_body import api_router
from app.api.http.problem_documents import TOKEN_OPTIONAL, error_responses, success_response
from app.api.ladder_fields import LadderShape
from app.api.limits.former_boards import FormerBoardsBusy
from app.api.live.board_changes import link_scores
from app.api.marks import MARK_DESCRIPTION, Mark
from app.api.openapi import examples
from app.api.openapi.examples import named_examples
from app.api.selection_rule import SelectionRule
from app.store.session import Database, ReadSession

router = api_router("leaderboards")

MAX_CACHED_TABLE_ROWS = 20_000  # about 2 MB; larger ones are sent while their rows are read


def _former_time(
    as_of: Annotated[
        str | None,
        Query(
            max_length=64,
            description="The board as it was at this past time (RFC 3339), by the versions that were in force then.",
            json_schema_extra={"format": "date-time"},
        ),
    ] = None,
) -> datetime | None:
    return None if as_of is None else read_time(as_of)


AsOf = Annotated[datetime | None, Depends(_former_time)]
_GoldVersion = Annotated[
    int | None, Query(ge=1, description="Compute the board by this gold version, which was in force once.")
]
_RecipeVersion = Annotated[
    int | None, Query(ge=1, description="Compute the board by this recipe version, which was in force once.")
]
MEDIA_TYPES: dict[BoardFormat, str] = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "latex": "application/x-latex; charset=utf-8",
}


UNKNOWN_SET = "Null while pending, without a rank, and where the phase does not show it (see `significance`)."


class RowTeam(Shape):
    """The team of an entry. Anonymous phases hide its id."""

    id: str | None
    name: str


class BoardRow(Shape):
    """The entry that counts for a team, its best entry with a mark, or a baseline."""

    rank: int | None = Field(
        description="Equal values share a rank (1, 1, 3). Null for baselines, marked rows and null values."
    )
    rank_low: int | None = Field(description=f"1 and the number of rows that are significantly better. {UNKNOWN_SET}")
    rank_high: int | None = Field(
        description=f"The number of ranked rows without those that are significantly worse. {UNKNOWN_SET}"
    )
    tie_group: int | None = Field(
        description="Groups rows for reading: from a leader downwards until the first row that differs from it. Members "
        f"may differ from each other. {UNKNOWN_SET}"
    )
    tied: int | None = Field(description="How many rows share this rank. Null without a rank.")
    public_rank: int | None = Field(
        description="After the final release: the rank of the team on the public split. Null before."
    )
    team: RowTeam
    submission: str | None
    method: str
    submitted_at: Moment
    entries: int = Field(
        description="How many finished submissions the team has in this phase, withdrawn, disqualified and unofficial "
        "ones included."
    )
    baseline: bool
    mark: Mark | None = Field(description=MARK_DESCRIPTION)
    on_behalf: bool = Field(description="Whether an organizer sent it on behalf of the team.")
    scores: dict[str, dict[str, Any]] = Field(
        description="By metric: `value`, and where the phase shows intervals, `low` and `high`, null until computed.",
        examples=[{"f1_macro": {"value": 0.731059, "low": 0.702114, "high": 0.758822}}],
    )


class SignificanceState(Shape):
    """Whether the rank sets of the rows are those of the ranked rows of the board."""

    status: Literal["none", "pending", "current"]
    reason: str | None = Field(description="Why they are not current, in one sentence.")
    computed_at: Moment | None


class FormerBoard(Shape):
    """Which board was asked for, if it is not the present one."""

    at: Moment | None = Field(description="The time of its submissions, withdrawals, disqualifications and selections.")
    in_force_since: Moment
    in_force_until: Moment | None = Field(description="Null if its versions are in force now.")
    meaning: str


class Board(Shape):
    """A leaderboard, best first."""

    model_config = reply_example(examples.BOARD)

    challenge: str
    phase: str
    split: str
    primary: str
    direction: str
    selection: SelectionRule
    gold_version: int
    recipe_version: int
    scorer_version: int
    draw_seed: str = Field(description="The public seed of all resampling with this gold; it is never drawn again.")
    significance: SignificanceState
    as_of: Moment = Field(description="The time of the newest submission, gold or recipe that the board shows.")
    unscored: int = Field(
        0, description="How many finished submissions it lacks, as they have no scores by its versions."
    )
    former: FormerBoard | None = Field(None, description="For `as_of` and named versions; null for the present board.")
    metrics: list[dict[str, Any]]
    ladder: LadderShape | None = Field(
        None, description="While a Ladder limits feedback: its outputs are shown instead of scores. Null otherwise."
    )
    total: int = Field(description="How many rows the whole board has.")
    next: str | None = Field(description="The cursor of the next page; null at the end, and without `limit`.")
    rows: list[BoardRow]


def _json_pieces(board: dict[str, Any]) -> Iterator[bytes]:
    """The board as JSON; its rows, the last member, are encoded a few at a time.

    The rows are built with exactly the members of `BoardRow`, so they need no validation, which would take longest.
    """
    head = Board.model_validate(board | {"rows": []}).model_dump_json().encode()
    yield head.removesuffix(b"]}")
    rows, comma = iter(board["rows"]), b""
    while some := list(islice(rows, ROWS_AT_ONCE)):
        yield comma + to_json(some, inf_nan_mode="null")[1:-1]
        comma = b","
    yield b"]}"


def encode_board(board: dict[str, Any], form: BoardFormat) -> bytes:
    """The board in the requested format; takes its rows a few at a time."""
    return b"".join(_PIECES[form](board))


_PIECES: dict[BoardFormat, Callable[[dict[str, Any]], Iterator[bytes]]] = {
    "json": _json_pieces,
    "csv": csv_pieces,
    "latex": latex_pieces,
}


_EXAMPLE_BOARD = Board.model_validate(examples.BOARD).model_dump()
_BOARD_RESPONSE = success_response(
    "The board, best first.",
    {
        "text/csv": named_examples(board=encode_board(_EXAMPLE_BOARD, "csv").decode()),
        "application/x-latex": named_examples(board=encode_board(_EXAMPLE_BOARD, "latex").decode()),
    },
)
_BOARD_RESPONSE[200]["headers"] = {
    "Assay-Stale-Since": {
        "description": "Only while the database is away: since when changes of the board may be missing, at most 60 s.",
        "schema": {"type": "string", "format": "date-time"},
    }
}


def board_render(state: AppState, key: BoardKey) -> Render:
    """The function that builds a board for the cache; it is measured, and tells the hub which scores the board shows."""

    def build() -> CachedReply:
        with nullcontext() if key.asked.is_present else state.former_boards.turn():
            reply = build_board(state.db, key)
        link_scores(state.changes, reply.marks)
        return reply

    return state.board_times.measured(key, build)


def _read_board(session: ReadSession, key: BoardKey) -> tuple[CacheableBoard, bytes]:
    """The board and its encoded body, which is empty if the board is refused or streamed."""
    page = BoardPage.parse(key.limit, key.cursor)
    result = build_cacheable_board(
        session, key.view, key.slug, key.phase, split=key.split, metric=key.metric, page=page, asked=key.asked
    )
    if result.board is None or result.rows is None or _is_streamed(key, result.rows):
        return result, b""
    return result, encode_board(result.board | {"rows": result.rows.load(lambda: nullcontext(session))}, key.form)


def _is_streamed(key: BoardKey, rows: BoardRows) -> bool:
    return key.form != "json" and len(rows.shown) > MAX_CACHED_TABLE_ROWS


def build_board(db: Database, key: BoardKey) -> CachedReply:
    """Build a board from the rows. Raises the errors that are not cached: NotFound, BadRequest, DatabaseUnavailable."""
    began = time.monotonic()
    with db.read() as session:
        result, body = _read_board(session, key)
    if result.may_be_incomplete:
        with db.write(durable=False) as session:
            wait_for_admitted_submissions(session, key.slug)
        with db.read() as session:
            result, body = _read_board(session, key)
    if result.board is not None and result.rows is not None and _is_streamed(key, result.rows):
        return _streamed_reply(db, key.form, result.board, result.rows)
    return CachedReply.build(
        body,
        MEDIA_TYPES[key.form],
        refusal=result.refusal,
        marks=result.marks,
        expires_at=began + result.seconds if _is_cacheable(key, result.board) else began,
    )


def _streamed_reply(db: Database, form: BoardFormat, board: dict[str, Any], rows: BoardRows) -> CachedReply:
    """A large board as CSV or LaTeX, not cached. A client that reads slowly occupies no session between the pieces."""

    def pieces() -> Iterator[bytes]:
        return _PIECES[form](board | {"rows": rows.load(db.read)})

    reply = CachedReply.build(b"", MEDIA_TYPES[form], marks=frozenset(), expires_at=0.0)
    return replace(reply, stream=pieces)


def _is_cacheable(key: BoardKey, board: dict[str, Any] | None) -> bool:
    """Whether a reply may be cached.

    Only boards by the primary metric, none of a former time, and of pages those that a reader meets from the first one
    on, so that arbitrary metric strings, times and cursors cannot fill the cache.
    """
    if key.asked.at is not None:
        return False
    if board is None:
        return key.metric is None and key.cursor is None
    page = BoardPage.parse(key.limit, key.cursor)
    is_met = page is None or (page.start % page.limit == 0 and page.start <= board["total"])
    return is_met and key.metric in {None, board["primary"]}


def identify_reader(state: AppState, caller: Caller, slug: str, phase: str) -> tuple[str, str | None]:
    """The audience of the caller, and whose scores the board must contain (as in `BoardCache.get`).

    A team may know from another process, or by polling, that its submission is finished, before this process
    was notified. So this reads what the team has finished a short time ago.
    """
    with state.db.read() as session:
        audience = board_audience(session, caller, slug, phase)
        if audience.organizer:
            return audience.view, ALL_TEAMS
        finished = recently_finished(session, audience)
    if audience.own_team is not None:
        state.board_cache.note_settled(audience.phase.id, audience.own_team, finished)
    return audience.view, audience.own_team


@router.get(
    "/challenges/{slug}/phases/{phase}/leaderboard",
    summary="Read a leaderboard",
    response_model=Board,
    responses=_BOARD_RESPONSE
    | error_responses(
        errors.BadCursor,
        errors.InsufficientScope,
        errors.LeaderboardHidden,
        errors.SplitHidden,
        errors.NotFound,
        errors.NoGold,
        errors.NoSuchBoard,
        errors.TooMuchHistory,
        FormerBoardsBusy,
    ),
    openapi_extra=TOKEN_OPTIONAL,
)
async def get_leaderboard(
    request: Request,
    slug: str,
    phase: str,
    caller: CallerDep,
    state: AppStateDep,
    metric: Annotated[
        str | None, Query(description="Rank by this metric of the recipe instead of the primary one.")
    ] = None,
    split: Annotated[
        Literal["all", "public", "private"] | None, Query(description="The split to show. Requires an organizer.")
    ] = None,
    board_format: Annotated[
        BoardFormat,
        Query(
            alias="format",
            description="`csv` has one line per row and one column per metric; `latex` is a table for a paper.",
        ),
    ] = "json",
    limit: Annotated[
        int | None, Query(ge=1, le=MAX_PAGE_ROWS, description="Rows per page; without it, the reply has all rows.")
    ] = None,
    cursor: Cursor = None,
    as_of: AsOf = None,
    gold_version: _GoldVersion = None,
    recipe_version: _RecipeVersion = None,
) -> Response:
    """Returns the ranking of a phase. Ranks use full precision; values are shown with the digits that the recipe sets.

    Intervals and rank sets follow after the scores; `significance` says whether the rank sets are those of these rows.

    New scores show at once to their team and to organizers, to others within a second. With `limit` the reply is a
    page. Its ranks, ties and `total` are those of the whole board. A cursor names a position: if the board changes
    between two requests, a row that has moved can appear on both pages or on neither. As CSV or LaTeX, which have no
    `next`, the cursor is the number of rows read so far. The reply is compressed with gzip if the client accepts that.
    CSV or LaTeX of more than 20,000 rows is sent while the rows are read, so it has no ETag.

    `as_of` names a former time: the submissions accepted by then, and what was withdrawn, disqualified and selected
    then. Teams have their present names and members. Before the final release such a board shows the public split.
    With `gold_version` or `recipe_version` alone the other one is what was in force with it last. The Board says in
    `former` which board it is, and in `unscored` how many submissions lack scores by these versions.
    """
    asked = AskedBoard(as_of, gold_version, recipe_version)
    view, reader = await run_in_threadpool(identify_reader, state, caller, slug, phase)
    key = BoardKey(slug, phase, view, split, metric, board_format, limit, cursor, asked)
    render = board_render(state, key)
    entry = await state.board_cache.get_or_build(key, render, reader)
    return entry.response(",".join(request.headers.getlist("accept-encoding")))
