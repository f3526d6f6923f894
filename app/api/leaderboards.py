"""Leaderboards as JSON and CSV."""

import csv
import io
import time
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import Query, Request, Response
from pydantic import Field

from app import errors
from app.actions.submissions.read_leaderboard import Prepared, await_stored, prepare_board, see_board
from app.api.caching.board_cache import Asked, Entry, Form
from app.api.dependencies import CallerDep, ServiceDep
from app.api.field_types import Moment, Shape, shown
from app.api.json_body import api_router
from app.api.openapi import examples
from app.api.openapi.examples import named
from app.api.problems import OPEN, documented, succeeds
from app.store.session import Database
from app.store.types import moment_text
from app.text.spreadsheet_cells import text_cell

router = api_router("leaderboards")

MEDIA: dict[Form, str] = {"json": "application/json", "csv": "text/csv; charset=utf-8"}


class RowTeam(Shape):
    """Whose entry it is; anonymous phases hide the id."""

    id: str | None
    name: str


class BoardRow(Shape):
    """A team's counted entry, or a baseline."""

    rank: int | None = Field(description="Equal values share a rank (1, 1, 3); null for baselines and null values.")
    rank_low: int | None
    rank_high: int | None
    tie_group: int | None
    team: RowTeam
    submission: str | None
    method: str
    submitted_at: Moment
    entries: int = Field(description="The team's finished submissions in this phase.")
    baseline: bool
    scores: dict[str, dict[str, Any]] = Field(examples=[{"f1_macro": {"value": 0.731059}}])


class Board(Shape):
    """A leaderboard, best first."""

    model_config = shown(examples.BOARD)

    challenge: str
    phase: str
    split: str
    primary: str
    direction: str
    gold_version: int
    recipe_version: int
    scorer_version: int
    as_of: Moment = Field(description="When the newest of what it shows came: a submission, gold or recipe.")
    metrics: list[dict[str, Any]]
    rows: list[BoardRow]


def board_csv(board: dict[str, Any]) -> str:
    """One line per row, one column per metric; an empty field is null."""
    names = [each["key"] for each in board["metrics"]]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["rank", "team", "method", "submission", "submitted_at", "entries", "baseline", *names])
    for row in board["rows"]:
        values = [row["scores"].get(name, {}).get("value") for name in names]
        fixed = [row["rank"], text_cell(row["team"]["name"]), text_cell(row["method"]), row["submission"]]
        rest = [moment_text(row["submitted_at"]), row["entries"], str(row["baseline"]).lower()]
        writer.writerow(["" if field is None else field for field in [*fixed, *rest, *values]])
    return out.getvalue()


_EXAMPLE = Board.model_validate(examples.BOARD).model_dump()


def board_bytes(board: dict[str, Any], form: Form) -> bytes:
    """The board as it is sent."""
    if form == "csv":
        return board_csv(board).encode()
    return Board.model_validate(board).model_dump_json().encode()


def _read(db: Database, asked: Asked) -> Prepared:
    with db.read() as session:
        return prepare_board(session, asked.view, asked.slug, asked.phase, split=asked.split, metric=asked.metric)


def prepared(db: Database, asked: Asked) -> Entry:
    """The board that is asked for, made anew; raises what is not kept: NotFound, BadRequest, DatabaseAway."""
    began = time.monotonic()
    found = _read(db, asked)
    if found.settling:
        with db.write(promised=False) as session:
            await_stored(session, asked.slug)
        found = _read(db, asked)
    if found.board is None:
        canonical, body = asked.metric is None, b""
    else:
        canonical, body = asked.metric in {None, found.board["primary"]}, board_bytes(found.board, asked.form)
    return Entry.of(
        body,
        MEDIA[asked.form],
        refusal=found.refusal,
        marks=found.marks,
        until=began + found.seconds if canonical else began,
    )


@router.get(
    "/challenges/{slug}/phases/{phase}/leaderboard",
    summary="Read a leaderboard",
    response_model=Board,
    responses=succeeds("The board, best first.", {"text/csv": named(board=board_csv(_EXAMPLE))})
    | documented(
        errors.InsufficientScope, errors.LeaderboardHidden, errors.SplitHidden, errors.NotFound, errors.NoGold
    ),
    openapi_extra=OPEN,
)
def get_leaderboard(
    request: Request,
    slug: str,
    phase: str,
    who: CallerDep,
    parts: ServiceDep,
    metric: Annotated[str | None, Query(description="Rank by this metric of the recipe instead.")] = None,
    split: Annotated[Literal["all", "public", "private"] | None, Query(description="For organizers.")] = None,
    board_format: Annotated[
        Form, Query(alias="format", description="csv: one line per row, one column per metric.")
    ] = "json",
) -> Response:
    """Ranked on full precision; numbers are shown with the recipe's digits. Sent gzipped to who accepts that."""
    with parts.db.read() as session:
        view = see_board(session, who, slug, phase).view
    asked = Asked(slug, phase, view, split, metric, board_format)
    entry = parts.boards.find(asked, partial(prepared, parts.db, asked))
    return entry.response(",".join(request.headers.getlist("accept-encoding")))
