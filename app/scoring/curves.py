"""The ROC and precision-recall curves of one label as integer counts, and the areas and points that are read off them."""

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
    """One entry per distinct score, the highest first: what a threshold of that score (reached by ≥) finds.

    `tp` positives and `fp` negatives score as high or higher; `positives` and `negatives` are all there are.
    """

    thresholds: Floats
    tp: Integers
    fp: Integers
    positives: int
    negatives: int


def threshold_counts(values: Floats, own: Mask, weights: Integers | None = None) -> ThresholdCounts:
    """The steps of the positives `own` (n) among the values (n, higher is surer); `weights` (n) are whole numbers ≥ 1."""
    every, mass = sort_with_cumulative_weights(values, weights)
    mine, own_mass = sort_with_cumulative_weights(values[own], None if weights is None else weights[own])
    starts = first_occurrences(every)[::-1]
    thresholds = every[starts]
    positives, everything = total_weight(mine, own_mass), total_weight(every, mass)
    tp = positives - weight_before(np.searchsorted(mine, thresholds), own_mass)
    chosen = everything - weight_before(starts, mass)
    return ThresholdCounts(thresholds, tp, chosen - tp, positives, everything - positives)


def corner_mask(across: Integers, up: Integers) -> Mask:
    """Which points of a line lie between others on a straight piece of it (False), by exact integers; ends are kept.

    `across` and `up` (k) never fall, and no two neighbours are the same point.
    """
    kept = np.ones(len(across), dtype=bool)
    dx, dy = np.diff(across), np.diff(up)
    kept[1:-1] = multiply(dx[:-1], dy[1:]) != multiply(dx[1:], dy[:-1])
    return kept


def run_end_mask(levels: Integers) -> Mask:
    """Which points are the first or the last of a run of equal levels (k)."""
    changes = np.diff(levels) != 0
    return np.asarray(np.append(True, changes) | np.append(changes, True))


@dataclass(frozen=True, slots=True)
class RocCorners:
    """The ROC curve in counts, from (0, 0) to (n₋, n₊): corners with straight lines between them, some lying on one."""

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
    """The ROC curve of a label: level between the scores of positives, slanted where negatives tie with them."""
    found = ranks.positives_at_or_above
    fp = np.stack([ranks.ahead, ranks.ahead + ranks.tied], axis=1).ravel()
    tp = np.stack([found - ranks.positives_at_score, found], axis=1).ravel()
    return RocCorners(
        np.concatenate([[0], fp, [ranks.negatives]]),
        np.concatenate([[0], tp, [ranks.positives]]),
    )


def partial_roc_area(curve: RocCorners, most: Fraction) -> Fraction:
    """The area under the ROC curve from false positive rate 0 to `most` (0 … 1), exact, in 0 … `most`."""
    limit = most * curve.negatives
    inside = int(np.searchsorted(curve.fp, math.floor(limit), "right"))
    fp, tp = curve.fp[:inside], curve.tp[:inside]
    doubled = Fraction(total(multiply(np.diff(fp), tp[1:] + tp[:-1])))
    if inside < len(curve.fp):
        width = limit - int(fp[-1])
        rise = Fraction(int(curve.tp[inside] - tp[-1]), int(curve.fp[inside] - fp[-1])) * width
        doubled += width * (2 * int(tp[-1]) + rise)
    return doubled / (2 * curve.positives * curve.negatives)


def standardize_partial_area(area: Fraction, most: Fraction) -> Fraction:
    """McClish 1989: the partial area such that chance gives 1/2 and a perfect ranking 1."""
    least = most * most / 2
    return (1 + (area - least) / (most - least)) / 2


def equal_error_rate(curve: RocCorners) -> Fraction:
    """The rate at which the share of negatives accepted and of positives missed are the same, on the lines of the curve."""
    positives, negatives = curve.positives, curve.negatives
    progress = linear_combination((positives, negatives), (curve.fp, curve.tp))  # the rates meet where it is n₊·n₋
    at = int(np.argmax(progress >= positives * negatives))
    before, after = int(progress[at - 1]), int(progress[at])
    first, last = int(curve.fp[at - 1]), int(curve.fp[at])
    share = Fraction(positives * negatives - before, after - before)
    return (first + share * (last - first)) / negatives


def fp_at_recall(ranks: ScoreRanks, recall: Fraction) -> int:
    """The fewest false positives of any threshold that finds at least this share (0 … 1) of the positives."""
    wanted = math.ceil(recall * ranks.positives)
    if wanted == 0:
        return 0
    at = int(np.searchsorted(ranks.positives_at_or_above, wanted))
    return int(ranks.ahead[at] + ranks.tied[at])


def delong_variance(steps: ThresholdCounts) -> Fraction:
    """The variance of the AUC estimate from its structural components, exact; at least two positives and negatives.

    DeLong, DeLong & Clarke-Pearson 1988; from mid-ranks as in Sun & Xu 2014, in integers.
    """
    hits, misses = np.diff(steps.tp, prepend=0), np.diff(steps.fp, prepend=0)
    wins = 2 * (steps.negatives - steps.fp) + misses  # twice the negatives that a positive of this score beats
    losses = 2 * (steps.tp - hits) + hits  # twice the positives that beat a negative of this score
    p, n = steps.positives, steps.negatives
    doubled = total(multiply(hits, wins))
    spread_p = p * _weighted_square_sum(hits, wins) - doubled * doubled
    spread_n = n * _weighted_square_sum(misses, losses) - doubled * doubled
    return Fraction(spread_p * (n - 1) + spread_n * (p - 1), 4 * p * p * n * n * (p - 1) * (n - 1))


def _weighted_square_sum(often: Integers, values: Integers) -> int:
    return total(multiply(often, multiply(values, values)))
