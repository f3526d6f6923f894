"""Averaged AUCs of class pairs in many draws at once."""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from app.scoring.class_pair_wins import MAX_CLASSES
from app.scoring.declaration.metric import ComputeDraws, MetricCall
from app.scoring.draw_context import DrawContext, Floats, NoDrawForm, added_in_order, divide_draws
from app.scoring.metrics.scores.area_draws import columns_of_rows
from app.scoring.metrics.scores.draw_ranks import in_parts
from app.scoring.metrics.scores.score_columns import averaged_codes, class_code
from app.scoring.metrics.shared_declarations import SCORE_DIRECTION_OPTION
from app.scoring.score_ranks import TIE_CREDIT_IN_HALVES

Values = Callable[[int], Floats]


def one_vs_one_auc_draws(*, by_size: bool) -> ComputeDraws:
    """`one_vs_one_auc` for many draws at once."""

    def compute(draws: DrawContext, call: MetricCall) -> Floats:
        values, key = columns_of_rows(draws, call).values, f"own {call.options[SCORE_DIRECTION_OPTION]}"

        def mean(part: DrawContext, codes: list[int]) -> Floats:
            doubled, sizes = _doubled_wins(part, call, codes, values, key)
            first, second = np.triu_indices(len(codes), 1)
            wins, pairs = doubled[first, second] + doubled[second, first], 4 * sizes[first] * sizes[second]
            return _mean_over_pairs(wins, pairs, sizes[first] + sizes[second] if by_size else None)

        return _in_parts(draws, call, mean)

    return compute


def pairwise_univariate_draws(draws: DrawContext, call: MetricCall) -> Floats:
    """`pairwise_univariate` for many draws at once."""
    code = class_code(draws.rows, call)
    values, key = columns_of_rows(draws, call).values(code), f"{code} {call.options[SCORE_DIRECTION_OPTION]}"

    def mean(part: DrawContext, codes: list[int]) -> Floats:
        doubled, sizes = _doubled_wins(part, call, codes, lambda _: values, key)
        first, second = np.triu_indices(len(codes), 1)
        wins = doubled[second, first] if call.params["direction"] == "ascending" else doubled[first, second]
        return _mean_over_pairs(wins, 2 * sizes[first] * sizes[second], None)

    return _in_parts(draws, call, mean)


def _in_parts(draws: DrawContext, call: MetricCall, mean: Callable[[DrawContext, list[int]], Floats]) -> Floats:
    """The mean of each draw over the pairs of those averaged classes that gold has."""
    averaged, _ = averaged_codes(draws.rows, call)
    present = np.unique(draws.case.gold.codes)
    if len(present) > MAX_CLASSES:
        raise NoDrawForm
    codes = [code for code in averaged if code in set(present.tolist())]
    if len(codes) < 2:
        return np.full(draws.draws, np.nan)
    return in_parts(draws, max(len(draws.weights), len(codes) ** 2), lambda part: mean(part, codes))


def _mean_over_pairs(wins: Floats, pairs: Floats, weight: Floats | None) -> Floats:
    """The mean over the pairs whose classes both occur in a draw; NaN where there is none."""
    defined = pairs > 0
    weights = np.where(defined, 1.0 if weight is None else weight, 0.0)
    terms = np.where(defined, divide_draws(wins, pairs) * weights, 0.0)
    return divide_draws(added_in_order(terms), added_in_order(weights))


def _doubled_wins(
    draws: DrawContext, call: MetricCall, codes: list[int], values: Values, key: str
) -> tuple[Floats, Floats]:
    """Twice the wins of each class over each other one, classes × classes × draws, and the sizes of the classes."""
    place = np.full(int(draws.case.gold.codes.max()) + 1, -1, dtype=np.int64)
    place[codes] = np.arange(len(codes))
    gold = place[draws.case.gold.codes]
    name = f"pairs {codes}"
    sizes = draws.sum_by(name, gold, len(codes))
    doubled = np.empty((len(codes), len(codes), draws.draws))
    for row, code in enumerate(codes):
        make = partial(_OrderedRows, values(code), gold, row)
        ordered: _OrderedRows = draws.rows.shared((name, key, code), make)
        doubled[row] = ordered.doubled_wins(draws, TIE_CREDIT_IN_HALVES[call.params["ties"]], sizes[row], len(codes))
    return doubled, sizes


class _OrderedRows:
    """The rows of the compared classes by the scores of one of them, grouped by class."""

    def __init__(self, values: Floats, gold: NDArray[np.int64], own: int) -> None:
        distinct, self._own_codes = np.unique(values[gold == own], return_inverse=True)
        self._own_rows = np.flatnonzero(gold == own)
        self._scores = len(distinct)
        self._rows = np.flatnonzero(gold >= 0)[np.argsort(gold[gold >= 0], kind="stable")]
        self._starts = np.searchsorted(gold[self._rows], np.arange(int(gold.max()) + 1))
        self._at = np.searchsorted(distinct, values[self._rows])
        self._tied = np.append(distinct, np.nan)[self._at] == values[self._rows]

    def doubled_wins(self, draws: DrawContext, credit: int, size: Floats, classes: int) -> Floats:
        """Twice the wins over each class in each draw; ties count `credit` halves."""
        own = np.zeros((self._scores + 1, draws.draws))
        np.add.at(own, self._own_codes, draws.weights[self._own_rows])
        reached = np.cumsum(own, axis=0)
        beaten = 2 * (size - reached[self._at])
        ties = 2 * own[self._at]
        beaten += np.where(self._tied[:, None], credit * own[self._at], ties)
        return np.add.reduceat(beaten * draws.weights[self._rows], self._starts, axis=0)[:classes]
