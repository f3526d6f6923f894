"""Rank sets of a board: the ranks that each row may have, tie groups, and how often each row would be first.

With a probability of about 95 % or more, no pair of rows whose true values are equal or in the other order is called
different, for rows that were fixed before the split was seen.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from app.scoring.uncertainty.board_plan import plan_board
from app.scoring.uncertainty.small_samples import (
    Confirm,
    Pair,
    PairTest,
    holm,
    out_of_reach,
    why_exact,
)
from app.scoring.uncertainty.step_down import ALPHA_INVERSE, MIN_STANDARD_ERROR, StepDown, step_down

Floats = NDArray[np.float64]
MIN_DIFFERING = 6
"""Rows that differ on fewer instances, or groups, are never called different."""
_ROUNDING = 1e-12  # sums of the same classes in another order differ in the last digit
PODIUM = 3
"""Shares of draws are given for so many first places."""
_MOST_NULL_DRAWS = 10  # a row that is null in more than a tenth of the draws is not compared


@dataclass(frozen=True, slots=True)
class RankedRow:
    """The ranks of one row; None where the row has no value or is not compared.

    `rank` counts better values. `rank_low` is 1 + the number of rows that are significantly better, `rank_high` the
    number of rows minus those that are significantly worse. `podium_shares` are the shares of draws in which the row is
    first, second and third; rows that share places share the draw. They are None if a single unit is drawn.
    """

    rank: int | None
    rank_low: int | None
    rank_high: int | None
    tie_group: int | None
    podium_shares: tuple[float, ...] | None

    @property
    def first_share(self) -> float | None:
        """The share of draws in which the row is first."""
        return None if self.podium_shares is None else self.podium_shares[0]


@dataclass(frozen=True, slots=True)
class RankSets:
    """The answer for a board; all rows and row numbers are in the order that was given.

    `better[i, j]`: row i is significantly better than row j. `compared[i, j]`: the pair was looked at. `tests` has the
    exact tests that were made, by pair (better, worse); `too_few` the pairs whose instances cannot tell.
    """

    rows: tuple[RankedRow, ...]
    better: NDArray[np.bool_]
    compared: NDArray[np.bool_]
    draws: int
    left_out: int
    critical_value: float | None
    exact: bool
    tests: Mapping[Pair, PairTest] = field(default_factory=dict)
    too_few: frozenset[Pair] = frozenset()
    notes: tuple[str, ...] = ()

    @property
    def mean_width(self) -> float:
        """The mean number of ranks that a row may have."""
        widths = [row.rank_high - row.rank_low + 1 for row in self.rows if row.rank_low and row.rank_high]
        return sum(widths) / max(1, len(widths))

    def to_dict(self) -> dict[str, Any]:
        """The same for JSON; `better_than` has for each row the rows that are significantly worse."""
        names = ("rank", "rank_low", "rank_high", "tie_group", "first_share", "podium_shares")
        return {
            "rows": [
                {name: getattr(row, name) for name in names} | {"better_than": np.flatnonzero(self.better[at]).tolist()}
                for at, row in enumerate(self.rows)
            ],
            "draws": self.draws,
            "left_out": self.left_out,
            "critical_value": self.critical_value,
            "exact_tests": self.exact,
            "too_few_to_tell": sorted([list(pair) for pair in self.too_few]),
            "notes": list(self.notes),
        }


def widening_note(sets: RankSets, of_instances: RankSets) -> str:
    """How much wider rank sets are because groups are drawn whole."""
    return (
        f"A rank set has {sets.mean_width:.3g} ranks on average with whole groups drawn; with single instances drawn, "
        f"which would understate the uncertainty, it would have {of_instances.mean_width:.3g}."
    )


@dataclass(frozen=True, slots=True)
class Board:
    """What the rank sets of one metric and one split are made from.

    `values` (T,) and `draws` (T × R, on shared resamples) are NaN where the metric is null. `differing` (T × T) counts
    the instances on which two rows differ, or the groups if `groups` is not None. `confirm` tests pairs where the
    sample is small; without it, no pair of a small sample is called different.
    """

    values: Floats
    draws: Floats
    differing: NDArray[np.integer]
    instances: int
    groups: int | None = None
    direction: Literal["higher", "lower"] = "higher"
    rare_classes: bool = False
    confirm: Confirm | None = None

    def __post_init__(self) -> None:
        size = len(self.values)
        if self.draws.shape[0] != size or self.differing.shape != (size, size):
            raise ValueError(f"{size} values need {size} rows of draws and a table of {size} × {size} counts")

    @property
    def units(self) -> int:
        """The number of units that are drawn."""
        return self.instances if self.groups is None else self.groups


def rank_sets(board: Board) -> RankSets:
    """The rank sets of a board."""
    sign = 1.0 if board.direction == "higher" else -1.0
    values, draws = board.values * sign, board.draws * sign
    has_value = ~np.isnan(values)
    plan = plan_board(int(has_value.sum()), draws.shape[1])
    draws = draws[:, : plan.draws]
    nulls = np.isnan(draws).sum(axis=1)
    steady = has_value & (nulls * _MOST_NULL_DRAWS <= draws.shape[1])
    usable = ~np.isnan(draws[steady]).any(axis=0)
    draws = draws[:, usable]
    order = _best_first(values, steady)
    leaders = min(plan.leaders, len(order))
    allowed = board.differing[np.ix_(order[:leaders], order)] >= MIN_DIFFERING
    tested = _within_all_pairs(step_down(values[order], draws[order], allowed), draws.shape[1])
    decision = _decide(board, order, tested)
    notes = (
        *plan.notes,
        *_null_notes(has_value, steady, usable),
        *_size_notes(board, order, tested, draws.shape[1]),
        *decision.notes,
    )
    return RankSets(
        rows=_ranked_rows(values, draws, order, leaders, decision.better, has_spread=board.units > 1),
        better=decision.better,
        compared=_compared(len(values), order, leaders),
        draws=draws.shape[1],
        left_out=int((~usable).sum()),
        critical_value=tested.critical_value,
        exact=decision.exact,
        tests=decision.tests,
        too_few=decision.too_few,
        notes=notes,
    )


def _within_all_pairs(tested: StepDown, draws: int) -> StepDown:
    """The rejections that hold among all pairs of rows, if the step-down test saw only those of the first rows.

    The scores chose the first rows, so the quantile over their pairs is too small: of 2,500 equal rows it would show a
    difference on a third of the boards. Bonferroni's quantile over all ordered pairs is large enough. It is that of
    Student's t, to second order, because the standard errors are estimated from the draws.
    """
    leaders, size = tested.statistics.shape
    if leaders == size or tested.critical_value is None:
        return tested
    normal = -NormalDist().inv_cdf(1 / (ALPHA_INVERSE * size * (size - 1)))
    bonferroni = normal + (normal**3 + normal) / (4 * max(1, draws - 1))
    rejected = tested.rejected & (tested.statistics > bonferroni)
    return replace(tested, rejected=rejected, critical_value=max(bonferroni, tested.critical_value))


def _best_first(values: Floats, chosen: NDArray[np.bool_]) -> NDArray[np.intp]:
    """The chosen rows, the largest value first; of equal values the earlier row."""
    rows = np.flatnonzero(chosen)
    return rows[np.argsort(-values[rows], kind="stable")]


@dataclass(frozen=True, slots=True)
class _Decision:
    better: NDArray[np.bool_]
    exact: bool
    tests: Mapping[Pair, PairTest] = field(default_factory=dict)
    too_few: frozenset[Pair] = frozenset()
    notes: tuple[str, ...] = ()


def _decide(board: Board, order: NDArray[np.intp], tested: StepDown) -> _Decision:
    """The pairs that the step-down test rejects and, in a small sample, an exact test confirms."""
    leaders, later = np.nonzero(tested.rejected)
    pairs = list(zip(order[leaders].tolist(), order[later].tolist(), strict=True))
    better = np.zeros((len(board.values),) * 2, dtype=bool)
    reason = why_exact(board.instances, board.groups, rare_classes=board.rare_classes) if len(order) > 1 else None
    if reason is None or not pairs:
        better[order[leaders], order[later]] = True
        return _Decision(better, reason is not None, notes=() if reason is None else (reason,))
    if board.confirm is None:
        return _Decision(
            better, exact=True, notes=(reason, "No exact test is available, so no pair is called different.")
        )
    family = len(order) * (len(order) - 1) // 2
    tests = dict(zip(pairs, board.confirm(pairs, family), strict=True))
    confirmed, level = holm(tests, family)
    for pair in confirmed:
        better[pair] = True
    too_few = frozenset(out_of_reach(tests, confirmed, level))
    notes: tuple[str, ...] = (reason,)
    if too_few:
        unit = "instances" if board.groups is None else "groups"
        notes += (
            f"Pairs that differ on too few {unit} to tell at the adjusted level of {level:.2g}: {len(too_few):,}.",
        )
    return _Decision(better, exact=True, tests=tests, too_few=too_few, notes=notes)


def _ranked_rows(
    values: Floats, draws: Floats, order: NDArray[np.intp], leaders: int, better: NDArray[np.bool_], *, has_spread: bool
) -> tuple[RankedRow, ...]:
    ordered = np.sort(values[~np.isnan(values)])
    ranks = 1 + len(ordered) - np.searchsorted(ordered, values, side="right")
    lows, highs = 1 + better.sum(axis=0), len(order) - better.sum(axis=1)
    groups = _tie_groups(order, leaders, better)
    shares = dict(zip(order.tolist(), _podium_shares(draws[order]), strict=True)) if has_spread else {}
    compared = set(order[:leaders].tolist())
    return tuple(
        RankedRow(
            None if np.isnan(values[row]) else int(ranks[row]),
            int(lows[row]) if row in compared else None,
            int(highs[row]) if row in compared else None,
            groups.get(row),
            shares.get(row),
        )
        for row in range(len(values))
    )


def _tie_groups(order: NDArray[np.intp], leaders: int, better: NDArray[np.bool_]) -> dict[int, int]:
    """The group of each row: from its leader downwards until the first row that differs from the leader."""
    groups: dict[int, int] = {}
    leader, number = None, 0
    for at, row in enumerate(order.tolist()):
        if leader is None or better[leader, row]:
            if at >= leaders:
                break
            leader, number = row, number + 1
        groups[row] = number
    return groups


def _podium_shares(draws: Floats) -> list[tuple[float, ...] | None]:
    """For each row (T × R), the shares of draws in which its value is the largest, the second and the third.

    Values that are equal but for rounding share their places: each row has each of them in an equal part of the draw.
    """
    size, count = draws.shape
    if not count or not size:
        return [None] * size
    places = min(PODIUM, size)
    spread, rest, taken = draws.std() * 1e-6, draws.copy(), np.zeros(count, dtype=np.int64)
    shares = np.zeros((size, places))
    for _ in range(places):  # at least one place is taken each time
        largest = rest.max(axis=0)
        is_open = taken < places
        rounding = np.minimum(_ROUNDING * np.maximum(1.0, np.abs(largest)), spread)
        is_next = (rest >= largest - rounding) & is_open
        together = is_next.sum(axis=0)
        for place in range(places):
            here = (taken <= place) & (place < taken + together)
            shares[:, place] += [_sum_of_inverses(together[row & here]) / count for row in is_next]
        rest[is_next] = -np.inf
        taken += together
    return [tuple(row) for row in shares.tolist()]


def _sum_of_inverses(numbers: NDArray[np.integer]) -> float:
    return sum(float(times) / number for number, times in enumerate(np.bincount(numbers)) if number)


def _compared(size: int, order: NDArray[np.intp], leaders: int) -> NDArray[np.bool_]:
    compared = np.zeros((size, size), dtype=bool)
    compared[np.ix_(order[:leaders], order)] = True
    compared |= compared.T
    np.fill_diagonal(compared, val=False)
    return compared


def _null_notes(has_value: NDArray[np.bool_], steady: NDArray[np.bool_], usable: NDArray[np.bool_]) -> list[str]:
    without, unsteady, left_out = (int(some.sum()) for some in (~has_value, has_value & ~steady, ~usable))
    notes = []
    if without:
        notes.append(f"Rows without a value, which have no rank: {without:,}.")
    if unsteady:
        notes.append(f"Rows that are null in more than a tenth of the draws and are not compared: {unsteady:,}.")
    if left_out:
        notes.append(f"Draws left out because a row is null in them: {left_out:,} of {len(usable):,}.")
    return notes


def _size_notes(board: Board, order: NDArray[np.intp], tested: StepDown, draws: int) -> list[str]:
    if len(order) < 2:
        return ["There are fewer than two rows to compare."]
    if draws + 1 < ALPHA_INVERSE:
        return [f"With {draws} draws nothing can be shown at 5 %; at least {ALPHA_INVERSE - 1} are needed."]
    errors = tested.standard_errors
    is_close = board.differing[np.ix_(order[: len(errors)], order)] < MIN_DIFFERING
    close = int(np.triu(is_close, 1).sum())
    constant = int(np.triu(~is_close & (errors <= MIN_STANDARD_ERROR), 1).sum())
    notes = []
    if close and board.groups is None:
        notes.append(
            f"Pairs that differ on fewer than {MIN_DIFFERING} instances, which are never called different: {close:,}."
        )
    elif close:
        notes.append(
            f"Pairs that differ in fewer than {MIN_DIFFERING} groups, which are never called different: {close:,}."
        )
    if constant:
        notes.append(
            f"Pairs with the same difference in every draw, which are never called different: {constant:,}. Resampling "
            "says nothing about them; compare two such systems by themselves."
        )
    return notes
