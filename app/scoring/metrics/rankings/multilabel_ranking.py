"""Measures of how the labels of each instance are ranked by their scores: one-error, coverage, ranking loss, LRAP.

Source: Zhang & Zhou 2014, A review on multi-label learning algorithms, section 2.2.2 (Schapire & Singer 2000, BoosTexter).
"""

import math
from dataclasses import replace

import numpy as np

from app.scoring.declaration.granularity import INSTANCES, ORDER, PLACES
from app.scoring.declaration.metric import SCORES, Metric, MetricCall, Param, Result, register
from app.scoring.label_ranking import Int, Ranks
from app.scoring.metrics.rankings.instance_means import (
    COUNTED,
    EMPTY,
    HINTS,
    LABELS,
    PROPERTIES,
    RANKED,
    SETS,
    UNIT,
    Means,
    degenerate,
    ranks_of,
    worked,
)
from app.scoring.metrics.scores.oriented_scores import scores_of
from app.scoring.numeric.exact import times
from app.scoring.tally import Workspace


def one_error(ws: Workspace, call: MetricCall) -> Result:
    """The share of instances whose best label is wrong; of equally good ones the first, or in expectation."""
    ranks = ranks_of(ws, call)
    means = Means(ws, call, ranks.sizes == 0, 1)
    if call.params["ties"] == "first":
        best = np.argmax(scores_of(ws, call), axis=1)
        right = ranks.sums((ranks.codes == best[ranks.rows]).astype(np.int64))
        return means.of_ratios(1 - right, np.ones(len(right), dtype=np.int64))
    first = ranks.firsts
    on_top = ranks.above[first] == 0
    tied = np.where(on_top, ranks.tied[first], 1)
    wrong = np.where(on_top, tied - ranks.among[first], 1)
    return means.of_ratios(ranks.spread(wrong, 1), ranks.spread(tied, 1))


def _reach(ranks: Ranks) -> Int:
    """How many labels have to be read from the top of each ranking to meet all relevant ones; 0 where there are none."""
    last = (np.cumsum(ranks.sizes) - 1)[ranks.sizes > 0]
    return ranks.spread(ranks.above[last] + ranks.tied[last], 0)


def coverage(ws: Workspace, call: MetricCall) -> Result:
    """How many steps down the ranking it takes to meet all relevant labels; tied labels all come before."""
    ranks = ranks_of(ws, call)
    means = Means(ws, call, ranks.sizes == 0)
    m = len(ws.spec.classes) if call.params["normalized"] == "true" else 1
    return means.of_ratios(_reach(ranks) - 1, np.full(len(ranks.sizes), m, dtype=np.int64))


def coverage_plus_one(ws: Workspace, call: MetricCall) -> Result:
    """How many labels are read until all relevant ones are met."""
    ranks = ranks_of(ws, call)
    means = Means(ws, call, ranks.sizes == 0)
    return means.of_ratios(_reach(ranks), np.ones(len(ranks.sizes), dtype=np.int64))


def ranking_loss(ws: Workspace, call: MetricCall) -> Result:
    """The share of pairs of a relevant and a wrong label that are ranked the wrong way round; ties count whole or half."""
    ranks = ranks_of(ws, call)
    wrong = len(ws.spec.classes) - ranks.sizes
    means = Means(ws, call, (ranks.sizes == 0) | (wrong == 0))
    above, level = ranks.above - ranks.hits, ranks.tied - ranks.among
    if call.params["ties"] == "half":
        return means.of_ratios(ranks.sums(2 * above + level), 2 * ranks.sizes * wrong)
    return means.of_ratios(ranks.sums(above + level), ranks.sizes * wrong)


def average_precision_samples(ws: Workspace, call: MetricCall) -> Result:
    """The mean over relevant labels of the precision at their rank, the lowest of a tie; then over instances."""
    ranks = ranks_of(ws, call)
    means = Means(ws, call, ranks.sizes == 0, 1)
    below = times(ranks.above + ranks.tied, ranks.sizes[ranks.rows])
    return means.of_terms(ranks.rows, ranks.hits + ranks.among, below)


def _one_error_shown(call: MetricCall) -> str:
    if call.params["ties"] == "first":
        return _ONE_ERROR
    best = r"f_{iy}=\max_{z} f_{iz}"
    return r"\frac{1}{n}\sum_{i=1}^{n} (1-\frac{|\{y\in Y_{i}: " + best + r"\}|}{|\{y: " + best + r"\}|})"


def _coverage_shown(call: MetricCall) -> str:
    return _COVERAGE if call.params["normalized"] == "false" else _COVERAGE.replace("{n}\\sum", r"{n\,m}\sum", 1)


def _ranking_loss_shown(call: MetricCall) -> str:
    if call.params["ties"] == "full":
        return _RANKING_LOSS
    return (
        r"\frac{1}{n}\sum_{i=1}^{n} \frac{\sum_{y\in Y_{i}}\sum_{z\in\bar{Y}_{i}} "
        r"([f_{iy}<f_{iz}]+\frac{1}{2}[f_{iy}=f_{iz}])}{|Y_{i}|\,|\bar{Y}_{i}|}"
    )


_ONE_ERROR = r"\frac{1}{n}\sum_{i=1}^{n} [\mathrm{argmax}_{y}\,f_{iy}\notin Y_{i}]"
_COVERAGE = r"\frac{1}{n}\sum_{i=1}^{n} (\max_{y\in Y_{i}} r_{iy}-1)"
_RANKING_LOSS = (
    r"\frac{1}{n}\sum_{i=1}^{n} "
    r"\frac{|\{(y,z)\in Y_{i}\times\bar{Y}_{i}: f_{iy}\le f_{iz}\}|}{|Y_{i}|\,|\bar{Y}_{i}|}"
)
_RANK = {**COUNTED, **LABELS, "r_{iy}": "rank of label y for instance i: how many labels score at least as high"}
_SCORE = {**COUNTED, **LABELS, "f_{iy}": "score of label y for instance i"}
_SOURCE = "Zhang & Zhou 2014 sec 2.2.2; Schapire & Singer 2000, BoosTexter"
_FALSE_TRUE = ("false", "true")

register(
    Metric(
        key="one_error",
        name="one-error",
        names=("one error", "1-error"),
        equation=_ONE_ERROR,
        tasks=SETS,
        needs=(SCORES,),
        direction="lower",
        granularity=INSTANCES,
        range=UNIT,
        params=(
            Param(
                "ties",
                "choice",
                "which of several best labels counts",
                "first",
                values=("first", "expected"),
                value_meanings=(
                    "of several best labels the one declared first counts",
                    "of several best labels the share that is wrong counts",
                ),
            ),
            degenerate(EMPTY, "1, as its best label is wrong"),
        ),
        options=RANKED,
        properties=replace(PROPERTIES, ordinal=True),
        source=_SOURCE,
        example=worked("2/3"),
        compute=one_error,
        hints=HINTS,
        symbols=_SCORE,
        peers={
            "MEKA": "the first of several best labels, as here; with degenerate_instance=best_value",
            "Mulan": "ties are broken before, by the order of sorting",
        },
        shown=_one_error_shown,
    )
)
register(
    Metric(
        key="coverage",
        name="coverage",
        names=("coverage from 0",),
        equation=_COVERAGE,
        tasks=SETS,
        needs=(SCORES,),
        direction="lower",
        granularity=PLACES,
        range=(0.0, math.inf),
        params=(
            Param(
                "normalized",
                "choice",
                "whether it is divided by the number of labels",
                "false",
                values=_FALSE_TRUE,
                value_meanings=("a number of labels", "divided by the number of labels"),
            ),
            degenerate(EMPTY, "0"),
        ),
        options=RANKED,
        properties=PROPERTIES,
        source=_SOURCE,
        example=worked("4/3"),
        compute=coverage,
        hints=HINTS,
        symbols=_RANK,
        peers={
            "scikit-learn": "coverage_error is greater by 1: here coverage_plus_one",
            "torchmetrics": "multilabel_coverage_error is greater by 1: here coverage_plus_one",
            "Mulan": "the same, ties being broken before; with degenerate_instance=best_value",
        },
        shown=_coverage_shown,
    )
)
register(
    Metric(
        key="coverage_plus_one",
        name="coverage error",
        names=("coverage_error", "coverage from 1"),
        equation=r"\frac{1}{n}\sum_{i=1}^{n} \max_{y\in Y_{i}} r_{iy}",
        tasks=SETS,
        needs=(SCORES,),
        direction="lower",
        granularity=PLACES,
        range=(0.0, math.inf),
        params=(degenerate(EMPTY, "0"),),
        options=RANKED,
        properties=PROPERTIES,
        source="scikit-learn, coverage_error; Zhang & Zhou 2014 sec 2.2.2 without its -1",
        example=worked("7/3"),
        compute=coverage_plus_one,
        hints=HINTS,
        symbols=_RANK,
        peers={
            "scikit-learn": "coverage_error, with degenerate_instance=best_value",
            "torchmetrics": "multilabel_coverage_error, with degenerate_instance=best_value; scores outside [0, 1] go "
            "through a sigmoid first, which can tie great ones",
        },
    )
)
register(
    Metric(
        key="ranking_loss",
        name="ranking loss",
        names=("label ranking loss", "rank loss", "label_ranking_loss"),
        equation=_RANKING_LOSS,
        tasks=SETS,
        needs=(SCORES,),
        direction="lower",
        granularity=PLACES,
        range=UNIT,
        params=(
            Param(
                "ties",
                "choice",
                "how much of an error a pair with equal scores is",
                "full",
                values=("full", "half"),
                value_meanings=("a pair with equal scores is an error", "a pair with equal scores is half an error"),
            ),
            degenerate("whose labels are all relevant or all wrong", "0"),
        ),
        options=RANKED,
        properties=PROPERTIES,
        source=_SOURCE,
        example=worked("1/2"),
        compute=ranking_loss,
        hints=HINTS,
        symbols={**_SCORE, "Ȳ_i": "labels that instance i lacks in gold"},
        peers={
            "scikit-learn": "label_ranking_loss, with degenerate_instance=best_value",
            "torchmetrics": "multilabel_ranking_loss breaks ties by the order of sorting; with "
            "degenerate_instance=best_value",
            "MEKA": "breaks ties by the order of sorting; with degenerate_instance=best_value",
            "Mulan": "breaks ties by the order of sorting; with degenerate_instance=best_value",
        },
        shown=_ranking_loss_shown,
    )
)
register(
    Metric(
        key="average_precision_samples",
        name="example-based average precision",
        names=("label ranking average precision", "LRAP", "label_ranking_average_precision_score"),
        equation=r"\frac{1}{n}\sum_{i=1}^{n}\frac{1}{|Y_{i}|}\sum_{y\in Y_{i}} \frac{|\{z\in Y_{i}: r_{iz}\le r_{iy}\}|}{r_{iy}}",
        tasks=SETS,
        needs=(SCORES,),
        direction="higher",
        granularity=ORDER,
        floor=3,
        range=UNIT,
        params=(degenerate(EMPTY, "1"),),
        options=RANKED,
        properties=PROPERTIES,
        source=_SOURCE,
        example=worked("11/18"),
        compute=average_precision_samples,
        hints=HINTS,
        symbols=_RANK,
        peers={
            "scikit-learn": "label_ranking_average_precision_score, with degenerate_instance=best_value",
            "torchmetrics": "multilabel_ranking_average_precision, with degenerate_instance=best_value",
            "MEKA": "takes the order of ascending scores for ranks: not comparable",
        },
    )
)
