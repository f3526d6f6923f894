"""Leaderboards as JSON and CSV."""

import csv
import io
from typing import Annotated, Any, Literal

from fastapi import Query, Response
from pydantic import Field

from app import errors
from app.actions.read_leaderboard import read_leaderboard
from app.api import examples
from app.api.deps import CallerDep, ServiceDep
from app.api.examples import named
from app.api.problems import OPEN, documented, succeeds
from app.api.shapes import Moment, Shape, shown
from app.api.strict import api_router
from app.store.types import moment_text

router = api_router("leaderboards")


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
    as_of: Moment = Field(description="When the board last changed.")
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
        fixed = [row["rank"], _safe(row["team"]["name"]), _safe(row["method"]), row["submission"]]
        rest = [moment_text(row["submitted_at"]), row["entries"], str(row["baseline"]).lower()]
        writer.writerow(["" if field is None else field for field in [*fixed, *rest, *values]])
    return out.getvalue()


def _safe(text: str) -> str:
    """A spreadsheet would run a cell that begins like a formula."""
    return "'" + text if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


_EXAMPLE = Board.model_validate(examples.BOARD).model_dump()


@router.get(
    "/challenges/{slug}/phases/{phase}/leaderboard",
    summary="Read a leaderboard",
    response_model=Board,
    responses=succeeds("The board, best first.", {"text/csv": named(board=board_csv(_EXAMPLE))})
    | documented(errors.LeaderboardHidden, errors.SplitHidden, errors.NotFound, errors.NoGold),
    openapi_extra=OPEN,
)
def get_leaderboard(
    slug: str,
    phase: str,
    who: CallerDep,
    parts: ServiceDep,
    metric: Annotated[str | None, Query(description="Rank by this metric of the recipe instead.")] = None,
    split: Annotated[Literal["all", "public", "private"] | None, Query(description="For organizers.")] = None,
    board_format: Annotated[
        Literal["json", "csv"], Query(alias="format", description="csv: one line per row, one column per metric.")
    ] = "json",
) -> object:
    """Ranked now, on full precision; numbers are shown with the recipe's digits."""
    with parts.db.read() as session:
        board = read_leaderboard(session, who, slug, phase, split=split, metric=metric)
    if board_format == "csv":
        return Response(board_csv(board), media_type="text/csv; charset=utf-8")
    return board
