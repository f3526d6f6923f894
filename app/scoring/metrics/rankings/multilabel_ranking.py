"""Measures of how the labels of each instance are ranked by their scores: one-error, coverage, ranking loss, LRAP.

Source: Zhang & Zhou 2014, A review on multi-label learning algorithms, section 2.2.2 (Schapire & Singer 2000, BoosTexter).
"""

import math
from dataclasses import replace

import numpy as np

from app.scoring.declaration.granularity import INSTANCES, LABEL_ORDER_PAIRS, ORDER
from app.scoring.declaration.metric import SCORES, Metric, MetricCall, Param, Result, register
from app.scoring.label_ranking import Int, LabelRanks
from app.scoring.metrics.rankings.instance_means import (
    COUNTED_INSTANCES_SYMBOLS,
    LABEL_SYMBOLS,
    MULTILABEL_TASKS,
    RANKING_HINTS,
    SCORE_OPTIONS,
    SCORE_PROPERTIES,
    UNIT_RANGE,
    WITHOUT_RELEVANT_LABELS,
    InstanceMeans,
    degenerate,
    ranking_example,
    ranks_of_case,
)
from app.scoring.metrics.scores.oriented_scores import scores_of
from app.scoring.numeric.exact import multiply
from app.scoring.tally import EvaluationContext


def one_error(ws: EvaluationContext, call: MetricCall) -> Result:
    """The share of instances whose best label is wrong; of equally good ones the first, or in expectation."""
    ranks = ranks_of_case(ws, call)
    means = InstanceMeans(ws, call, ranks.sizes == 0, 1)
    if call.params["ties"] == "first":
        best = np.argmax(scores_of(ws, call), axis=1)
        right = ranks.sums((ranks.codes == best[ranks.rows]).astype(np.int64))
        return means.mean_of_ratios(1 - right, np.ones(len(right), dtype=np.int64))
    first = ranks.best_label_rows
    on_top = ranks.above[first] == 0
    tied = np.where(on_top, ranks.tied[first], 1)
    wrong = np.where(on_top, tied - ranks.relevant_tied[first], 1)
    return means.mean_of_ratios(ranks.expand_to_instances(wrong, 1), ranks.expand_to_instances(tied, 1))


def _coverage_depths(ranks: LabelRanks) -> Int:
    """How many labels have to be read from the top of each ranking to meet all relevant ones; 0 where there are none."""
    last = (np.cumsum(ranks.sizes) - 1)[ranks.sizes > 0]
    return ranks.expand_to_instances(ranks.above[last] + ranks.tied[last], 0)


def coverage(ws: EvaluationContext, call: MetricCall) -> Result:
    """How many steps down the ranking it takes to meet all relevant labels; tied labels all come before."""
    ranks = ranks_of_case(ws, call)
    means = InstanceMeans(ws, call, ranks.sizes == 0)
    m = len(ws.spec.classes) if call.params["normalized"] == "true" else 1
    return means.mean_of_ratios(_coverage_depths(ranks) - 1, np.full(len(ranks.sizes), m, dtype=np.int64))


def coverage_plus_one(ws: EvaluationContext, call: MetricCall) -> Result:
    """How many labels are read until all relevant ones are met."""
    ranks = ranks_of_case(ws, call)
    means = InstanceMeans(ws, call, ranks.sizes == 0)
    return means.mean_of_ratios(_coverage_depths(ranks), np.ones(len(ranks.sizes), dtype=np.int64))


def ranking_loss(ws: EvaluationContext, call: MetricCall) -> Result:
    """The share of pairs of a relevant and a wrong label that are ranked the wrong way round; ties count whole or half."""
    ranks = ranks_of_case(ws, call)
    wrong = len(ws.spec.classes) - ranks.sizes
    means = InstanceMeans(ws, call, (ranks.sizes == 0) | (wrong == 0))
    above, level = ranks.above - ranks.relevant_above, ranks.tied - ranks.relevant_tied
    if call.params["ties"] == "half":
        return means.mean_of_ratios(ranks.sums(2 * above + level), 2 * ranks.sizes * wrong)
    return means.mean_of_ratios(ranks.sums(above + level), ranks.sizes * wrong)


def average_precision_samples(ws: EvaluationContext, call: MetricCall) -> Result:
    """The mean over relevant labels of the precision at their rank, the lowest of a tie; then over instances."""
    ranks = ranks_of_case(ws, call)
    means = InstanceMeans(ws, call, ranks.sizes == 0, 1)
    below = multiply(ranks.above + ranks.tied, ranks.sizes[ranks.rows])
    return means.mean_of_terms(ranks.rows, ranks.relevant_above + ranks.relevant_tied, below)


def _one_error_equation(call: MetricCall) -> str:
    if call.params["ties"] == "first":
        return _ONE_ERROR
    best = r"f_{iy}=\max_{z} f_{iz}"
    return r"\frac{1}{n}\sum_{i=1}^{n} (1-\frac{|\{y\in Y_{i}: " + best + r"\}|}{|\{y: " + best + r"\}|})"


def _coverage_equation(call: MetricCall) -> str:
    return _COVERAGE if call.params["normalized"] == "false" else _COVERAGE.replace("{n}\\sum", r"{n\,m}\sum", 1)


def _ranking_loss_equation(call: MetricCall) -> str:
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
_RANK_SYMBOLS = {
    **COUNTED_INSTANCES_SYMBOLS,
    **LABEL_SYMBOLS,
    "r_{iy}": "rank of label y for instance i: how many labels score at least as high",
}
_SCORE_SYMBOLS = {**COUNTED_INSTANCES_SYMBOLS, **LABEL_SYMBOLS, "f_{iy}": "score of label y for instance i"}
_SOURCE = "Zhang & Zhou 2014 sec 2.2.2; Schapire & Singer 2000, BoosTexter"
_FALSE_TRUE = ("false", "true")

register(
    Metric(
        key="one_error",
        name="one-error",
        names=("one error", "1-error"),
        equation=_ONE_ERROR,
        tasks=MULTILABEL_TASKS,
        needs=(SCORES,),
        direction="lower",
        granularity=INSTANCES,
        range=UNIT_RANGE,
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
            degenerate(WITHOUT_RELEVANT_LABELS, "1, as its best label is wrong"),
        ),
        options=SCORE_OPTIONS,
        properties=replace(SCORE_PROPERTIES, ordinal=True),
        source=_SOURCE,
        example=ranking_example("2/3"),
        compute=one_error,
        hints=RANKING_HINTS,
        symbols=_SCORE_SYMBOLS,
        peers={
            "MEKA": "the first of several best labels, as here; with degenerate_instance=best_value",
            "Mulan": "ties are broken before, by the order of sorting",
        },
        equation_of_call=_one_error_equation,
    )
)
register(
    Metric(
        key="coverage",
        name="coverage",
        names=("coverage from 0",),
        equation=_COVERAGE,
        tasks=MULTILABEL_TASKS,
        needs=(SCORES,),
        direction="lower",
        granularity=LABEL_ORDER_PAIRS,
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
            degenerate(WITHOUT_RELEVANT_LABELS, "0"),
        ),
        options=SCORE_OPTIONS,
        properties=SCORE_PROPERTIES,
        source=_SOURCE,
        example=ranking_example("4/3"),
        compute=coverage,
        hints=RANKING_HINTS,
        symbols=_RANK_SYMBOLS,
        peers={
            "scikit-learn": "coverage_error is greater by 1: here coverage_plus_one",
            "torchmetrics": "multilabel_coverage_error is greater by 1: here coverage_plus_one",
            "Mulan": "the same, ties being broken before; with degenerate_instance=best_value",
        },
        equation_of_call=_coverage_equation,
    )
)
register(
    Metric(
        key="coverage_plus_one",
        name="coverage error",
        names=("coverage_error", "coverage from 1"),
        equation=r"\frac{1}{n}\sum_{i=1}^{n} \max_{y\in Y_{i}} r_{iy}",
        tasks=MULTILABEL_TASKS,
        needs=(SCORES,),
        direction="lower",
        granularity=LABEL_ORDER_PAIRS,
        range=(0.0, math.inf),
        params=(degenerate(WITHOUT_RELEVANT_LABELS, "0"),),
        options=SCORE_OPTIONS,
        properties=SCORE_PROPERTIES,
        source="scikit-learn, coverage_error; Zhang & Zhou 2014 sec 2.2.2 without its -1",
        example=ranking_example("7/3"),
        compute=coverage_plus_one,
        hints=RANKING_HINTS,
        symbols=_RANK_SYMBOLS,
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
        tasks=MULTILABEL_TASKS,
        needs=(SCORES,),
        direction="lower",
        granularity=LABEL_ORDER_PAIRS,
        range=UNIT_RANGE,
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
        options=SCORE_OPTIONS,
        properties=SCORE_PROPERTIES,
        source=_SOURCE,
        example=ranking_example("1/2"),
        compute=ranking_loss,
        hints=RANKING_HINTS,
        symbols={**_SCORE_SYMBOLS, "Ȳ_i": "labels that instance i lacks in gold"},
        peers={
            "scikit-learn": "label_ranking_loss, with degenerate_instance=best_value",
            "torchmetrics": "multilabel_ranking_loss breaks ties by the order of sorting; with "
            "degenerate_instance=best_value",
            "MEKA": "breaks ties by the order of sorting; with degenerate_instance=best_value",
            "Mulan": "breaks ties by the order of sorting; with degenerate_instance=best_value",
        },
        equation_of_call=_ranking_loss_equation,
    )
)
register(
    Metric(
        key="average_precision_samples",
        name="example-based average precision",
        names=("label ranking average precision", "LRAP", "label_ranking_average_precision_score"),
        equation=r"\frac{1}{n}\sum_{i=1}^{n}\frac{1}{|Y_{i}|}\sum_{y\in Y_{i}} \frac{|\{z\in Y_{i}: r_{iz}\le r_{iy}\}|}{r_{iy}}",
        tasks=MULTILABEL_TASKS,
        needs=(SCORES,),
        direction="higher",
        granularity=ORDER,
        floor=3,
        range=UNIT_RANGE,
        params=(degenerate(WITHOUT_RELEVANT_LABELS, "1"),),
        options=SCORE_OPTIONS,
        properties=SCORE_PROPERTIES,
        source=_SOURCE,
        example=ranking_example("11/18"),
        compute=average_precision_samples,
        hints=RANKING_HINTS,
        symbols=_RANK_SYMBOLS,
        peers={
            "scikit-learn": "label_ranking_average_precision_score, with degenerate_instance=best_value",
            "torchmetrics": "multilabel_ranking_average_precision, with degenerate_instance=best_value",
            "MEKA": "takes the order of ascending scores for ranks: not comparable",
        },
    )
)
