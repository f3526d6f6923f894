"""The ranks of a label's positives in many draws at once, and the areas and points of curves derived from them.

The scores are sorted once; a draw only changes how much each of them weighs.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.scoring.declaration.metric import MetricCall
from app.scoring.draw_context import DrawContext, Floats, added_in_order, divide_draws
from app.scoring.score_ranks import TIE_CREDIT_IN_HALVES, Mask, first_occurrences

_PART_CELLS = 2**21
"""Cells of one table of a part of the draws; several tables are in memory together."""


@dataclass(frozen=True, slots=True)
class RankedRows:
    """What a draw of the ranks needs and no draw changes: `codes` say what each row is.

    For the k-th distinct score of the positives, the highest first: 3k a negative above it and below the one before, 3k+1
    a negative tied with it, 3k+2 a positive. `scores` is the number of these scores; 3·scores a negative below all.
    """

    codes: NDArray[np.int64]
    scores: int

    @classmethod
    def of(cls, values: Floats, own: Mask) -> "RankedRows":
        """The rows with these scores (higher means more confidence), of which the mask marks the positives."""
        positive_values = np.sort(values[own])
        distinct = positive_values[first_occurrences(positive_values)]
        count = len(distinct)
        reached = np.searchsorted(distinct, values, "right")  # how many of the distinct scores are at most the value
        tied = (np.append(distinct, np.nan)[reached - 1] == values) & (reached > 0)
        codes = np.where(tied, 3 * (count - reached) + 1, 3 * (count - reached))
        return cls(np.where(own, 3 * (count - reached) + 2, codes), count)


@dataclass(frozen=True, slots=True)
class DrawRanks:
    """`ScoreRanks` for many draws: scores × draws, and totals per draw. A score may have no positive in a draw."""

    positives: Floats
    negatives: Floats
    positives_at_score: Floats
    tied: Floats
    ahead: Floats
    positives_at_or_above: Floats


DrawMeasure = Callable[[DrawRanks, MetricCall], Floats]


def draw_ranks(draws: DrawContext, key: str, ranked: RankedRows, rows: NDArray[np.integer] | None = None) -> DrawRanks:
    """The ranks in each draw; `key` names the ranked rows, and `rows` has the row of each, None where it is the same."""
    counts = draws.sum_by(f"ranks {key}", ranked.codes, 3 * ranked.scores + 1, rows)
    between, tied, positives = counts[0:-1:3], counts[1::3], counts[2::3]
    ahead = np.cumsum(between, axis=0)
    ahead[1:] += np.cumsum(tied, axis=0)[:-1]
    reached = np.cumsum(positives, axis=0)
    last = np.add.reduce(counts[0::3], axis=0) + np.add.reduce(tied, axis=0)
    return DrawRanks(np.add.reduce(positives, axis=0), last, positives, tied, ahead, reached)


def in_parts(draws: DrawContext, cells: int, compute: Callable[[DrawContext], Floats]) -> Floats:
    """The values of all draws, computed for so many at a time that tables of cells × draws stay small."""
    step = max(1, _PART_CELLS // max(1, cells))
    parts = [compute(draws.columns(start, start + step)) for start in range(0, draws.draws, step)]
    return np.concatenate(parts)


def roc_area_draws(ranks: DrawRanks, call: MetricCall) -> Floats:
    """The area under the ROC curve; NaN without positives or negatives."""
    beaten = ranks.negatives - ranks.ahead - ranks.tied
    credit = TIE_CREDIT_IN_HALVES[call.params["ties"]]
    wins = added_in_order(ranks.positives_at_score * (2 * beaten + credit * ranks.tied))
    return divide_draws(wins, 2 * ranks.positives * ranks.negatives)


def _precision_sum(ranks: DrawRanks) -> Floats:
    chosen = ranks.positives_at_or_above + ranks.ahead + ranks.tied
    precision = np.divide(ranks.positives_at_or_above, chosen, out=np.zeros(chosen.shape), where=chosen > 0)
    return added_in_order(ranks.positives_at_score * precision)


def step_area_draws(ranks: DrawRanks, _: MetricCall) -> Floats:
    """The average precision; NaN without positives."""
    return divide_draws(_precision_sum(ranks), ranks.positives)


def trapezoid_area_draws(ranks: DrawRanks, _: MetricCall) -> Floats:
    """The area under the precision-recall curve by straight lines; NaN without positives."""
    before = ranks.positives_at_or_above - ranks.positives_at_score
    chosen = before + ranks.ahead
    previous = np.divide(before, chosen, out=np.ones(chosen.shape), where=chosen > 0)
    previous_sum = added_in_order(ranks.positives_at_score * previous)
    return divide_draws(_precision_sum(ranks) + previous_sum, 2 * ranks.positives)


def partial_roc_area_draws(ranks: DrawRanks, max_fpr: float) -> Floats:
    """The area under the ROC curve up to a false positive rate; NaN without positives or negatives."""
    limit = max_fpr * ranks.negatives
    before = ranks.positives_at_or_above - ranks.positives_at_score
    end = ranks.ahead + ranks.tied
    start = np.zeros(end.shape)
    start[1:] = end[:-1]
    flat = before * (np.minimum(ranks.ahead, limit) - np.minimum(start, limit))
    inside = np.minimum(end, limit) - np.minimum(ranks.ahead, limit)
    rise = np.divide(inside, ranks.tied, out=np.zeros(end.shape), where=ranks.tied > 0)
    slanted = inside * (before + ranks.positives_at_score * rise / 2)
    reached = end[-1] if len(end) else np.zeros_like(limit)
    last = ranks.positives * (limit - np.minimum(reached, limit))
    return divide_draws(added_in_order(flat + slanted) + last, ranks.positives * ranks.negatives)


def fp_at_recall_draws(ranks: DrawRanks, min_tp: Floats) -> Floats:
    """The fewest false positives of any threshold with at least so many true positives."""
    if not len(ranks.ahead):
        return np.zeros(len(min_tp))
    at = np.argmax(ranks.positives_at_or_above >= min_tp, axis=0)
    columns = np.arange(len(min_tp))
    return np.where(min_tp > 0, ranks.ahead[at, columns] + ranks.tied[at, columns], 0.0)


def equal_error_rate_draws(ranks: DrawRanks) -> Floats:
    """The rate at which the false positive rate equals the false negative rate; NaN without positives or negatives."""
    shape = (2 * len(ranks.ahead) + 2, len(ranks.positives))
    fp, tp = np.zeros(shape), np.zeros(shape)
    fp[1:-1:2], fp[2::2], fp[-1] = ranks.ahead, ranks.ahead + ranks.tied, ranks.negatives
    tp[1:-1:2] = ranks.positives_at_or_above - ranks.positives_at_score
    tp[2::2], tp[-1] = ranks.positives_at_or_above, ranks.positives
    progress, equal = ranks.positives * fp + ranks.negatives * tp, ranks.positives * ranks.negatives
    at, columns = np.argmax(progress >= equal, axis=0), np.arange(shape[1])
    earlier = np.maximum(at - 1, 0)
    before, after = progress[earlier, columns], progress[at, columns]
    first, last = fp[earlier, columns], fp[at, columns]
    share = divide_draws(equal - before, after - before)
    return divide_draws(first + share * (last - first), ranks.negatives)
