"""Areas under the precision-recall curve, by steps and by trapezoids: of one label, averaged over labels, pooled."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from app.scoring.declaration.distinct_value_bounds import ORDER
from app.scoring.declaration.metric import SCORES, Example, Metric, MetricCall, register
from app.scoring.declaration.task import TASK_KINDS
from app.scoring.metrics.scores.area_draws import label_area_draws, mean_area_draws, pooled_area_draws
from app.scoring.metrics.scores.auc import SCORED_BINARY_EXAMPLE, SCORED_MULTILABEL_EXAMPLE
from app.scoring.metrics.scores.curve_areas import AreaMeasure, label_area, mean_area, pooled_area
from app.scoring.metrics.scores.draw_ranks import step_area_draws, trapezoid_area_draws
from app.scoring.metrics.shared_declarations import (
    EXCLUDE_LABELS_OPTION,
    LABEL_PARAM,
    SCORE_DIRECTION_OPTION,
    SCORE_PROPERTIES,
    UNIT_RANGE,
)
from app.scoring.numeric.correct_rounding import Real
from app.scoring.score_ranks import ScoreRanks, average_precision_sum, trapezoid_sum


@dataclass(frozen=True, slots=True)
class _PrecisionRecallArea:
    """One way to compute the area, with the equation for one label and the exact values of the examples."""

    key: str
    name: str
    names: tuple[str, ...]
    macro_names: tuple[str, ...]
    equation: str
    symbol: str
    area: AreaMeasure
    source: str
    peers: Mapping[str, str]
    values: Mapping[str, str]


def _step_parts(ranks: ScoreRanks, _: MetricCall) -> tuple[Real, int]:
    return average_precision_sum(ranks), ranks.positives


def _trapezoid_parts(ranks: ScoreRanks, _: MetricCall) -> tuple[Real, int]:
    return trapezoid_sum(ranks), 2 * ranks.positives


STEP_AREA, TRAPEZOID_AREA = (
    AreaMeasure(_step_parts, step_area_draws, needs_negatives=False),
    AreaMeasure(_trapezoid_parts, trapezoid_area_draws, needs_negatives=False),
)
_CURVE_SYMBOLS = {
    "R_t, P_t": "recall and precision where scores of at least t are called positive",
    "t": "runs over the distinct scores, the highest first; t-1 is the next higher one",
}
_AVERAGED_LABELS_SYMBOLS = {
    "D": "declared labels that occur in gold, without excluded ones",
    "j": "runs over these labels",
}
_AVERAGE_PRECISION = _PrecisionRecallArea(
    key="average_precision",
    name="average precision",
    names=("AP", "AUPRC by steps", "area under the precision-recall curve"),
    macro_names=("mAP", "mean average precision"),
    equation=r"\sum_{t} (R_{t}-R_{t-1})\,P_{t},\quad R_{0}=0",
    symbol="AP",
    area=STEP_AREA,
    source="Zhu 2004; scikit-learn, average_precision_score; Döring",
    peers={
        "scikit-learn": "average_precision_score; a label that never occurs in gold counts as 0, with a warning",
        "torchmetrics": "AveragePrecision; a label that never occurs in gold is left out of its mean, as here",
        "PRROC": "interpolates as Davis & Goadrich 2006 and so gives other values",
        "PASCAL VOC 2007": "a different measure: the mean of the best precision at 11 recall levels",
    },
    values={"": "29/36", "macro": "7/8", "weighted": "53/60", "micro": "158/175"},
)
_TRAPEZOID = _PrecisionRecallArea(
    key="auprc_trapezoid",
    name="area under the precision-recall curve by straight lines",
    names=("AUPRC by trapezoids", "aucpr"),
    macro_names=("mean AUPRC by trapezoids",),
    equation=r"\sum_{t} (R_{t}-R_{t-1})\,\frac{P_{t}+P_{t-1}}{2},\quad R_{0}=0,\;P_{0}=1",
    symbol="A",
    area=TRAPEZOID_AREA,
    source="ROCR, performance(measure='aucpr'); Döring; too optimistic, see Davis & Goadrich 2006",
    peers={
        "scikit-learn": "auc(recall, precision) of precision_recall_curve, which begins at (0, 1) too",
        "ROCR": "aucpr; it differs if negatives stand alone between positives (of points with the same recall it keeps only "
        "the best), and if more than two positives are tied (it interpolates as Davis & Goadrich 2006, and misplaces "
        "points after a second such tie)",
    },
    values={"": "61/72", "macro": "131/144", "weighted": "109/120", "micro": "482/525"},
)
_AVERAGES = {"macro": "macro", "weighted": "support-weighted", "micro": "micro"}


def _equation(measure: _PrecisionRecallArea, suffix: str) -> str:
    one = rf"\mathrm{{{measure.symbol}}}_{{j}}"
    means = {
        "macro": rf"\frac{{1}}{{|D|}}\sum_{{j\in D}} {one}",
        "weighted": rf"\frac{{1}}{{\sum_{{j\in D}} n_{{j}}}}\sum_{{j\in D}} n_{{j}}\,{one}",
    }
    return rf"{means[suffix]},\quad {one}={measure.equation}" if suffix in means else measure.equation


def _symbols(suffix: str) -> dict[str, str]:
    if suffix == "micro":
        return {
            **_CURVE_SYMBOLS,
            "R_t, P_t": "recall and precision of all pairs of an instance and a label, where scores of at least t are called positive",
        }
    return _CURVE_SYMBOLS if suffix == "" else _CURVE_SYMBOLS | _AVERAGED_LABELS_SYMBOLS


def _names(measure: _PrecisionRecallArea, suffix: str) -> tuple[str, ...]:
    own = measure.macro_names if suffix == "macro" else ()
    return (*own, *(f"{_AVERAGES[suffix]} {name}" for name in measure.names))


def _example(measure: _PrecisionRecallArea, suffix: str) -> Example:
    return replace(SCORED_MULTILABEL_EXAMPLE if suffix else SCORED_BINARY_EXAMPLE, value=measure.values[suffix])


def _one_label_metric(measure: _PrecisionRecallArea) -> Metric:
    return Metric(
        key=measure.key,
        name=measure.name,
        names=measure.names,
        equation=measure.equation,
        tasks=TASK_KINDS,
        needs=(SCORES,),
        direction="higher",
        granularity=ORDER,
        floor=3,
        range=UNIT_RANGE,
        params=(LABEL_PARAM,),
        options=(SCORE_DIRECTION_OPTION,),
        properties=SCORE_PROPERTIES,
        source=measure.source,
        example=_example(measure, ""),
        compute=label_area(measure.area),
        compute_draws=label_area_draws(measure.area.draws),
        symbols=_symbols(""),
        peers=measure.peers,
    )


def _averaged_metric(measure: _PrecisionRecallArea, suffix: str) -> Metric:
    computes = {
        "macro": mean_area(measure.area),
        "weighted": mean_area(measure.area, by_support=True),
        "micro": pooled_area(measure.area),
    }
    draws = {
        "macro": mean_area_draws(measure.area.draws),
        "weighted": mean_area_draws(measure.area.draws, by_support=True),
        "micro": pooled_area_draws(measure.area.draws),
    }
    return replace(
        _one_label_metric(measure),
        key=f"{measure.key}_{suffix}",
        name=f"{_AVERAGES[suffix]} {measure.name}",
        names=_names(measure, suffix),
        equation=_equation(measure, suffix),
        params=(),
        options=(SCORE_DIRECTION_OPTION, EXCLUDE_LABELS_OPTION),
        example=_example(measure, suffix),
        compute=computes[suffix],
        compute_draws=draws[suffix],
        symbols=_symbols(suffix),
    )


for _measure in (_AVERAGE_PRECISION, _TRAPEZOID):
    register(_one_label_metric(_measure))
    for _suffix in _AVERAGES:
        register(_averaged_metric(_measure, _suffix))
