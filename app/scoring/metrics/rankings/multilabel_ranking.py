"""Measures of how scores rank the labels of each instance: one-error, coverage, ranking loss, LRAP.

Source: Zhang & Zhou 2014, A review on multi-label learning algorithms, section 2.2.2 (Schapire & Singer 2000, BoosTexter).
"""

from dataclasses import replace
from functools import partial

import numpy as np

from app.scoring.declaration.distinct_value_bounds import INSTANCES, LABEL_ORDER_PAIRS, ORDER
from app.scoring.declaration.metric import SCORES, MetricCall, Result
from app.scoring.draw_context import InstanceValues
from app.scoring.label_ranking import Int, LabelRanks
from app.scoring.metrics.rankings.ranking_inputs import (
    COUNTED_INSTANCES_SYMBOLS,
    LABEL_SYMBOLS,
    InstanceMeans,
    InstanceRatios,
    declare_ranking_metric,
    degenerate_param,
    mean_draws,
    mean_ratio,
    mean_ratio_draws,
    ranking_example,
    ranks_of_case,
    sum_by_instance,
    values_with_degenerate,
)
from app.scoring.metrics.scores.oriented_scores import scores_of
from app.scoring.metrics.shared_declarations import (
    SCORE_DIRECTION_OPTION,
    SCORE_PROPERTIES,
    UNBOUNDED_RANGE,
    choice_param,
)
from app.scoring.numeric.exact import Integers, divide, multiply
from app.scoring.tally import EvaluationContext


def one_error(ws: EvaluationContext, call: MetricCall) -> InstanceRatios:
    """The share of instances whose top label is wrong; with tied top labels the first one, or the expectation."""
    ranks = ranks_of_case(ws, call)
    if call.params["ties"] == "first":
        best = np.argmax(scores_of(ws, call), axis=1)
        right = ranks.sums((ranks.codes == best[ranks.rows]).astype(np.int64))
        return InstanceRatios(1 - right, np.ones(len(right), dtype=np.int64), ranks.sizes == 0, 1)
    first = ranks.best_label_rows
    on_top = ranks.above[first] == 0
    tied = np.where(on_top, ranks.tied[first], 1)
    wrong = np.where(on_top, tied - ranks.relevant_tied[first], 1)
    numerator, denominator = ranks.expand_to_instances(wrong, 1), ranks.expand_to_instances(tied, 1)
    return InstanceRatios(numerator, denominator, ranks.sizes == 0, 1)


def _coverage_depths(ranks: LabelRanks) -> Int:
    """The position of the last relevant label in each ranking, from 1; 0 where there is none."""
    last = (np.cumsum(ranks.sizes) - 1)[ranks.sizes > 0]
    return ranks.expand_to_instances(ranks.above[last] + ranks.tied[last], 0)


def coverage(ws: EvaluationContext, call: MetricCall) -> InstanceRatios:
    """The mean steps down the ranking to cover all relevant labels; tied labels rank ahead of a relevant one."""
    ranks = ranks_of_case(ws, call)
    m = len(ws.spec.classes) if call.params["normalized"] == "true" else 1
    return InstanceRatios(_coverage_depths(ranks) - 1, np.full(len(ranks.sizes), m, dtype=np.int64), ranks.sizes == 0)


def coverage_plus_one(ws: EvaluationContext, call: MetricCall) -> InstanceRatios:
    """The mean number of labels from the top that covers all relevant ones."""
    ranks = ranks_of_case(ws, call)
    return InstanceRatios(_coverage_depths(ranks), np.ones(len(ranks.sizes), dtype=np.int64), ranks.sizes == 0)


def ranking_loss(ws: EvaluationContext, call: MetricCall) -> InstanceRatios:
    """The share of (relevant, wrong) label pairs in the wrong order; ties count as an error or half an error."""
    ranks = ranks_of_case(ws, call)
    wrong = len(ws.spec.classes) - ranks.sizes
    degenerate = (ranks.sizes == 0) | (wrong == 0)
    above, tied = ranks.above - ranks.relevant_above, ranks.tied - ranks.relevant_tied
    if call.params["ties"] == "half":
        return InstanceRatios(ranks.sums(2 * above + tied), 2 * ranks.sizes * wrong, degenerate)
    return InstanceRatios(ranks.sums(above + tied), ranks.sizes * wrong, degenerate)


def average_precision_samples(ws: EvaluationContext, call: MetricCall) -> Result:
    """The mean over relevant labels of the precision at their rank (the last of a tie), then over instances."""
    ranks = ranks_of_case(ws, call)
    means = InstanceMeans(ws, call, ranks.sizes == 0, 1)
    return means.mean_of_terms(ranks.rows, *_precision_terms(ranks))


def _precision_terms(ranks: LabelRanks) -> tuple[Integers, Integers]:
    """The precision at each relevant label, divided by the number of relevant labels of its instance, as quotients."""
    denominator = multiply(ranks.above + ranks.tied, ranks.sizes[ranks.rows])
    return ranks.relevant_above + ranks.relevant_tied, denominator


def _average_precisions(ws: EvaluationContext, call: MetricCall) -> InstanceValues:
    ranks = ranks_of_case(ws, call)
    values = sum_by_instance(ranks.rows, divide(*_precision_terms(ranks)), len(ranks.sizes))
    return values_with_degenerate(call, values, ranks.sizes == 0, 1)


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

_declare = partial(
    declare_ranking_metric,
    needs=(SCORES,),
    direction="lower",
    granularity=LABEL_ORDER_PAIRS,
    options=(SCORE_DIRECTION_OPTION,),
    source=_SOURCE,
)

_declare(
    key="one_error",
    name="one-error",
    names=("one error", "1-error"),
    equation=_ONE_ERROR,
    granularity=INSTANCES,
    params=(
        choice_param(
            "ties",
            "which of several top-scored labels counts",
            first="of several top-scored labels, the one declared first counts",
            expected="of several top-scored labels, the share that is wrong counts",
        ),
        degenerate_param("1, because its best label is wrong"),
    ),
    properties=replace(SCORE_PROPERTIES, ordinal=True),
    example=ranking_example("2/3"),
    compute=mean_ratio(one_error),
    compute_draws=mean_ratio_draws(one_error),
    symbols=_SCORE_SYMBOLS,
    peers={
        "MEKA": "the first of several best labels, as here; with degenerate_instance=best_value",
        "Mulan": "breaks ties first, by sort order",
    },
    equation_of_call=_one_error_equation,
)
_declare(
    key="coverage",
    name="coverage",
    names=("coverage from 0",),
    equation=_COVERAGE,
    range=UNBOUNDED_RANGE,
    params=(
        choice_param(
            "normalized",
            "whether the value is divided by the number of labels",
            false="a number of labels",
            true="divided by the number of labels",
        ),
        degenerate_param("0"),
    ),
    example=ranking_example("4/3"),
    compute=mean_ratio(coverage),
    compute_draws=mean_ratio_draws(coverage),
    symbols=_RANK_SYMBOLS,
    peers={
        "scikit-learn": "coverage_error is greater by 1: here coverage_plus_one",
        "torchmetrics": "multilabel_coverage_error is greater by 1: here coverage_plus_one",
        "Mulan": "the same, but ties are broken first; with degenerate_instance=best_value",
    },
    equation_of_call=_coverage_equation,
)
_declare(
    key="coverage_plus_one",
    name="coverage error",
    names=("coverage_error", "coverage from 1"),
    equation=r"\frac{1}{n}\sum_{i=1}^{n} \max_{y\in Y_{i}} r_{iy}",
    range=UNBOUNDED_RANGE,
    params=(degenerate_param("0"),),
    source="scikit-learn, coverage_error; Zhang & Zhou 2014 sec 2.2.2 without its -1",
    example=ranking_example("7/3"),
    compute=mean_ratio(coverage_plus_one),
    compute_draws=mean_ratio_draws(coverage_plus_one),
    symbols=_RANK_SYMBOLS,
    peers={
        "scikit-learn": "coverage_error, with degenerate_instance=best_value",
        "torchmetrics": "multilabel_coverage_error, with degenerate_instance=best_value; scores outside [0, 1] go "
        "through a sigmoid first, which can tie large scores",
    },
)
_declare(
    key="ranking_loss",
    name="ranking loss",
    names=("label ranking loss", "rank loss", "label_ranking_loss"),
    equation=_RANKING_LOSS,
    params=(
        choice_param(
            "ties",
            "how a pair with equal scores counts",
            full="a pair with equal scores counts as an error",
            half="a pair with equal scores counts as half an error",
        ),
        degenerate_param("0", "whose labels are all relevant or all wrong"),
    ),
    example=ranking_example("1/2"),
    compute=mean_ratio(ranking_loss),
    compute_draws=mean_ratio_draws(ranking_loss),
    symbols={**_SCORE_SYMBOLS, "Ȳ_i": "labels that instance i lacks in gold"},
    peers={
        "scikit-learn": "label_ranking_loss, with degenerate_instance=best_value",
        "torchmetrics": "multilabel_ranking_loss breaks ties by sort order; with degenerate_instance=best_value",
        "MEKA": "breaks ties by sort order; with degenerate_instance=best_value",
        "Mulan": "breaks ties by sort order; with degenerate_instance=best_value",
    },
    equation_of_call=_ranking_loss_equation,
)
_declare(
    key="average_precision_samples",
    name="example-based average precision",
    names=("label ranking average precision", "LRAP", "label_ranking_average_precision_score"),
    equation=r"\frac{1}{n}\sum_{i=1}^{n}\frac{1}{|Y_{i}|}\sum_{y\in Y_{i}} \frac{|\{z\in Y_{i}: r_{iz}\le r_{iy}\}|}{r_{iy}}",
    direction="higher",
    granularity=ORDER,
    floor=3,
    params=(degenerate_param("1"),),
    example=ranking_example("11/18"),
    compute=average_precision_samples,
    compute_draws=mean_draws(_average_precisions),
    symbols=_RANK_SYMBOLS,
    peers={
        "scikit-learn": "label_ranking_average_precision_score, with degenerate_instance=best_value",
        "torchmetrics": "multilabel_ranking_average_precision, with degenerate_instance=best_value",
        "MEKA": "uses the order of ascending scores as ranks: not comparable",
    },
)
