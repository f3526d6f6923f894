"""Measures of the ROC curve of one label: partial areas, single points, and the variance of the area."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np

from app.scoring.curves import (
    delong_variance,
    equal_error_rate,
    fp_at_recall,
    partial_roc_area,
    roc_corners,
    standardize_partial_area,
)
from app.scoring.declaration.distinct_value_bounds import ORDER
from app.scoring.declaration.interval_method import NO_INTERVAL_OF_VARIANCE
from app.scoring.declaration.metric import SCORES, Compute, Metric, MetricCall, Param, Result, register
from app.scoring.declaration.task import TASK_KINDS
from app.scoring.draw_context import Floats, NoDrawForm, divide_draws
from app.scoring.metrics.labels.undefined_rules import UndefinedError
from app.scoring.metrics.scores.area_draws import label_area_draws
from app.scoring.metrics.scores.auc import AUC_SYMBOLS, ROC_AREA, SCORED_BINARY_EXAMPLE
from app.scoring.metrics.scores.curve_areas import label_ranks
from app.scoring.metrics.scores.draw_ranks import (
    DrawRanks,
    equal_error_rate_draws,
    fp_at_recall_draws,
    partial_roc_area_draws,
)
from app.scoring.metrics.scores.score_columns import class_code, score_columns
from app.scoring.metrics.shared_declarations import (
    LABEL_PARAM,
    SCORE_DIRECTION_OPTION,
    SCORE_PROPERTIES,
    UNIT_RANGE,
    choice_param,
)
from app.scoring.numeric.exact import to_fraction
from app.scoring.score_ranks import ScoreRanks
from app.scoring.tally import EvaluationContext

_EXACT_LIMIT = 2**62
"""Products below it fit int64."""
MAX_FPR_PARAM = Param(
    "max_fpr",
    "number",
    "the false positive rate up to which the area is computed",
    bounds=(0, 1),
    required_for=TASK_KINDS,
)
STANDARDIZED_PARAM = choice_param(
    "standardized",
    "whether the partial area is standardized",
    false="the area itself, at most max_fpr",
    true="McClish's correction: chance is 1/2, a perfect ranking 1",
)
SENSITIVITY_PARAM = Param(
    "sensitivity", "number", "the share of the positives that must be found", bounds=(0, 1), required_for=TASK_KINDS
)


def _read_off_curve(statistic: Callable[[ScoreRanks, MetricCall], Fraction]) -> Compute:
    """A value read from the curve of one label, computed exactly and rounded once."""

    def compute(ws: EvaluationContext, call: MetricCall) -> Result:
        ranks, notes = label_ranks(ROC_AREA, ws, call)
        return Result(float(statistic(ranks, call)), None, notes)

    return compute


def _partial_auc(ranks: ScoreRanks, call: MetricCall) -> Fraction:
    max_fpr = to_fraction(call.params["max_fpr"])
    if max_fpr == 0:
        raise UndefinedError("max_fpr=0 leaves no area")
    area = partial_roc_area(roc_corners(ranks), max_fpr)
    return standardize_partial_area(area, max_fpr) if call.params["standardized"] == "true" else area


def _specificity_at_sensitivity(ranks: ScoreRanks, call: MetricCall) -> Fraction:
    false_positives = fp_at_recall(ranks, to_fraction(call.params["sensitivity"]))
    return Fraction(ranks.negatives - false_positives, ranks.negatives)


def _equal_error_rate(ranks: ScoreRanks, _: MetricCall) -> Fraction:
    return equal_error_rate(roc_corners(ranks))


def _partial_auc_draws(ranks: DrawRanks, call: MetricCall) -> Floats:
    max_fpr = float(call.params["max_fpr"])
    if max_fpr == 0:
        return np.full(len(ranks.positives), np.nan)
    area = partial_roc_area_draws(ranks, max_fpr)
    if call.params["standardized"] == "false":
        return area
    chance_area = max_fpr * max_fpr / 2
    return (1 + (area - chance_area) / (max_fpr - chance_area)) / 2


def _specificity_draws(ranks: DrawRanks, call: MetricCall) -> Floats:
    share = to_fraction(call.params["sensitivity"])
    if share.numerator * float(ranks.positives.max(initial=0)) >= _EXACT_LIMIT or share.denominator >= _EXACT_LIMIT:
        raise NoDrawForm
    min_tp = -(-share.numerator * ranks.positives.astype(np.int64) // share.denominator)
    false_positives = fp_at_recall_draws(ranks, min_tp.astype(np.float64))
    values = divide_draws(ranks.negatives - false_positives, ranks.negatives)
    return np.where(ranks.positives > 0, values, np.nan)


def _equal_error_rate_draws(ranks: DrawRanks, _: MetricCall) -> Floats:
    return np.where(ranks.positives > 0, equal_error_rate_draws(ranks), np.nan)


def auc_variance(ws: EvaluationContext, call: MetricCall) -> Result:
    """The estimated variance of the AUC; it needs two positives and two negatives."""
    code, columns = class_code(ws, call), score_columns(ws, call)
    steps = columns.steps(code)
    if steps.positives < 2 or steps.negatives < 2:
        raise UndefinedError("it needs at least two positives and two negatives")
    return Result(float(delong_variance(steps)))


def _partial_auc_equation(limit: str, *, standard: bool) -> str:
    integral = rf"\int_{{0}}^{{{limit}}} \mathrm{{TPR}}(x)\,dx"
    if not standard:
        return integral
    chance_area = rf"\tfrac{{1}}{{2}}({limit})^{{2}}"
    corrected = rf"\frac{{A-{chance_area}}}{{{limit}-{chance_area}}}"
    return rf"\frac{{1}}{{2}}\left(1+{corrected}\right),\quad A={integral}"


_CURVE_SYMBOLS = {"TPR(x)": "true positive rate at false positive rate x, linear between the points of the curve"}
_PARTIAL_AUC = Metric(
    key="partial_auc",
    name="partial AUC",
    names=("pAUC", "area under a part of the ROC curve"),
    equation=_partial_auc_equation("f", standard=False),
    tasks=TASK_KINDS,
    needs=(SCORES,),
    direction="higher",
    granularity=ORDER,
    range=UNIT_RANGE,
    params=(MAX_FPR_PARAM, LABEL_PARAM, STANDARDIZED_PARAM),
    options=(SCORE_DIRECTION_OPTION,),
    properties=replace(SCORE_PROPERTIES, prevalence_sensitive=False),
    source="McClish 1989",
    example=replace(SCORED_BINARY_EXAMPLE, value="1/3", params={"max_fpr": "0.5"}),
    compute=_read_off_curve(_partial_auc),
    compute_draws=label_area_draws(_partial_auc_draws),
    symbols=_CURVE_SYMBOLS | {"f": "max_fpr, the highest false positive rate", "A": "the area before standardization"},
    peers={
        "scikit-learn": "roc_auc_score(max_fpr=…) is standardized=true",
        "pROC": "auc(partial.auc=c(1, 1-max_fpr)), with partial.auc.correct=TRUE standardized=true; a corrected area "
        "below that of chance is NA there",
        "ROCR": "performance(measure='auc', fpr.stop=max_fpr)",
    },
    equation_of_call=lambda call: _partial_auc_equation(
        r"\param{max_fpr}", standard=call.params["standardized"] == "true"
    ),
)
_SPECIFICITY = replace(
    _PARTIAL_AUC,
    key="specificity_at_sensitivity",
    name="specificity at a sensitivity",
    names=("specificity at fixed recall", "true negative rate at a true positive rate"),
    equation=r"\max_{t:\,\mathrm{TPR}_{t}\ge r} \mathrm{TNR}_{t}",
    params=(SENSITIVITY_PARAM, LABEL_PARAM),
    source="Hanley & McNeil 1982; Pepe 2003",
    example=replace(SCORED_BINARY_EXAMPLE, value="2/3", params={"sensitivity": "0.5"}),
    compute=_read_off_curve(_specificity_at_sensitivity),
    compute_draws=label_area_draws(_specificity_draws),
    symbols={
        "t": "runs over the distinct scores, and a threshold that no score reaches",
        "TPR_t, TNR_t": "sensitivity and specificity where scores of at least t are called positive",
        "r": "sensitivity, the share of the positives that must be found",
    },
    peers={"pROC": "coords(input='sensitivity', ret='specificity') takes points on the lines between thresholds too"},
    equation_of_call=lambda _: r"\max_{t:\,\mathrm{TPR}_{t}\ge \param{sensitivity}} \mathrm{TNR}_{t}",
)
_EQUAL_ERROR_RATE = replace(
    _PARTIAL_AUC,
    key="equal_error_rate",
    name="equal error rate",
    names=("EER", "crossover error rate"),
    equation=r"x:\quad x=1-\mathrm{TPR}(x)",
    direction="lower",
    params=(LABEL_PARAM,),
    source="Martin et al. 1997, The DET curve in assessment of detection task performance",
    example=replace(SCORED_BINARY_EXAMPLE, value="1/3"),
    compute=_read_off_curve(_equal_error_rate),
    compute_draws=label_area_draws(_equal_error_rate_draws),
    symbols=_CURVE_SYMBOLS | {"x": "the false positive rate that equals the false negative rate"},
    peers={
        "BOSARIS": "uses the convex hull of the ROC curve, whose equal error rate is never higher",
        "others": "some implementations use the mean of the two rates at the threshold where they are closest",
    },
    equation_of_call=None,
)
_DELONG = replace(
    _PARTIAL_AUC,
    key="delong_variance",
    name="DeLong variance of the AUC",
    names=("variance of the AUC", "DeLong's variance"),
    equation=r"\frac{\sum_{u\in +}(V_{u}-\theta)^{2}}{n_{+}(n_{+}-1)}+\frac{\sum_{v\in -}(V_{v}-\theta)^{2}}{n_{-}(n_{-}-1)}",
    tasks=("binary",),
    direction="none",
    range=(0.0, 0.5),
    params=(),
    properties=SCORE_PROPERTIES,
    source="DeLong, DeLong & Clarke-Pearson 1988; Sun & Xu 2014",
    example=replace(SCORED_BINARY_EXAMPLE, value="1/27"),
    compute=auc_variance,
    compute_draws=None,
    interval=NO_INTERVAL_OF_VARIANCE,
    hints=dict.fromkeys(("multiclass", "multilabel"), "it applies to the AUC of a binary task"),
    supports_weights=False,
    symbols={name: meaning for name, meaning in AUC_SYMBOLS.items() if name != "s_u, s_v"}
    | {
        "θ": "the AUC, ties counted half",
        "V_u": "share of the negatives that score lower than positive u, ties counted half",
        "V_v": "share of the positives that score higher than negative v, ties counted half",
    },
    peers={"pROC": "var(method='delong') is the same"},
    equation_of_call=None,
)
for _metric in (_PARTIAL_AUC, _SPECIFICITY, _EQUAL_ERROR_RATE, _DELONG):
    register(_metric)
