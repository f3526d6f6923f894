"""Measures of where in a ranking the relevant labels turn up: mean average precision at k and mean reciprocal rank."""

from collections.abc import Callable
from functools import partial

import numpy as np

from app.scoring.declaration.granularity import HITS, ORDER
from app.scoring.declaration.metric import RANKING, Metric, MetricCall, Result, register
from app.scoring.label_ranking import NOWHERE
from app.scoring.metrics.rankings.instance_means import (
    COUNTED,
    DEPTH,
    EMPTY,
    HINTS,
    LISTED,
    PAD,
    PROPERTIES,
    SETS,
    TIES,
    UNIT,
    K,
    Means,
    degenerate,
    depth,
    ranks_of,
    worked,
)
from app.scoring.numeric.correct_rounding import Real, later, summed
from app.scoring.numeric.exact import times
from app.scoring.tally import Workspace
from app.scoring.tie_rules import Terms, expected_reciprocal, first_positions, leaders, precisions_within


def map_at_k(ws: Workspace, call: MetricCall) -> Result:
    """The precisions at the positions of relevant labels among the k first, over as many as could be there."""
    k, ranks = depth(ws, call), ranks_of(ws, call)
    means, possible = Means(ws, call, ranks.sizes == 0), np.clip(ranks.sizes, 1, k)

    def of(terms: Callable[[], Terms]) -> Real:
        rows, numerator, denominator = terms()
        return means.sum_of(rows, numerator, times(denominator, possible[rows]))

    parts = precisions_within(ranks, k, call.params["ties"])
    return means.of_sum(summed([later(partial(of, terms)) for terms in parts]))


def mrr(ws: Workspace, call: MetricCall) -> Result:
    """The mean of 1 / position of the first relevant label; 0 where none was sent."""
    ranks = ranks_of(ws, call)
    means = Means(ws, call, ranks.sizes == 0)
    if call.params["ties"] == "average":
        rows, above, others = leaders(ranks)
        known = means.sum_of(rows, np.ones(len(rows), dtype=np.int64), above + 1)
        tied = [expected_reciprocal(*place) * means.weight_of(np.array(own)) for place, own in others.items()]
        return means.of_sum(summed([known, *tied]))
    first = first_positions(ranks, call.params["ties"])
    found = first < NOWHERE
    return means.of_ratios(found.astype(np.int64), np.where(found, first, 1))


register(
    Metric(
        key="map_at_k",
        name="mean average precision at k",
        names=("MAP@k", "AP@k", "MAP"),
        equation=r"\frac{1}{n}\sum_{i=1}^{n} \frac{1}{\min(\param{k},|Y_{i}|)}\sum_{p=1}^{\param{k}} y_{ip}\,\frac{|\mathrm{top}_{p}(i)\cap Y_{i}|}{p}",
        tasks=SETS,
        needs=(RANKING,),
        direction="higher",
        granularity=ORDER,
        range=UNIT,
        params=(K, TIES, PAD, degenerate(EMPTY, "0")),
        options=LISTED,
        properties=PROPERTIES,
        source="Manning, Raghavan & Schütze 2008, Introduction to information retrieval, sec 8.4, cut off at k; ties: "
        "McSherry & Najork 2008",
        example=worked("1/2", k="2"),
        compute=map_at_k,
        hints=HINTS,
        symbols={
            **DEPTH,
            "p": "runs over the positions of the ranking",
            "y_{ip}": "1 where the label at position p is relevant for instance i, else 0",
            "top_p(i)": "the p labels ranked first for instance i",
            **COUNTED,
        },
        peers={
            "torchmetrics": "retrieval_average_precision with top_k divides by the number of relevant labels among the k "
            "first, so a missed one costs nothing",
            "trec_eval": "map_cut divides by all relevant labels, even where they are more than k",
            "ml_metrics": "mapk, the same: divided by min(k, number of relevant labels)",
        },
    )
)
register(
    Metric(
        key="mrr",
        name="mean reciprocal rank",
        names=("MRR", "reciprocal rank"),
        equation=r"\frac{1}{n}\sum_{i=1}^{n} \frac{1}{\min\{p: y_{ip}=1\}}",
        tasks=SETS,
        needs=(RANKING,),
        direction="higher",
        granularity=HITS,
        range=UNIT,
        params=(TIES, degenerate(EMPTY, "0")),
        options=LISTED,
        properties=PROPERTIES,
        source="Voorhees 1999, The TREC-8 question answering track report; ties: McSherry & Najork 2008",
        example=worked("11/18"),
        compute=mrr,
        hints=HINTS,
        symbols={
            "i": DEPTH["i"],
            "p": "a position of the ranking",
            "y_{ip}": "1 where the label at position p is relevant for instance i, else 0",
            **COUNTED,
        },
        peers={
            "torchmetrics": "retrieval_reciprocal_rank, with degenerate_instance=best_value; in which order tied labels "
            "come is left to argsort",
        },
    )
)
