"""Curves with their thresholds: ROC, precision-recall and detection error tradeoff, of one label or of each label."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from app.scoring.curves import ThresholdCounts, corner_mask, run_end_mask
from app.scoring.declaration.distinct_value_bounds import ORDER
from app.scoring.declaration.metric import SCORES, Compute, Metric, MetricCall, Param, Result, register
from app.scoring.declaration.task import TASK_KINDS
from app.scoring.metrics.labels.undefined_rules import UndefinedError
from app.scoring.metrics.scores.auc import ROC_AREA, SCORED_BINARY_EXAMPLE
from app.scoring.metrics.scores.curve_areas import reversed_scores_note, split_defined
from app.scoring.metrics.scores.precision_recall_areas import STEP_AREA
from app.scoring.metrics.scores.score_columns import averaged_codes, class_code, score_columns
from app.scoring.metrics.shared_declarations import (
    EXCLUDE_LABELS_OPTION,
    SCORE_DIRECTION_OPTION,
    SCORE_PROPERTIES,
    UNIT_RANGE,
    choice_param,
)
from app.scoring.numeric.exact import Integers, divide
from app.scoring.score_ranks import Mask, ScoreRanks
from app.scoring.tally import EvaluationContext

CurvePoints = dict[str, list[float]]
OPTIONAL_LABEL_PARAM = Param(
    "label",
    "label",
    "the class to evaluate; by default the positive label of a binary task, else each class separately",
)
COLLINEAR_PARAM = choice_param(
    "collinear",
    "whether points that lie on a straight line between others are kept",
    keep="one point per distinct score",
    drop="such points are left out; the curve stays the same",
)


def _rates(counts: Integers, total: int) -> list[float]:
    rates: list[float] = divide(counts, np.full(len(counts), total)).tolist()
    return rates


def _roc(steps: ThresholdCounts) -> tuple[CurvePoints, Mask]:
    tp, fp = np.append(0, steps.tp), np.append(0, steps.fp)
    return {"fpr": _rates(fp, steps.negatives), "tpr": _rates(tp, steps.positives)}, corner_mask(fp, tp)


def _det(steps: ThresholdCounts) -> tuple[CurvePoints, Mask]:
    tp, fp = np.append(0, steps.tp), np.append(0, steps.fp)
    fn = steps.positives - tp
    return {"fpr": _rates(fp, steps.negatives), "fnr": _rates(fn, steps.positives)}, corner_mask(fp, tp)


def _pr(steps: ThresholdCounts) -> tuple[CurvePoints, Mask]:
    precision: list[float] = divide(steps.tp, steps.tp + steps.fp).tolist()
    tp = np.append(0, steps.tp)
    return {"recall": _rates(tp, steps.positives), "precision": [1.0, *precision]}, run_end_mask(tp)


def _curve_json(
    steps: ThresholdCounts,
    thresholds: list[float],
    curve: Callable[[ThresholdCounts], tuple[CurvePoints, Mask]],
    call: MetricCall,
) -> Any:
    """One curve as lists of equal length; its first point has no threshold: nothing is called positive there."""
    lists, shown = curve(steps)
    if call.params["collinear"] == "keep":
        shown = np.ones(len(shown), dtype=bool)
    columns: dict[str, list[Any]] = {"threshold": [None, *thresholds], **lists}
    return {
        "positives": steps.positives,
        "negatives": steps.negatives,
        "points": int(shown.sum()),
        **{name: [column[at] for at in np.flatnonzero(shown).tolist()] for name, column in columns.items()},
    }


def _compute_curves(
    curve: Callable[[ThresholdCounts], tuple[CurvePoints, Mask]], lacking: Callable[[ScoreRanks], str | None]
) -> Compute:
    """The curve of the requested class, or of each class, as {"curves": [{"label", …}]}."""

    def compute(ws: EvaluationContext, call: MetricCall) -> Result:
        columns = score_columns(ws, call)
        single = "label" in call.params or ws.spec.task == "binary"
        codes, notes = ([class_code(ws, call)], ()) if single else averaged_codes(ws, call)
        defined, left_out = split_defined(lacking, columns, codes)
        if not defined:
            raise UndefinedError(f"there is no curve: {'; '.join(left_out)}")
        curves = []
        for code in defined:
            steps = columns.steps(code)
            thresholds = columns.sent(code, steps.thresholds).tolist()
            curves.append({"label": columns.names[code], **_curve_json(steps, thresholds, curve, call)})
            notes = (*notes, *reversed_scores_note(columns, code))
        count = f"{sum(one['points'] for one in curves)} points in all"
        return Result(None, None, (*notes, *left_out, count), {"curves": curves})

    return compute


def _example_value(**lists: list[float]) -> str:
    """The value of the example: three positives and three negatives, two of them tied."""
    curve = {"label": "spam", "positives": 3, "negatives": 3, "points": 6}
    return json.dumps({"curves": [{**curve, "threshold": [None, 0.9, 0.8, 0.4, 0.3, 0.2], **lists}]})


_FPR, _TPR = [0.0, 0.0, 1 / 3, 1 / 3, 2 / 3, 1.0], [0.0, 1 / 3, 2 / 3, 1.0, 1.0, 1.0]
_FNR = [1.0, 2 / 3, 1 / 3, 0.0, 0.0, 0.0]
_THRESHOLD_MEANING = "runs over the distinct scores, the highest first, after a threshold that no score reaches"
_ROC = Metric(
    key="roc_curve",
    name="ROC curve",
    names=("receiver operating characteristic",),
    equation=r"\left(\mathrm{FPR}_{t},\mathrm{TPR}_{t}\right)",
    tasks=TASK_KINDS,
    needs=(SCORES,),
    direction="none",
    granularity=ORDER,
    range=UNIT_RANGE,
    params=(OPTIONAL_LABEL_PARAM, COLLINEAR_PARAM),
    options=(SCORE_DIRECTION_OPTION, EXCLUDE_LABELS_OPTION),
    properties=replace(SCORE_PROPERTIES, prevalence_sensitive=False),
    source="Fawcett 2006; Döring",
    example=replace(SCORED_BINARY_EXAMPLE, value=_example_value(fpr=_FPR, tpr=_TPR)),
    compute=_compute_curves(_roc, ROC_AREA.lacking),
    scalar=False,
    symbols={
        "FPR_t, TPR_t": "false and true positive rate where scores of at least t are called positive",
        "t": _THRESHOLD_MEANING,
    },
    peers={
        "scikit-learn": "roc_curve drops collinear points unless drop_intermediate=False; its first threshold is infinity"
    },
)
_PR = replace(
    _ROC,
    key="pr_curve",
    name="precision-recall curve",
    names=("PR curve", "one-vs-all precision-recall curves"),
    equation=r"\left(R_{t},P_{t}\right)",
    source="Döring; Davis & Goadrich 2006",
    example=replace(
        SCORED_BINARY_EXAMPLE, value=_example_value(recall=_TPR, precision=[1.0, 1.0, 2 / 3, 3 / 4, 3 / 5, 1 / 2])
    ),
    compute=_compute_curves(_pr, STEP_AREA.lacking),
    properties=replace(_ROC.properties, prevalence_sensitive=True),
    symbols={
        "R_t, P_t": "recall and precision where scores of at least t are called positive",
        "t": f"{_THRESHOLD_MEANING}: there recall is 0 and precision counts as 1",
    },
    peers={
        "scikit-learn": "precision_recall_curve lists the points in reverse order; its drop_intermediate=True is "
        "collinear=drop, except that it always keeps the first threshold",
        "ROCR": "leaves the precision at the first point undefined",
    },
)
_DET = replace(
    _ROC,
    key="det_curve",
    name="detection error tradeoff curve",
    names=("DET curve",),
    equation=r"\left(\mathrm{FPR}_{t},\mathrm{FNR}_{t}\right)",
    source="Martin et al. 1997, The DET curve in assessment of detection task performance",
    example=replace(SCORED_BINARY_EXAMPLE, value=_example_value(fpr=_FPR, fnr=_FNR)),
    compute=_compute_curves(_det, ROC_AREA.lacking),
    symbols={
        "FPR_t, FNR_t": "rates of false alarms and of misses where scores of at least t are called positive",
        "t": _THRESHOLD_MEANING,
    },
    peers={"scikit-learn": "det_curve leaves out the points before the first false alarm and after the last miss"},
)
for _metric in (_ROC, _PR, _DET):
    register(_metric)
