"""Discounted cumulative gain of the k labels ranked first: the gain of a relevant label falls with its position.

The discount 1 / log2(1 + position) is stored as an integer multiple of 2^-46, so that gains add up exactly in any order.
Tied labels share the mean discount of their positions.
"""

from functools import partial

import numpy as np

from app.scoring.declaration.distinct_value_bounds import LABEL_WEIGHTS
from app.scoring.declaration.metric import Compute, MetricCall, Result
from app.scoring.label_ranking import Int, LabelRanks
from app.scoring.metrics.rankings.ranking_inputs import (
    COUNTED_INSTANCES_SYMBOLS,
    DEPTH_SYMBOLS,
    K_PARAM,
    PAD_PARAM,
    InstanceRatios,
    Ratios,
    declare_ranking_metric,
    degenerate_param,
    mean_ratio,
    mean_ratio_draws,
    ranking_depth,
    ranking_example,
    ranks_of_case,
    ties_param,
)
from app.scoring.metrics.shared_declarations import ROUNDED_SCORE_PROPERTIES, UNBOUNDED_RANGE
from app.scoring.numeric.exact import round_to_12_digits
from app.scoring.ranking_ties import TIE_RULES, positions
from app.scoring.tally import EvaluationContext

DISCOUNT_UNITS = 2**46


def discounts(k: int) -> Int:
    """The discounts of positions 0 (always 0) to k, as integers in units of 1 / DISCOUNT_UNITS."""
    positions = np.arange(1, k + 1)
    return np.concatenate([[0], np.rint(DISCOUNT_UNITS / np.log2(positions + 1.0))]).astype(np.int64)


def gains(ranks: LabelRanks, k: int, rule: str, order_in_tie: Int | None = None) -> Int:
    """The gain of each relevant label in units of 1 / DISCOUNT_UNITS; 0 beyond position k.

    `order_in_tie` orders tied relevant labels among each other; by default they are in the order of the classes.
    """
    discount = discounts(k)
    if rule != "average":
        position = positions(ranks, rule, order_in_tie)
        return np.where(position <= k, discount[np.minimum(position, k)], 0)
    cumulative = np.cumsum(discount)
    start, end = np.minimum(ranks.above, k), np.minimum(ranks.above + ranks.tied, k)
    shared = cumulative[end] - cumulative[start]
    return np.asarray(shared // ranks.tied + (2 * (shared % ranks.tied) >= ranks.tied))


def ideal_gains(ranks: LabelRanks, k: int) -> Int:
    """The largest possible gain of each instance (all relevant labels first), in units of 1 / DISCOUNT_UNITS."""
    return np.asarray(np.cumsum(discounts(k))[np.minimum(ranks.sizes, k)])


def dcg_at_k(ws: EvaluationContext, call: MetricCall) -> InstanceRatios:
    """The summed discounts of the relevant labels among the first k."""
    k, ranks = ranking_depth(ws, call), ranks_of_case(ws, call)
    dcg = ranks.sums(gains(ranks, k, call.params["ties"]))
    return InstanceRatios(dcg, np.full(len(dcg), DISCOUNT_UNITS))


def ndcg_at_k(ws: EvaluationContext, call: MetricCall) -> InstanceRatios:
    """The gain / largest possible gain."""
    k, ranks = ranking_depth(ws, call), ranks_of_case(ws, call)
    dcg = ranks.sums(gains(ranks, k, call.params["ties"]))
    return InstanceRatios(dcg, ideal_gains(ranks, k), ranks.sizes == 0)


def _rounded_mean(ratios: Ratios) -> Compute:
    """The mean over instances, rounded to 12 digits."""
    mean = mean_ratio(ratios)
    return lambda ws, call: _round_result(mean(ws, call))


def _round_result(result: Result) -> Result:
    assert result.value is not None
    return Result(round_to_12_digits(result.value), None, result.notes)


_DCG = r"\sum_{p=1}^{\param{k}} \frac{y_{ip}}{\log_{2}(1+p)}"
_SYMBOLS = {
    **DEPTH_SYMBOLS,
    "p": "runs over the positions of the ranking",
    "y_{ip}": "1 where the label at position p is relevant for instance i, else 0",
}

_declare = partial(declare_ranking_metric, granularity=LABEL_WEIGHTS, properties=ROUNDED_SCORE_PROPERTIES)

_declare(
    key="dcg_at_k",
    name="discounted cumulative gain at k",
    names=("DCG@k", "DCG", "dcg_score"),
    equation=rf"\frac{{1}}{{n}}\sum_{{i=1}}^{{n}} {_DCG}",
    range=UNBOUNDED_RANGE,
    params=(K_PARAM, ties_param(*TIE_RULES, default="average"), PAD_PARAM),
    source="Järvelin & Kekäläinen 2002, Cumulated gain-based evaluation of IR techniques; ties: McSherry & Najork 2008",
    example=ranking_example("0.753953169048", k="2"),
    compute=_rounded_mean(dcg_at_k),
    compute_draws=mean_ratio_draws(dcg_at_k),
    symbols=_SYMBOLS,
    peers={
        "scikit-learn": "dcg_score with k; ties are averaged too, unless ignore_ties is set: then argsort orders them",
        "napkinXC": "dcg_at_k; argsort decides the order of tied labels",
    },
)
_declare(
    key="ndcg_at_k",
    name="normalized discounted cumulative gain at k",
    names=("nDCG@k", "nDCG", "ndcg_score"),
    equation=rf"\frac{{1}}{{n}}\sum_{{i=1}}^{{n}} \frac{{{_DCG}}}{{\sum_{{p=1}}^{{\min(\param{{k}},|Y_{{i}}|)}} \frac{{1}}{{\log_{{2}}(1+p)}}}}",
    params=(
        K_PARAM,
        ties_param("average", "declared", default="average"),
        PAD_PARAM,
        degenerate_param("0"),
    ),
    source="Järvelin & Kekäläinen 2002, Cumulated gain-based evaluation of IR techniques; linear gains; ties: "
    "McSherry & Najork 2008",
    example=ranking_example("0.54364325119", k="2"),
    compute=_rounded_mean(ndcg_at_k),
    compute_draws=mean_ratio_draws(ndcg_at_k),
    symbols={**_SYMBOLS, **COUNTED_INSTANCES_SYMBOLS},
    peers={
        "scikit-learn": "ndcg_score with k, with degenerate_instance=best_value; ties are averaged there too unless "
        "ignore_ties",
        "torchmetrics": "retrieval_normalized_dcg, with degenerate_instance=best_value; in older versions argsort orders ties",
        "XML repository": "nDCG_k, with degenerate_instance=best_value; labels that score 0 are not ranked there, and the "
        "sort decides the order of tied labels",
        "napkinXC": "ndcg_at_k of its module metrics, with degenerate_instance=best_value; the one of the older module "
        "measures divides by the gain of k relevant labels, even if there are fewer",
        "pyxclib": "ndcg, with degenerate_instance=best_value",
    },
)
