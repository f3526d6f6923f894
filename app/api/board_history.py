"""The changes of a leaderboard over time."""

from typing import Annotated, Literal

from fastapi import Query
from pydantic import Field

from app import errors
from app.actions.access import Caller
from app.actions.history.rank_history import read_rank_history
from app.api.comparisons import BOARD_ERRORS, Split
from app.api.dependencies import AppState, AppStateDep, CallerDep, Cursor
from app.api.field_types import Moment, Shape, reply_example
from app.api.http.json_body import api_router
from app.api.http.problem_documents import TOKEN_OPTIONAL, error_responses
from app.api.leaderboards import RowTeam
from app.api.limits.former_boards import FormerBoardsBusy
from app.api.marks import Mark
from app.api.openapi import history_examples

router = api_router("leaderboards", prefix="/challenges/{slug}/phases/{phase}/leaderboard")

MAX_POINTS = 1000
Kind = Literal[
    "activation", "close", "switch", "release", "submission", "selection", "withdrawal", "disqualification",
    "reinstatement", "team_disqualification", "team_reinstatement", "team_bar", "team_bar_lifted",
]  # fmt: skip


class PlaceChange(Shape):
    """Where a team stands since this point."""

    team: RowTeam
    rank: int | None = Field(description="Null where its entry has a mark or no value, and where it has none.")
    value: float | None = Field(description="Of its entry, by the metric that ranks, with the digits of the recipe.")
    mark: Mark | None


class HistoryPoint(Shape):
    """A change of the board: what happened, and the teams whose places changed by it."""

    at: Moment
    kind: Kind = Field(
        description="`submission`: one that changed what counts for its team. Withdrawals, disqualifications and bars "
        "are listed even if no place changed."
    )
    team: RowTeam | None = Field(description="Null for switches and the release.")
    submission: str | None
    method: str | None
    entries: int | None = Field(description="How many finished submissions the team had made by then.")
    reason: str | None = Field(description="Of a switch; otherwise for organizers and the team itself.")
    split: str
    primary: str
    gold_version: int
    recipe_version: int
    scorer_version: int
    changes: list[PlaceChange] = Field(
        description="The first point of a page lists all teams, the others those whose place differs from the point before."
    )


class RankHistory(Shape):
    """The changes of a board, oldest first."""

    model_config = reply_example(history_examples.HISTORY)

    challenge: str
    phase: str
    split: str
    primary: str
    direction: str
    gold_version: int
    recipe_version: int
    scorer_version: int
    total: int = Field(description="How many points there are.")
    start: int = Field(description="How many points come before this page.")
    points: list[HistoryPoint]
    next: str | None


@router.get(
    "/history",
    summary="Read the ranks of teams over time",
    responses=error_responses(errors.BadCursor, errors.TooMuchHistory, FormerBoardsBusy, *BOARD_ERRORS),
    openapi_extra=TOKEN_OPTIONAL,
)
def get_rank_history(
    slug: str,
    phase: str,
    caller: CallerDep,
    state: AppStateDep,
    split: Split = None,
    limit: Annotated[int, Query(ge=1, le=MAX_POINTS, description="Points per page.")] = 200,
    cursor: Cursor = None,
) -> RankHistory:
    """Returns each change of the board with the places of the teams that it moved, if the phase shows `history`.

    Every point says by which gold, recipe and scorer version and on which split the board was computed then: the public
    one until the final release, unless a split is requested. A submission has the time of its acceptance, not of its
    scores. Under a Ladder participants get its outputs. Organizers may always read it.
    """
    return read_history(state, caller, slug, phase, split=split, limit=limit, cursor=cursor)


def read_history(
    state: AppState,
    caller: Caller,
    slug: str,
    phase: str,
    *,
    split: str | None,
    limit: int,
    cursor: str | None = None,
    last: bool = False,
) -> RankHistory:
    """A page of the history, with `last` the newest one; see `read_rank_history` for errors."""
    with state.former_boards.turn(), state.db.read() as session:
        found = read_rank_history(session, caller, slug, phase, split=split, limit=limit, cursor=cursor, last=last)
    return RankHistory.model_validate(found)
