"""The ROC and precision-recall curves of one label as integer counts, and areas and points derived from them."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from app.scoring.numeric.exact import Floats, Integers, linear_combination, multiply, total
from app.scoring.score_ranks import (
    Mask,
    ScoreRanks,
    first_occurrences,
    sort_with_cumulative_weights,
    total_weight,
    weight_before,
)


@dataclass(frozen=True, slots=True)
class ThresholdCounts:
    """One entry per distinct score, the highest first: the counts if that score is the threshold (reached by ≥).

    `tp` positives and `fp` negatives score as high or higher. `positives` and `negatives` are the totals.
    """

    thresholds: Floats
    tp: Integers
    fp: Integers
    positives: int
    negatives: int


def threshold_counts(values: Floats, is_positive: Mask, weights: Integers | None = None) -> ThresholdCounts:
    """The counts for the positives `is_positive` (n) among the values (n); `weights` (n) are whole numbers ≥ 1."""
    every, mass = sort_with_cumulative_weights(values, weights)
    positive_values, positive_mass = sort_with_cumulative_weights(
        values[is_positive], None if weights is None else weights[is_positive]
    )
    starts = first_occurrences(every)[::-1]
    thresholds = every[starts]
    positives, count = total_weight(positive_values, positive_mass), total_weight(every, mass)
    tp = positives - weight_before(np.searchsorted(positive_values, thresholds), positive_mass)
    predicted = count - weight_before(starts, mass)
    return ThresholdCounts(thresholds, tp, predicted - tp, positives, count - positives)


def corner_mask(across: Integers, up: Integers) -> Mask:
    """Which points (k) of a polyline are corners or ends (True), and which lie on a straight piece (False).

    The coordinates `across` and `up` never decrease, and no two neighbours are the same point. Slopes are compared by
    exact integer products, because equal slopes may differ as quotients of floats.
    """
    corners = np.ones(len(across), dtype=bool)
    dx, dy = np.diff(across), np.diff(up)
    corners[1:-1] = multiply(dx[:-1], dy[1:]) != multiply(dx[1:], dy[:-1])
    return corners


def run_end_mask(levels: Integers) -> Mask:
    """Which points are the first or the last of a run of equal levels (k)."""
    changes = np.diff(levels) != 0
    return np.asarray(np.append(True, changes) | np.append(changes, True))


@dataclass(frozen=True, slots=True)
class RocCorners:
    """The ROC curve in counts, from (0, 0) to (n₋, n₊), with straight lines between points; some may be collinear."""

    fp: Integers
    tp: Integers

    @property
    def negatives(self) -> int:
        """All negatives."""
        return int(self.fp[-1])

    @property
    def positives(self) -> int:
        """All positives."""
        return int(self.tp[-1])


def roc_corners(ranks: ScoreRanks) -> RocCorners:
    """The ROC curve of a label: horizontal between the scores of positives, slanted where negatives tie with them."""
    reached = ranks.positives_at_or_above
    fp = np.stack([ranks.ahead, ranks.ahead + ranks.tied], axis=1).ravel()
    tp = np.stack([reached - ranks.positives_at_score, reached], axis=1).ravel()
    return RocCorners(np.concatenate([[0], fp, [ranks.negatives]]), np.concatenate([[0], tp, [ranks.positives]]))


def partial_roc_area(curve: RocCorners, max_fpr: Fraction) -> Fraction:
    """The exact area under the ROC curve from false positive rate 0 to `max_fpr` (0 … 1), in 0 … `max_fpr`."""
    limit = max_fpr * curve.negatives
    inside = int(np.searchsorted(curve.fp, math.floor(limit), "right"))
    fp, tp = curve.fp[:inside], curve.tp[:inside]
    twice_area = Fraction(total(multiply(np.diff(fp), tp[1:] + tp[:-1])))
    if inside < len(curve.fp):
        width = limit - int(fp[-1])
        rise = Fraction(int(curve.tp[inside] - tp[-1]), int(curve.fp[inside] - fp[-1])) * width
        twice_area += width * (2 * int(tp[-1]) + rise)
    return twice_area / (2 * curve.positives * curve.negatives)


def standardize_partial_area(area: Fraction, max_fpr: Fraction) -> Fraction:
    """McClish 1989: rescale the partial area so that chance gives 1/2 and a perfect ranking 1."""
    chance_area = max_fpr * max_fpr / 2
    return (1 + (area - chance_area) / (max_fpr - chance_area)) / 2


def equal_error_rate(curve: RocCorners) -> Fraction:
    """The rate at which the false positive rate equals the false negative rate, interpolated along the curve."""
    positives, negatives = curve.positives, curve.negatives
    progress = linear_combination((positives, negatives), (curve.fp, curve.tp))  # the rates are equal where it is n₊·n₋
    at = int(np.argmax(progress >= positives * negatives))
    before, after = int(progress[at - 1]), int(progress[at])
    first, last = int(curve.fp[at - 1]), int(curve.fp[at])
    share = Fraction(positives * negatives - before, after - before)
    return (first + share * (last - first)) / negatives


def fp_at_recall(ranks: ScoreRanks, recall: Fraction) -> int:
    """The fewest false positives of any threshold that reaches at least this recall (0 … 1)."""
    min_tp = math.ceil(recall * ranks.positives)
    if min_tp == 0:
        return 0
    at = int(np.searchsorted(ranks.positives_at_or_above, min_tp))
    return int(ranks.ahead[at] + ranks.tied[at])


def delong_variance(steps: ThresholdCounts) -> Fraction:
    """The exact variance of the AUC estimate from its structural components; needs two positives and two negatives.

    DeLong, DeLong & Clarke-Pearson 1988; from mid-ranks as in Sun & Xu 2014, in integers.
    """
    positives_here, negatives_here = np.diff(steps.tp, prepend=0), np.diff(steps.fp, prepend=0)
    # Twice the negatives that a positive of this score beats, and twice the positives that beat a negative of it. A tie
    # counts one half, so doubling keeps all counts integers.
    wins = 2 * (steps.negatives - steps.fp) + negatives_here
    losses = 2 * (steps.tp - positives_here) + positives_here
    p, n = steps.positives, steps.negatives
    twice_wins = total(multiply(positives_here, wins))
    spread_p = p * _weighted_square_sum(positives_here, wins) - twice_wins * twice_wins
    spread_n = n * _weighted_square_sum(negatives_here, losses) - twice_wins * twice_wins
    return Fraction(spread_p * (n - 1) + spread_n * (p - 1), 4 * p * p * n * n * (p - 1) * (n - 1))


def _weighted_square_sum(weights: Integers, values: Integers) -> int:
    return total(multiply(weights, multiply(values, values)))
