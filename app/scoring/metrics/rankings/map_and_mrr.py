"""Measures of the positions of relevant labels: mean average precision at k and mean reciprocal rank."""

from collections.abc import Callable
from functools import partial

import numpy as np

from app.scoring.declaration.distinct_value_bounds import HITS, ORDER
from app.scoring.declaration.metric import MetricCall, Result
from app.scoring.draw_context import InstanceValues
from app.scoring.label_ranking import UNLISTED, LabelRanks
from app.scoring.metrics.rankings.ranking_inputs import (
    COUNTED_INSTANCES_SYMBOLS,
    DEPTH_SYMBOLS,
    K_PARAM,
    PAD_PARAM,
    TIES_PARAM,
    InstanceMeans,
    declare_ranking_metric,
    degenerate_param,
    mean_draws,
    ranking_depth,
    ranking_example,
    ranks_of_case,
    sum_by_instance,
    values_with_degenerate,
)
from app.scoring.numeric.correct_rounding import Real, lazy_real, sum_reals
from app.scoring.numeric.exact import Integers, divide, multiply
from app.scoring.ranking_ties import (
    Terms,
    best_relevant_labels,
    expected_reciprocal_rank,
    first_positions,
    precisions_within,
)
from app.scoring.tally import EvaluationContext


def map_at_k(ws: EvaluationContext, call: MetricCall) -> Result:
    """The sum of precisions at the relevant positions up to k, divided by min(k, number of relevant labels)."""
    ranks, parts = _precision_terms(ws, call)
    means = InstanceMeans(ws, call, ranks.sizes == 0)

    def sum_of(terms: Callable[[], Terms]) -> Real:
        return means.sum_of_terms(*terms())

    return means.mean_of_sum(sum_reals([lazy_real(partial(sum_of, part)) for part in parts]))


def _precision_terms(ws: EvaluationContext, call: MetricCall) -> tuple[LabelRanks, list[Callable[[], Terms]]]:
    """The terms whose sum for an instance is its average precision, in parts that are computed when they are called."""
    k, ranks = ranking_depth(ws, call), ranks_of_case(ws, call)
    max_hits = np.clip(ranks.sizes, 1, k)

    def divided(precisions: Callable[[], Terms]) -> Terms:
        rows, numerator, denominator = precisions()
        return rows, numerator, multiply(denominator, max_hits[rows])

    parts = precisions_within(ranks, k, call.params["ties"])
    return ranks, [partial(divided, part) for part in parts]


def _average_precisions(ws: EvaluationContext, call: MetricCall) -> InstanceValues:
    ranks, parts = _precision_terms(ws, call)
    values = np.zeros(len(ranks.sizes))
    for part in parts:
        rows, numerator, denominator = part()
        values += sum_by_instance(rows, divide(numerator, denominator), len(values))
    return values_with_degenerate(call, values, ranks.sizes == 0)


def mrr(ws: EvaluationContext, call: MetricCall) -> Result:
    """The mean of 1 / position of the first relevant label; 0 where no relevant label was listed."""
    ranks = ranks_of_case(ws, call)
    means = InstanceMeans(ws, call, ranks.sizes == 0)
    if call.params["ties"] == "average":
        rows, above, tied_rows = best_relevant_labels(ranks)
        untied = means.sum_of_terms(rows, np.ones(len(rows), dtype=np.int64), above + 1)
        tied = [
            expected_reciprocal_rank(*tie) * means.total_weight(np.array(rows_of_tie))
            for tie, rows_of_tie in tied_rows.items()
        ]
        return means.mean_of_sum(sum_reals([untied, *tied]))
    return means.mean_of_ratios(*_first_reciprocals(ranks, call))


def _first_reciprocals(ranks: LabelRanks, call: MetricCall) -> tuple[Integers, Integers]:
    """1 / position of the first relevant label of each instance, as quotients."""
    first = first_positions(ranks, call.params["ties"])
    listed = first < UNLISTED
    return listed.astype(np.int64), np.where(listed, first, 1)


def _reciprocal_ranks(ws: EvaluationContext, call: MetricCall) -> InstanceValues:
    ranks = ranks_of_case(ws, call)
    if call.params["ties"] == "average":
        values = np.zeros(len(ranks.sizes))
        rows, above, tied_rows = best_relevant_labels(ranks)
        values[rows] = 1 / (above + 1.0)
        for tie, rows_of_tie in tied_rows.items():
            values[rows_of_tie] = expected_reciprocal_rank(*tie).nearest()
    else:
        values = divide(*_first_reciprocals(ranks, call))
    return values_with_degenerate(call, values, ranks.sizes == 0)


declare_ranking_metric(
    key="map_at_k",
    name="mean average precision at k",
    names=("MAP@k", "AP@k", "MAP"),
    equation=r"\frac{1}{n}\sum_{i=1}^{n} \frac{1}{\min(\param{k},|Y_{i}|)}\sum_{p=1}^{\param{k}} y_{ip}\,\frac{|\mathrm{top}_{p}(i)\cap Y_{i}|}{p}",
    granularity=ORDER,
    params=(K_PARAM, TIES_PARAM, PAD_PARAM, degenerate_param("0")),
    source="Manning, Raghavan & Schütze 2008, Introduction to information retrieval, sec 8.4, cut off at k; ties: "
    "McSherry & Najork 2008",
    example=ranking_example("1/2", k="2"),
    compute=map_at_k,
    compute_draws=mean_draws(_average_precisions),
    symbols={
        **DEPTH_SYMBOLS,
        "p": "runs over the positions of the ranking",
        "y_{ip}": "1 where the label at position p is relevant for instance i, else 0",
        "top_p(i)": "the p labels ranked first for instance i",
        **COUNTED_INSTANCES_SYMBOLS,
    },
    peers={
        "torchmetrics": "retrieval_average_precision with top_k divides by the number of relevant labels among the k "
        "first, so a missed one costs nothing",
        "trec_eval": "map_cut divides by the number of all relevant labels, even if that is more than k",
        "ml_metrics": "mapk, the same: divided by min(k, number of relevant labels)",
    },
)
declare_ranking_metric(
    key="mrr",
    name="mean reciprocal rank",
    names=("MRR", "reciprocal rank"),
    equation=r"\frac{1}{n}\sum_{i=1}^{n} \frac{1}{\min\{p: y_{ip}=1\}}",
    granularity=HITS,
    params=(TIES_PARAM, degenerate_param("0")),
    source="Voorhees 1999, The TREC-8 question answering track report; ties: McSherry & Najork 2008",
    example=ranking_example("11/18"),
    compute=mrr,
    compute_draws=mean_draws(_reciprocal_ranks),
    symbols={
        "i": DEPTH_SYMBOLS["i"],
        "p": "a position of the ranking",
        "y_{ip}": "1 where the label at position p is relevant for instance i, else 0",
        **COUNTED_INSTANCES_SYMBOLS,
    },
    peers={
        "torchmetrics": "retrieval_reciprocal_rank, with degenerate_instance=best_value; argsort decides the order of "
        "tied labels",
    },
)
