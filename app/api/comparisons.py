"""How sure the order of a board is: rank sets and pairs by one metric, rankings by all metrics."""

from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import Field

from app import errors
from app.actions.uncertainty.read_comparisons import read_rankings, read_significance
from app.api.dependencies import AppStateDep, CallerDep
from app.api.field_types import Moment, Shape, reply_example
from app.api.http.json_body import api_router
from app.api.http.problem_documents import TOKEN_OPTIONAL, error_responses
from app.api.leaderboards import RowTeam
from app.api.openapi import uncertainty_examples

router = api_router("leaderboards", prefix="/challenges/{slug}/phases/{phase}/leaderboard")

Split = Annotated[
    Literal["all", "public", "private"] | None, Query(description="The split to show. Requires an organizer.")
]
BOARD_ERRORS = (
    errors.InsufficientScope,
    errors.Forbidden,
    errors.LeaderboardHidden,
    errors.SplitHidden,
    errors.NotFound,
    errors.NoGold,
)


class ComparisonHead(Shape):
    """What a comparison is of, and whether it is current."""

    challenge: str
    phase: str
    split: str
    primary: str
    gold_version: int
    recipe_version: int
    scorer_version: int
    draw_seed: str = Field(description="The public seed that all draws follow from.")
    status: Literal["none", "pending", "current"]
    reason: str | None = Field(description="Why it is not current, in one sentence.")
    computed_at: Moment | None


class Choice(Shape):
    """Whether the rows were chosen by the very values that are compared."""

    chosen_by_split: bool
    most_entries: int = Field(description="The largest number of entries of one team.")
    meaning: str


class Basis(Shape):
    """What rank sets and p-values rest on."""

    level: float
    method: str
    null_hypothesis: str
    entries: int = Field(description="How many rows are compared: ranked ones, no baselines.")
    n: int | None = Field(description="How many instances the split has; null until computed.")
    groups: int | None = Field(description="How many groups were drawn whole; null without groups.")
    draws: int | None
    notes: list[str] | None


class ComparedRow(Shape):
    """A ranked row, with the ranks that it may have."""

    row: int = Field(description="The number of the row, from 0, by which pairs name it.")
    team: RowTeam
    submission: str | None
    entries: int
    value: float | None = None
    low: float | None = None
    high: float | None = None
    rank: int | None = None
    rank_low: int | None = None
    rank_high: int | None = None
    tie_group: int | None = None
    first_share: float | None = Field(None, description="The share of draws in which the row was first.")
    podium_shares: list[float] | None = Field(
        None, description="The shares of draws in which the row was first, second and third."
    )
    better_than: list[int] = Field(
        default_factory=list, description="The numbers of the rows that are significantly worse."
    )
    notes: list[str] = Field(default_factory=list)


class Significance(ComparisonHead):
    """Which rows of a board differ by one metric, as far as the data tell."""

    model_config = reply_example(uncertainty_examples.SIGNIFICANCE)

    metric: str
    direction: str
    conclusion: str | None = Field(description="What a reader may conclude, in one sentence.")
    selection: Choice
    rests_on: Basis
    rows: list[ComparedRow]
    pairs: list[dict[str, Any]] = Field(
        description="Pairs of rows by their numbers `a` and `b`, with whether they differ at 5 %."
    )


class SideBySide(ComparisonHead):
    """The same rows under every metric of the recipe and under several averages."""

    model_config = reply_example(uncertainty_examples.RANKINGS)

    rows: list[ComparedRow]
    result: dict[str, Any] = Field(description="Ranks, agreement and flips; rows are named by their numbers.")


@router.get(
    "/significance",
    summary="Read which rows of a leaderboard differ",
    responses=error_responses(*BOARD_ERRORS),
    openapi_extra=TOKEN_OPTIONAL,
)
def get_significance(
    slug: str,
    phase: str,
    caller: CallerDep,
    state: AppStateDep,
    metric: Annotated[str | None, Query(description="A metric of the recipe, by default the primary one.")] = None,
    split: Split = None,
) -> Significance:
    """Returns the rank set of each ranked row, and the pairs that differ at 5 %, if the phase shows `significance`.

    It is computed after the scores, at most once a minute for a board; until then `status` is `pending`. Rows and pairs
    are never of another gold, recipe or scorer version than the board. Read `selection` before you quote a p-value.
    """
    with state.db.read() as session:
        found = read_significance(session, caller, slug, phase, split=split, metric=metric)
    return Significance.model_validate(found)


@router.get(
    "/rankings",
    summary="Read the rankings by all metrics side by side",
    responses=error_responses(*BOARD_ERRORS),
    openapi_extra=TOKEN_OPTIONAL,
)
def get_rankings(slug: str, phase: str, caller: CallerDep, state: AppStateDep, split: Split = None) -> SideBySide:
    """Returns the ranked rows under every metric of the recipe, and how well these rankings agree.

    Only if the phase shows `rankings`; it is computed after the scores, at most once a minute for a board.
    """
    with state.db.read() as session:
        return SideBySide.model_validate(read_rankings(session, caller, slug, phase, split=split))
