"""Precision and recall of the k labels ranked first, and R-precision."""

from functools import partial

import numpy as np

from app.scoring.declaration.distinct_value_bounds import HITS
from app.scoring.declaration.metric import MetricCall
from app.scoring.label_ranking import Int
from app.scoring.metrics.rankings.ranking_inputs import (
    COUNTED_INSTANCES_SYMBOLS,
    K_PARAM,
    PAD_PARAM,
    TIES_PARAM,
    TOP_K_SYMBOLS,
    InstanceRatios,
    declare_ranking_metric,
    degenerate_param,
    mean_ratio,
    mean_ratio_draws,
    ranking_depth,
    ranking_example,
    ranks_of_case,
)
from app.scoring.ranking_ties import hits_within
from app.scoring.tally import EvaluationContext


def _constant_k(ws: EvaluationContext, k: int) -> Int:
    """The same k for each instance."""
    return np.full(ws.case.gold.n, k, dtype=np.int64)


def precision_at_k(ws: EvaluationContext, call: MetricCall) -> InstanceRatios:
    """The share of relevant labels among the first k; always divided by k, even where fewer labels were sent."""
    k = ranking_depth(ws, call)
    hits, parts = hits_within(ranks_of_case(ws, call), _constant_k(ws, k), call.params["ties"])
    return InstanceRatios(hits, parts * k)


def recall_at_k(ws: EvaluationContext, call: MetricCall) -> InstanceRatios:
    """The share of the relevant labels that are among the k ranked first."""
    k, ranks = ranking_depth(ws, call), ranks_of_case(ws, call)
    hits, parts = hits_within(ranks, _constant_k(ws, k), call.params["ties"])
    return InstanceRatios(hits, parts * ranks.sizes, ranks.sizes == 0)


def r_precision(ws: EvaluationContext, call: MetricCall) -> InstanceRatios:
    """The precision at k = number of relevant labels of the instance, where precision equals recall."""
    ranks = ranks_of_case(ws, call)
    hits, parts = hits_within(ranks, ranks.sizes, call.params["ties"])
    return InstanceRatios(hits, parts * ranks.sizes, ranks.sizes == 0)


_TOP_K_LATEX = r"\mathrm{top}_{\param{k}}(i)"

_declare = partial(
    declare_ranking_metric,
    granularity=HITS,
    source="Bhatia et al. 2016, The extreme classification repository; ties: McSherry & Najork 2008",
)

_declare(
    key="precision_at_k",
    name="precision at k",
    names=("P@k", "precision@k"),
    equation=rf"\frac{{1}}{{n}}\sum_{{i=1}}^{{n}} \frac{{|{_TOP_K_LATEX}\cap Y_{{i}}|}}{{\param{{k}}}}",
    params=(K_PARAM, TIES_PARAM, PAD_PARAM),
    example=ranking_example("1/2", k="2"),
    compute=mean_ratio(precision_at_k),
    compute_draws=mean_ratio_draws(precision_at_k),
    symbols=TOP_K_SYMBOLS,
    peers={
        "XML repository": "precision_k, the same; labels that score 0 are not ranked there, and the sort decides the order "
        "of tied labels",
        "napkinXC": "precision_at_k, the same; argsort decides the order of tied labels",
        "pyxclib": "precision, the same; argpartition decides the order of tied labels",
        "torchmetrics": "retrieval_precision without adaptive_k; labels that score 0 or less never count as "
        "relevant there",
    },
)
_declare(
    key="recall_at_k",
    name="recall at k",
    names=("R@k", "recall@k"),
    equation=rf"\frac{{1}}{{n}}\sum_{{i=1}}^{{n}} \frac{{|{_TOP_K_LATEX}\cap Y_{{i}}|}}{{|Y_{{i}}|}}",
    params=(K_PARAM, TIES_PARAM, PAD_PARAM, degenerate_param("0")),
    example=ranking_example("2/3", k="2"),
    compute=mean_ratio(recall_at_k),
    compute_draws=mean_ratio_draws(recall_at_k),
    symbols={**TOP_K_SYMBOLS, **COUNTED_INSTANCES_SYMBOLS},
    peers={
        "napkinXC": "recall_at_k counts an instance without relevant labels as 0: use degenerate_instance=best_value",
        "pyxclib": "recall, with degenerate_instance=best_value",
        "torchmetrics": "retrieval_recall, with degenerate_instance=best_value",
    },
)
_declare(
    key="r_precision",
    name="R-precision",
    names=("R-Prec", "precision at R"),
    equation=r"\frac{1}{n}\sum_{i=1}^{n} \frac{|\mathrm{top}_{|Y_{i}|}(i)\cap Y_{i}|}{|Y_{i}|}",
    params=(TIES_PARAM, degenerate_param("0")),
    source="Buckley & Voorhees 2000, Evaluating evaluation measure stability; ties: McSherry & Najork 2008",
    example=ranking_example("1/3"),
    compute=mean_ratio(r_precision),
    compute_draws=mean_ratio_draws(r_precision),
    symbols={"top_r(i)": "the r labels ranked first for instance i", **COUNTED_INSTANCES_SYMBOLS},
    peers={
        "torchmetrics": "retrieval_r_precision, with degenerate_instance=best_value; argsort decides the order of tied "
        "labels",
    },
)
