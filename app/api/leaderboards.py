"""Leaderboards as JSON and CSV, built from the rows or read from the cache."""

import csv
import io
import time
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import Query, Request, Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from app import errors
from app.actions.access import Caller
from app.actions.submissions.read_leaderboard import (
    CacheableBoard,
    board_audience,
    build_cacheable_board,
    recently_finished,
    wait_for_admitted_submissions,
)
from app.api.caching.board_cache import ALL_TEAMS, BoardFormat, BoardKey, CachedReply
from app.api.dependencies import AppState, AppStateDep, CallerDep
from app.api.field_types import Moment, Shape, reply_example
from app.api.http.json_body import api_router
from app.api.http.problem_documents import TOKEN_OPTIONAL, error_responses, success_response
from app.api.openapi import examples
from app.api.openapi.examples import named_examples
from app.store.session import Database
from app.store.types import format_timestamp
from app.text.spreadsheet_cells import escape_formula

router = api_router("leaderboards")

MEDIA_TYPES: dict[BoardFormat, str] = {"json": "application/json", "csv": "text/csv; charset=utf-8"}


class RowTeam(Shape):
    """The team of an entry. Anonymous phases hide its id."""

    id: str | None
    name: str


class BoardRow(Shape):
    """The entry that counts for a team, or a baseline."""

    rank: int | None = Field(description="Equal values share a rank (1, 1, 3). Null for baselines and null values.")
    rank_low: int | None
    rank_high: int | None
    tie_group: int | None
    team: RowTeam
    submission: str | None
    method: str
    submitted_at: Moment
    entries: int = Field(description="How many finished submissions the team has in this phase.")
    baseline: bool
    scores: dict[str, dict[str, Any]] = Field(examples=[{"f1_macro": {"value": 0.731059}}])


class Board(Shape):
    """A leaderboard, best first."""

    model_config = reply_example(examples.BOARD)

    challenge: str
    phase: str
    split: str
    primary: str
    direction: str
    gold_version: int
    recipe_version: int
    scorer_version: int
    as_of: Moment = Field(description="The time of the newest submission, gold or recipe that the board shows.")
    metrics: list[dict[str, Any]]
    rows: list[BoardRow]


def board_csv(board: dict[str, Any]) -> str:
    """The board as CSV: one line per row, one column per metric. An empty field is null."""
    names = [metric["key"] for metric in board["metrics"]]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["rank", "team", "method", "submission", "submitted_at", "entries", "baseline", *names])
    for row in board["rows"]:
        values = [row["scores"].get(name, {}).get("value") for name in names]
        fixed = [row["rank"], escape_formula(row["team"]["name"]), escape_formula(row["method"]), row["submission"]]
        rest = [format_timestamp(row["submitted_at"]), row["entries"], str(row["baseline"]).lower()]
        writer.writerow(["" if field is None else field for field in [*fixed, *rest, *values]])
    return out.getvalue()


_EXAMPLE_BOARD = Board.model_validate(examples.BOARD).model_dump()
_BOARD_RESPONSE = success_response(
    "The board, best first.", {"text/csv": named_examples(board=board_csv(_EXAMPLE_BOARD))}
)
_BOARD_RESPONSE[200]["headers"] = {
    "Assay-Stale-Since": {
        "description": "Only while the database is away: since when changes of the board may be missing, at most 60 s.",
        "schema": {"type": "string", "format": "date-time"},
    }
}


def encode_board(board: dict[str, Any], form: BoardFormat) -> bytes:
    """The board in the requested format."""
    if form == "csv":
        return board_csv(board).encode()
    return Board.model_validate(board).model_dump_json().encode()


def _read_board(db: Database, key: BoardKey) -> CacheableBoard:
    with db.read() as session:
        return build_cacheable_board(session, key.view, key.slug, key.phase, split=key.split, metric=key.metric)


def build_board(db: Database, key: BoardKey) -> CachedReply:
    """Build a board from the rows. Raises the errors that are not cached: NotFound, BadRequest, DatabaseUnavailable."""
    began = time.monotonic()
    result = _read_board(db, key)
    if result.may_be_incomplete:
        with db.write(durable=False) as session:
            wait_for_admitted_submissions(session, key.slug)
        result = _read_board(db, key)
    # Only boards by the primary metric are cached, so that arbitrary metric strings cannot fill the cache.
    if result.board is None:
        is_cacheable, body = key.metric is None, b""
    else:
        is_cacheable, body = key.metric in {None, result.board["primary"]}, encode_board(result.board, key.form)
    return CachedReply.build(
        body,
        MEDIA_TYPES[key.form],
        refusal=result.refusal,
        marks=result.marks,
        expires_at=began + result.seconds if is_cacheable else began,
    )


def _identify_reader(state: AppState, caller: Caller, slug: str, phase: str) -> tuple[str, str | None]:
    """The audience of the caller, and whose scores the board must contain (as in `BoardCache.get`).

    A team may have been told by another process, or by polling, that its submission is finished, before this process
    was notified. So the database is asked for what the team has finished a short time ago.
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
        errors.InsufficientScope, errors.LeaderboardHidden, errors.SplitHidden, errors.NotFound, errors.NoGold
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
        BoardFormat, Query(alias="format", description="`csv` has one line per row and one column per metric.")
    ] = "json",
) -> Response:
    """Returns the ranking of a phase. Ranks use full precision; values are shown with the digits that the recipe sets.

    New scores show at once to their team and to organizers, to others within a second. The reply is compressed with
    gzip if the client accepts that.
    """
    view, reader = await run_in_threadpool(_identify_reader, state, caller, slug, phase)
    key = BoardKey(slug, phase, view, split, metric, board_format)
    render = state.board_times.measured(key, partial(build_board, state.db, key))
    entry = await state.board_cache.get_or_build(key, render, reader)
    return entry.response(",".join(request.headers.getlist("accept-encoding")))
