"""Where the positives of a label stand among its scores: what the areas under ROC and precision-recall curves are made of.

A column of scores is sorted once, as values alone: no score is led back to its instance, so the order of the instances
cannot matter. All counts are integers, of instances or of their weights.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.scoring.numeric.correct_rounding import Real, quotient_sum
from app.scoring.numeric.exact import Floats, Integers, multiply, total

Mask = NDArray[np.bool_]
TIE_CREDIT_IN_HALVES = {"half": 1, "full": 2, "zero": 0}
"""What a positive and a negative with the same score count, in halves."""


@dataclass(frozen=True, slots=True)
class ScoreRanks:
    """One entry per distinct score of the positives, the highest first.

    `hits` positives have that score and `tied` negatives too; `ahead` negatives have a higher one. `positives` and
    `negatives` are all there are.
    """

    positives: int
    negatives: int
    positives_at_score: Integers
    tied: Integers
    ahead: Integers

    @property
    def positives_at_or_above(self) -> Integers:
        """How many positives have that score or a higher one."""
        return np.asarray(np.cumsum(self.positives_at_score))


def rank_positives(values: Floats, own: Mask, weights: Integers | None = None) -> ScoreRanks:
    """The ranks of the positives `own` (n) among the values (n, higher is surer); `weights` (n) are whole numbers ≥ 1.

    Twice the sum of the weights has to fit their type: int64, or Python's integers.
    """
    every, mass = sort_with_cumulative_weights(values, weights)
    mine, own_mass = sort_with_cumulative_weights(values[own], None if weights is None else weights[own])
    starts = first_occurrences(mine)
    hits = np.diff(weight_before(np.append(starts, len(mine)), own_mass))
    scores = mine[starts]
    low = weight_before(np.searchsorted(every, scores, "left"), mass)
    high = weight_before(np.searchsorted(every, scores, "right"), mass)
    positives, everything = total_weight(mine, own_mass), total_weight(every, mass)
    above = positives - np.cumsum(hits)  # positives with a higher score
    return ScoreRanks(
        positives=positives,
        negatives=everything - positives,
        positives_at_score=hits[::-1],
        tied=(high - low - hits)[::-1],
        ahead=(everything - high - above)[::-1],
    )


def sort_with_cumulative_weights(values: Floats, weights: Integers | None) -> tuple[Floats, Integers | None]:
    """The values sorted, and with weights what the first 0, 1 … n of them weigh."""
    if weights is None:
        return np.sort(values), None
    order = np.argsort(values)
    return values[order], np.concatenate([[0], np.cumsum(weights[order])])


def first_occurrences(ordered: Floats) -> Integers:
    """The positions at which a new value begins."""
    new = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    return np.flatnonzero(new)


def weight_before(positions: Integers, mass: Integers | None) -> Integers:
    """How much stands before these positions: as many as they say, or what those weigh."""
    return positions if mass is None else mass[positions]


def total_weight(ordered: Floats, mass: Integers | None) -> int:
    """How much there is of these values."""
    return len(ordered) if mass is None else int(mass[-1])


def doubled_wins(ranks: ScoreRanks, ties: str) -> int:
    """Twice the number of pairs of a positive and a negative in which the positive scores higher; `ties` names TIES.

    With half ties it is twice the statistic U of Mann & Whitney 1947; over 2·n₊·n₋ it is the AUC.
    """
    beaten = ranks.negatives - ranks.ahead - ranks.tied
    return total(multiply(ranks.positives_at_score, 2 * beaten + TIE_CREDIT_IN_HALVES[ties] * ranks.tied))


def _precision_terms(ranks: ScoreRanks) -> tuple[Integers, Integers]:
    """The precision at each score of a positive, each times the positives that have it."""
    found = ranks.positives_at_or_above
    return multiply(ranks.positives_at_score, found), found + ranks.ahead + ranks.tied


def _previous_precision_terms(ranks: ScoreRanks) -> tuple[Integers, Integers]:
    """The same with the precision at the next higher score of any instance; 1 where there is none."""
    before = ranks.positives_at_or_above - ranks.positives_at_score
    chosen = before + ranks.ahead
    none = chosen == 0
    return np.where(none, ranks.positives_at_score, multiply(ranks.positives_at_score, before)), np.where(
        none, 1, chosen
    )


def average_precision_sum(ranks: ScoreRanks) -> Real:
    """n₊ times the average precision: over all distinct scores, the positives there times the precision there."""
    return _lazy_sum(_precision_terms, ranks)


def trapezoid_sum(ranks: ScoreRanks) -> Real:
    """2·n₊ times the area under straight lines between the points of the precision-recall curve, from (0, 1) on."""
    return _lazy_sum(_precision_terms, ranks) + _lazy_sum(_previous_precision_terms, ranks)


def _lazy_sum(terms: Callable[[ScoreRanks], tuple[Integers, Integers]], ranks: ScoreRanks) -> Real:
    """The sum of terms that are made when it is asked for: of many labels they would not all be held at once."""
    return Real(lambda bits: quotient_sum(*terms(ranks)).bounds(bits))
