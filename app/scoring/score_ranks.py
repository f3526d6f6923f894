"""Ranks of a label's positives among its scores, the basis of the areas under ROC and precision-recall curves.

A column of scores is sorted once, as plain values that are not traced back to instances, so the order of the instances
cannot matter. All counts are integers: numbers of instances or sums of their whole-number weights.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.scoring.numeric.correct_rounding import Real, lazy_real, quotient_sum
from app.scoring.numeric.exact import Floats, Integers, multiply, total

Mask = NDArray[np.bool_]
TIE_CREDIT_IN_HALVES = {"half": 1, "full": 2, "zero": 0}
"""The credit of a tied pair of a positive and a negative, in halves, so that sums of credits stay integers."""


@dataclass(frozen=True, slots=True)
class ScoreRanks:
    """One entry per distinct score of the positives, the highest first.

    `positives_at_score` positives and `tied` negatives have that score; `ahead` negatives have a higher one.
    `positives` and `negatives` are the totals.
    """

    positives: int
    negatives: int
    positives_at_score: Integers
    tied: Integers
    ahead: Integers

    @property
    def positives_at_or_above(self) -> Integers:
        """The number of positives with that score or a higher one."""
        return np.asarray(np.cumsum(self.positives_at_score))


def rank_positives(values: Floats, is_positive: Mask, weights: Integers | None = None) -> ScoreRanks:
    """The ranks of the positives `is_positive` (n) among the values (n); `weights` (n) are whole numbers ≥ 1.

    Higher values mean more confidence. Twice the sum of the weights must fit their type, int64 or Python's integers.
    """
    every, mass = sort_with_cumulative_weights(values, weights)
    positive_values, positive_mass = sort_with_cumulative_weights(
        values[is_positive], None if weights is None else weights[is_positive]
    )
    starts = first_occurrences(positive_values)
    hits = np.diff(weight_before(np.append(starts, len(positive_values)), positive_mass))
    scores = positive_values[starts]
    low = weight_before(np.searchsorted(every, scores, "left"), mass)
    high = weight_before(np.searchsorted(every, scores, "right"), mass)
    positives, count = total_weight(positive_values, positive_mass), total_weight(every, mass)
    above = positives - np.cumsum(hits)  # positives with a higher score
    return ScoreRanks(
        positives=positives,
        negatives=count - positives,
        positives_at_score=hits[::-1],
        tied=(high - low - hits)[::-1],
        ahead=(count - high - above)[::-1],
    )


def sort_with_cumulative_weights(values: Floats, weights: Integers | None) -> tuple[Floats, Integers | None]:
    """The sorted values, and with weights the total weight of the first 0, 1 … n of them."""
    if weights is None:
        return np.sort(values), None
    order = np.argsort(values)
    return values[order], np.concatenate([[0], np.cumsum(weights[order])])


def first_occurrences(ordered: Floats) -> Integers:
    """The positions at which a new value begins in a sorted array."""
    new = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    return np.flatnonzero(new)


def weight_before(positions: Integers, mass: Integers | None) -> Integers:
    """The number of values before these positions, or their total weight."""
    return positions if mass is None else mass[positions]


def total_weight(ordered: Floats, mass: Integers | None) -> int:
    """The number of values, or their total weight."""
    return len(ordered) if mass is None else int(mass[-1])


def doubled_wins(ranks: ScoreRanks, ties: str) -> int:
    """Twice the number of pairs of a positive and a negative in which the positive scores higher.

    `ties` is a key of TIE_CREDIT_IN_HALVES. With half ties, the result is twice the statistic U of Mann & Whitney 1947;
    divided by 2·n₊·n₋ it is the AUC. Doubling keeps half ties integers.
    """
    beaten = ranks.negatives - ranks.ahead - ranks.tied
    return total(multiply(ranks.positives_at_score, 2 * beaten + TIE_CREDIT_IN_HALVES[ties] * ranks.tied))


def _precision_terms(ranks: ScoreRanks) -> tuple[Integers, Integers]:
    """The precision at each score of a positive, times the number of positives with that score."""
    positives = ranks.positives_at_or_above
    return multiply(ranks.positives_at_score, positives), positives + ranks.ahead + ranks.tied


def _previous_precision_terms(ranks: ScoreRanks) -> tuple[Integers, Integers]:
    """The same with the precision at the next higher score of any instance; 1 at the highest score."""
    before = ranks.positives_at_or_above - ranks.positives_at_score
    chosen = before + ranks.ahead
    none = chosen == 0
    return np.where(none, ranks.positives_at_score, multiply(ranks.positives_at_score, before)), np.where(
        none, 1, chosen
    )


def average_precision_sum(ranks: ScoreRanks) -> Real:
    """n₊ times the average precision: the sum over all distinct scores of positives × precision at that score."""
    return _lazy_sum(_precision_terms, ranks)


def trapezoid_sum(ranks: ScoreRanks) -> Real:
    """2·n₊ times the area under the precision-recall curve with straight lines between its points, from (0, 1)."""
    return _lazy_sum(_precision_terms, ranks) + _lazy_sum(_previous_precision_terms, ranks)


def _lazy_sum(terms: Callable[[ScoreRanks], tuple[Integers, Integers]], ranks: ScoreRanks) -> Real:
    """The sum of terms that are computed on demand, so that the terms of many labels are never in memory together."""
    return lazy_real(lambda: quotient_sum(*terms(ranks)))
