"""Leaderboard standings: one entry per team, ranked by the primary metric; equal values share a rank."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Context, Decimal
from math import isfinite
from typing import Any

from app.errors import InvalidMetric
from app.scoring.declaration.metric import MetricCall
from app.scoring.declaration.recipe import ScoringRecipe


@dataclass(frozen=True, slots=True)
class ScoredEntry:
    """A scored submission: its id, team, submission time (of any orderable type) and values by canonical string.

    `mark` says why it cannot be ranked. `choice` has the values for selecting a team's best entry if they differ from
    those shown: the values of the public split if the private split is ranked. `selected_choice` has those for
    selecting among what the team selected itself.
    """

    key: str
    team: str
    submitted_at: Any
    values: Mapping[str, float | None]
    baseline: bool = False
    selected: bool = False
    mark: str | None = None
    choice: Mapping[str, float | None] | None = None
    selected_choice: Mapping[str, float | None] | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """A row of the leaderboard; baselines, marked entries and entries without a value have no rank.

    Tied rows share the rank; `tied` counts them, the row itself included. `entries` is the number of the team's entries.
    """

    entry: ScoredEntry
    rank: int | None
    tied: int | None
    entries: int


def round_significant(value: float | None, digits: int | None) -> float | None:
    """A value rounded to significant digits, half-even on its shortest decimal text; None keeps full precision.

    It is rounded toward 0 if it would become infinite.
    """
    if value is None or digits is None:
        return value
    exact = Decimal(repr(value))
    nearest = float(Context(prec=digits, rounding=ROUND_HALF_EVEN).create_decimal(exact))
    return nearest if isfinite(nearest) else float(Context(prec=digits, rounding=ROUND_DOWN).create_decimal(exact))


def standings(entries: Sequence[ScoredEntry], recipe: ScoringRecipe, metric: str | None = None) -> list[Standing]:
    """The leaderboard, best first: one row per team by the recipe's selection, one per team and mark, and baselines.

    With `metric` (a canonical string of the recipe) the same rows are ranked by that metric alone; the entry of each
    team is still selected by the primary. Raises InvalidMetric if the recipe does not compute the metric.
    """
    order = [metric] if metric is not None else [recipe.primary, *recipe.tie_breakers]
    strength = _ranking_key_function([_find_call(recipe, text) for text in order])
    counts: dict[str, int] = {}
    for entry in entries:
        counts[entry.team] = counts.get(entry.team, 0) + (not entry.baseline)
    rows = [*_select_entries(entries, recipe), *(entry for entry in entries if entry.baseline)]
    keys = {entry.key: strength(entry.values) for entry in rows}
    rows.sort(key=lambda entry: (keys[entry.key], _is_unranked(entry), entry.submitted_at, entry.key))
    return _assign_ranks(rows, keys, counts)


RankingKey = tuple[tuple[int, float], ...]


def _find_call(recipe: ScoringRecipe, text: str) -> MetricCall:
    call = recipe.call(text)
    if call is None:
        known = ", ".join(call.text for call in recipe.metrics)
        raise InvalidMetric(f"This board does not compute '{text}'; it has {known}.")
    return call


def _ranking_key_function(calls: Sequence[MetricCall]) -> Callable[[Mapping[str, float | None]], RankingKey]:
    """A function that returns the sort key of values: smaller is better, equal keys tie, null follows all numbers."""

    def key(call: MetricCall, value: float | None) -> tuple[int, float]:
        if value is None or value != value:  # noqa: PLR0124  NaN cannot be ranked either
            return 1, 0.0
        return 0, (-value if call.metric.direction == "higher" else value) + 0.0  # turns -0.0 into 0.0

    return lambda values: tuple(key(call, values.get(call.text)) for call in calls)


def _select_entries(entries: Sequence[ScoredEntry], recipe: ScoringRecipe) -> list[ScoredEntry]:
    """The entry that represents each team.

    `best` takes the best primary value, `latest` the last submission, and `selected` the best of those that the team
    selected, or its best entry if it selected none. Equals are compared by the tie-breakers, then the earliest wins.
    Values are compared with the digits that participants see, so the selected entry does not reveal further digits to
    the team.
    """
    strength = _ranking_key_function([_find_call(recipe, text) for text in (recipe.primary, *recipe.tie_breakers)])
    teams: dict[tuple[str, str | None], list[ScoredEntry]] = {}
    for entry in entries:
        if not entry.baseline:
            teams.setdefault((entry.team, entry.mark), []).append(entry)
    return [_representative(own, recipe, strength) for own in teams.values()]


def _representative(
    own: list[ScoredEntry], recipe: ScoringRecipe, strength: Callable[[Mapping[str, float | None]], RankingKey]
) -> ScoredEntry:
    if recipe.selection == "latest":
        return max(own, key=lambda entry: (entry.submitted_at, entry.key))
    chosen = [entry for entry in own if entry.selected] if recipe.selection == "selected" else []
    return min(
        chosen or own,
        key=lambda entry: (
            strength(_rounded(_deciding_values(entry, by_team=bool(chosen)), recipe)),
            entry.submitted_at,
            entry.key,
        ),
    )


def _deciding_values(entry: ScoredEntry, *, by_team: bool) -> Mapping[str, float | None]:
    if by_team and entry.selected_choice is not None:
        return entry.selected_choice
    return entry.values if entry.choice is None else entry.choice


def _rounded(values: Mapping[str, float | None], recipe: ScoringRecipe) -> dict[str, float | None]:
    """The values with the digits that participants see."""
    return {name: round_significant(value, recipe.digits) for name, value in values.items()}


def _assign_ranks(
    rows: Sequence[ScoredEntry], keys: Mapping[str, RankingKey], counts: Mapping[str, int]
) -> list[Standing]:
    """Ranks 1, 1, 3 over the rows that can be ranked; the others keep their position without a rank."""
    sizes = Counter(keys[entry.key] for entry in rows if _is_rankable(entry, keys))  # in the order of the rows
    first: dict[RankingKey, int] = {}
    next_rank = 1
    for key, size in sizes.items():
        first[key] = next_rank
        next_rank += size
    board = []
    for entry in rows:
        rank = tied = None
        if _is_rankable(entry, keys):
            rank, tied = first[keys[entry.key]], sizes[keys[entry.key]]
        entries = 1 if entry.baseline else counts[entry.team]
        board.append(Standing(entry, rank, tied, entries))
    return board


def _is_rankable(entry: ScoredEntry, keys: Mapping[str, RankingKey]) -> bool:
    return not _is_unranked(entry) and keys[entry.key][0][0] == 0


def _is_unranked(entry: ScoredEntry) -> bool:
    return entry.baseline or entry.mark is not None
