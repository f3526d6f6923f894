"""Measures of the positions of relevant labels: mean average precision at k and mean reciprocal rank."""

from collections.abc import Callable
from functools import partial

import numpy as np

from app.scoring.declaration.distinct_value_bounds import HITS, ORDER
from app.scoring.declaration.metric import MetricCall, Result
from app.scoring.label_ranking import UNLISTED
from app.scoring.metrics.rankings.ranking_inputs import (
    COUNTED_INSTANCES_SYMBOLS,
    DEPTH_SYMBOLS,
    K_PARAM,
    PAD_PARAM,
    TIES_PARAM,
    InstanceMeans,
    declare_ranking_metric,
    degenerate_param,
    ranking_depth,
    ranking_example,
    ranks_of_case,
)
from app.scoring.numeric.correct_rounding import Real, lazy_real, sum_reals
from app.scoring.numeric.exact import multiply
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
    k, ranks = ranking_depth(ws, call), ranks_of_case(ws, call)
    means, max_hits = InstanceMeans(ws, call, ranks.sizes == 0), np.clip(ranks.sizes, 1, k)

    def sum_of(terms: Callable[[], Terms]) -> Real:
        rows, numerator, denominator = terms()
        return means.sum_of_terms(rows, numerator, multiply(denominator, max_hits[rows]))

    terms_by_part = precisions_within(ranks, k, call.params["ties"])
    return means.mean_of_sum(sum_reals([lazy_real(partial(sum_of, terms)) for terms in terms_by_part]))


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
    first = first_positions(ranks, call.params["ties"])
    listed = first < UNLISTED
    return means.mean_of_ratios(listed.astype(np.int64), np.where(listed, first, 1))


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
