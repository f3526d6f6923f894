"""Precision and recall of the k labels ranked first, and of as many as are relevant."""

import numpy as np

from app.scoring.declaration.granularity import HITS
from app.scoring.declaration.metric import RANKING, Metric, MetricCall, Result, register
from app.scoring.label_ranking import Int
from app.scoring.metrics.rankings.instance_means import (
    COUNTED,
    EMPTY,
    HINTS,
    LISTED,
    PAD,
    PROPERTIES,
    SETS,
    TIES,
    TOP,
    UNIT,
    K,
    Means,
    degenerate,
    depth,
    ranks_of,
    worked,
)
from app.scoring.tally import Workspace
from app.scoring.tie_rules import hits_within


def _same(ws: Workspace, k: int) -> Int:
    """The same k for each instance."""
    return np.full(ws.case.gold.n, k, dtype=np.int64)


def precision_at_k(ws: Workspace, call: MetricCall) -> Result:
    """The share of relevant labels among the k ranked first, however many were sent."""
    k = depth(ws, call)
    hits, whole = hits_within(ranks_of(ws, call), _same(ws, k), call.params["ties"])
    return Means(ws, call).of_ratios(hits, whole * k)


def recall_at_k(ws: Workspace, call: MetricCall) -> Result:
    """The share of the relevant labels that are among the k ranked first."""
    k, ranks = depth(ws, call), ranks_of(ws, call)
    hits, whole = hits_within(ranks, _same(ws, k), call.params["ties"])
    return Means(ws, call, ranks.sizes == 0).of_ratios(hits, whole * ranks.sizes)


def r_precision(ws: Workspace, call: MetricCall) -> Result:
    """The precision of as many labels ranked first as the instance has relevant ones: there it equals the recall."""
    ranks = ranks_of(ws, call)
    hits, whole = hits_within(ranks, ranks.sizes, call.params["ties"])
    return Means(ws, call, ranks.sizes == 0).of_ratios(hits, whole * ranks.sizes)


_SOURCE = "Bhatia et al. 2016, The extreme classification repository; ties: McSherry & Najork 2008"
_TOP = r"\mathrm{top}_{\param{k}}(i)"

register(
    Metric(
        key="precision_at_k",
        name="precision at k",
        names=("P@k", "precision@k"),
        equation=rf"\frac{{1}}{{n}}\sum_{{i=1}}^{{n}} \frac{{|{_TOP}\cap Y_{{i}}|}}{{\param{{k}}}}",
        tasks=SETS,
        needs=(RANKING,),
        direction="higher",
        granularity=HITS,
        range=UNIT,
        params=(K, TIES, PAD),
        options=LISTED,
        properties=PROPERTIES,
        source=_SOURCE,
        example=worked("1/2", k="2"),
        compute=precision_at_k,
        hints=HINTS,
        symbols=TOP,
        peers={
            "XML repository": "precision_k, the same; labels that score 0 are not ranked there, and in which order tied ones "
            "come is left to sorting",
            "napkinXC": "precision_at_k, the same; in which order tied labels come is left to argsort",
            "pyxclib": "precision, the same; in which order tied labels come is left to argpartition",
            "torchmetrics": "retrieval_precision without adaptive_k; labels that score 0 or less never count as "
            "relevant there",
        },
    )
)
register(
    Metric(
        key="recall_at_k",
        name="recall at k",
        names=("R@k", "recall@k"),
        equation=rf"\frac{{1}}{{n}}\sum_{{i=1}}^{{n}} \frac{{|{_TOP}\cap Y_{{i}}|}}{{|Y_{{i}}|}}",
        tasks=SETS,
        needs=(RANKING,),
        direction="higher",
        granularity=HITS,
        range=UNIT,
        params=(K, TIES, PAD, degenerate(EMPTY, "0")),
        options=LISTED,
        properties=PROPERTIES,
        source=_SOURCE,
        example=worked("2/3", k="2"),
        compute=recall_at_k,
        hints=HINTS,
        symbols={**TOP, **COUNTED},
        peers={
            "napkinXC": "recall_at_k counts an instance without relevant labels as 0: degenerate_instance=best_value",
            "pyxclib": "recall, with degenerate_instance=best_value",
            "torchmetrics": "retrieval_recall, with degenerate_instance=best_value",
        },
    )
)
register(
    Metric(
        key="r_precision",
        name="R-precision",
        names=("R-Prec", "precision at R"),
        equation=r"\frac{1}{n}\sum_{i=1}^{n} \frac{|\mathrm{top}_{|Y_{i}|}(i)\cap Y_{i}|}{|Y_{i}|}",
        tasks=SETS,
        needs=(RANKING,),
        direction="higher",
        granularity=HITS,
        range=UNIT,
        params=(TIES, degenerate(EMPTY, "0")),
        options=LISTED,
        properties=PROPERTIES,
        source="Buckley & Voorhees 2000, Evaluating evaluation measure stability; ties: McSherry & Najork 2008",
        example=worked("1/3"),
        compute=r_precision,
        hints=HINTS,
        symbols={"top_r(i)": "the r labels ranked first for instance i", **COUNTED},
        peers={
            "torchmetrics": "retrieval_r_precision, with degenerate_instance=best_value; in which order tied labels come "
            "is left to argsort",
        },
    )
)
