"""The order of the systems of a table: values with intervals, rank sets, tie groups, and what may be concluded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.analysis.order.conclusion import conclude
from app.analysis.order.matrix import ResultMatrix, group_codes
from app.analysis.order.mean_draws import exact_mean, mean_draws
from app.scoring.numeric.exact_intervals import clopper_pearson
from app.scoring.uncertainty.board_plan import MAX_LEADERS, BoardPlan, plan_board
from app.scoring.uncertainty.bootstrap_interval import Interval, no_interval, percentile_interval
from app.scoring.uncertainty.pair_tests import McNemarTests, SignFlipTests
from app.scoring.uncertainty.rank_sets import Board, RankSets, rank_sets, widening_note
from app.scoring.uncertainty.seeds import derive_seed, random_source
from app.scoring.uncertainty.small_samples import Confirm

Floats = NDArray[np.float64]
_SPLIT, _METRIC = "all", "mean"
MAX_PAIRS_LISTED = 5_000
"""With more pairs, the report lists those of neighbours."""


@dataclass(frozen=True, slots=True)
class _Units:
    """What is drawn: instances in the order of their ids, or groups in the order of their names.

    `totals` is systems × units, `sizes` has the number of instances of each unit; `groups` is None for instances.
    """

    totals: Floats
    sizes: Floats
    groups: int | None


def order_systems(
    matrix: ResultMatrix,
    *,
    lower_is_better: bool = False,
    groups: Mapping[str, str] | None = None,
    draw_seed: str = "0",
) -> dict[str, Any]:
    """The report on a table, as JSON. Nothing in it depends on the order of rows or columns."""
    columns = sorted(range(len(matrix.ids)), key=matrix.ids.__getitem__)
    rows = sorted(range(len(matrix.systems)), key=matrix.systems.__getitem__)
    values = matrix.values[np.ix_(rows, columns)]
    ids, systems = [matrix.ids[at] for at in columns], [matrix.systems[at] for at in rows]
    units = instances = _Units(values, np.ones(len(ids)), None)
    notes: list[str] = []
    if len(systems) > len(ids) > 1:
        notes.append(
            f"There are more systems ({len(systems):,}) than instances ({len(ids):,}). If the table has one row per instance, "
            "transpose it: each row must be a system."
        )
    if groups is not None:
        units = _grouped(values, ids, groups)
        unused = len(groups.keys() - set(ids))
        if unused:
            notes.append(f"Instances with a group that the table does not have: {unused:,}.")
    plan = plan_board(len(systems))
    right = values if matrix.right_or_wrong else None

    def sets_by(drawn: _Units) -> tuple[Board, RankSets]:
        board = _board_of(drawn, values, right, plan, draw_seed, lower_is_better=lower_is_better)
        return board, rank_sets(board)

    board, sets = sets_by(units)
    if plan.notes:
        board = replace(board, draws=board.draws[:, : plan.draws])
    intervals = _intervals(board, units, right)
    extra: dict[str, Any] = {}
    if groups is not None:
        by_instances = sets_by(instances)[1]
        extra = {"mean_rank_set": sets.mean_width, "mean_rank_set_of_instances": by_instances.mean_width}
        notes.append(widening_note(sets, by_instances))
    head = {"metric": "accuracy" if right is not None else "mean", "direction": board.direction, "draw_seed": draw_seed}
    return head | describe_order(systems, board, sets, intervals, [*plan.notes, *notes]) | extra


def _board_of(
    drawn: _Units, values: Floats, right: Floats | None, plan: BoardPlan, draw_seed: str, *, lower_is_better: bool
) -> Board:
    """What rank sets are made from, with these units drawn."""
    means = np.array([exact_mean(row) for row in values])
    seed = derive_seed(draw_seed, "board", _SPLIT, _METRIC)
    confirm: Confirm = (
        McNemarTests(right > 0)
        if right is not None and drawn.groups is None
        else SignFlipTests(drawn.totals, derive_seed(draw_seed, "pair", _SPLIT, _METRIC))
    )
    return Board(
        means,
        mean_draws(random_source(seed), drawn.totals, drawn.sizes, plan.draws),
        differing_units(drawn.totals, plan.leaders, means, lower_is_better=lower_is_better),
        instances=values.shape[1],
        groups=drawn.groups,
        direction="lower" if lower_is_better else "higher",
        confirm=confirm,
    )


def _grouped(values: Floats, ids: Sequence[str], groups: Mapping[str, str]) -> _Units:
    names, codes = group_codes(ids, groups)
    totals = np.array([np.bincount(codes, weights=row, minlength=len(names)) for row in values], dtype=np.float64)
    sizes = np.bincount(codes, minlength=len(names))
    return _Units(totals, sizes.astype(np.float64), len(names))


def differing_units(totals: Floats, leaders: int, means: Floats, *, lower_is_better: bool) -> NDArray[np.int64]:
    """Systems × systems: the number of units on which two systems differ; only pairs with the first rows are counted."""
    size = len(totals)
    differing = np.zeros((size, size), dtype=np.int64)
    best = np.argsort(means if lower_is_better else -means, kind="stable")
    for row in best[:leaders]:
        differing[row] = differing[:, row] = (totals != totals[row]).sum(axis=1)
    return differing


def _intervals(board: Board, units: _Units, right: Floats | None) -> list[Interval]:
    """The 95 % interval of each system."""
    if right is not None and units.groups is None:
        n = right.shape[1]
        method = "exact binomial (Clopper-Pearson)"
        return [Interval(*clopper_pearson(int(row.sum()), n), method) for row in right]
    if units.totals.shape[1] == 1:
        reason = "The table has one instance, which shows no spread."
        if units.groups is not None:
            reason = "All instances are in one group, which shows no spread."
        return [no_interval(reason) for _ in board.values]
    value_range = (0.0, 1.0) if right is not None else (-np.inf, np.inf)
    return [
        percentile_interval(float(value), draws, value_range)
        for value, draws in zip(board.values, board.draws, strict=True)
    ]


def describe_order(
    systems: Sequence[str], board: Board, sets: RankSets, intervals: Sequence[Interval], notes: Sequence[str] = ()
) -> dict[str, Any]:
    """The report on a board, best first: rows, pairs, notes and a conclusion."""
    order = sorted(range(len(systems)), key=lambda row: (sets.rows[row].rank or len(systems) + 1, systems[row]))
    rows = [_describe_row(systems[row], float(board.values[row]), sets, row, intervals[row]) for row in order]
    size = len(order)
    neighbours_only = size * (size - 1) // 2 > MAX_PAIRS_LISTED
    listed = pairwise(order) if neighbours_only else combinations(order, 2)
    all_notes = [*sets.notes, *notes]
    if neighbours_only:
        all_notes.append(
            f"The report lists the pairs of neighbours; it lists all pairs of up to {MAX_LEADERS} systems."
        )
    return {
        "n": board.instances,
        "groups": board.groups,
        "draws": sets.draws,
        "conclusion": conclude(rows, sets, order, board),
        "rows": rows,
        "pairs": [_describe_pair(systems, board, sets, *pair) for pair in listed],
        "notes": list(dict.fromkeys(all_notes)),
    }


def _describe_row(system: str, value: float, sets: RankSets, row: int, interval: Interval) -> dict[str, Any]:
    ranked = sets.rows[row]
    return {
        "system": system,
        "value": None if np.isnan(value) else value,
        "low": interval.low,
        "high": interval.high,
        "rank": ranked.rank,
        "rank_low": ranked.rank_low,
        "rank_high": ranked.rank_high,
        "tie_group": ranked.tie_group,
        "first_share": ranked.first_share,
        "podium_shares": None if ranked.podium_shares is None else list(ranked.podium_shares),
        "interval": interval.method,
        "notes": [*([interval.reason] if interval.reason else []), *interval.notes],
    }


def _describe_pair(systems: Sequence[str], board: Board, sets: RankSets, upper: int, lower: int) -> dict[str, Any]:
    test = sets.tests.get((upper, lower))
    compared = bool(sets.compared[upper, lower])
    difference = float(board.values[upper] - board.values[lower])
    return {
        "first": systems[upper],
        "second": systems[lower],
        "difference": None if np.isnan(difference) else difference,
        "differing": int(board.differing[upper, lower]) if compared else None,
        "different": bool(sets.better[upper, lower]) if compared else None,
        "p_value": None if test is None else test.p_value,
        "too_few_to_tell": (upper, lower) in sets.too_few,
    }
