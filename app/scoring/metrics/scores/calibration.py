"""Calibration errors, which compare probabilities with observed shares, and the bins behind them."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from app.scoring.calibration_bins import (
    CalibrationBin,
    expected_calibration_error,
    fill_bins,
    maximum_calibration_error,
)
from app.scoring.declaration.distinct_value_bounds import CALIBRATION_BINS, CALIBRATION_BINS_BY_CLASS
from app.scoring.declaration.interval_method import NO_INTERVAL_OF_BINS
from app.scoring.declaration.metric import Example, MetricCall, Param, Result
from app.scoring.declaration.task import TASK_KINDS
from app.scoring.metrics.labels.undefined_rules import label_position, requested_label
from app.scoring.metrics.scores.oriented_scores import scores_of
from app.scoring.metrics.scores.probability_inputs import declare_probability_metric, has_class, probabilities
from app.scoring.metrics.shared_declarations import MULTILABEL_TASKS, SCORE_PROPERTIES
from app.scoring.numeric.exact import Floats
from app.scoring.tally import EvaluationContext

Bins = tuple[CalibrationBin, ...]
BINS_PARAM = Param("bins", "whole", "the number of bins of equal width", default="15", bounds=(1, 1000))
LABEL_PARAM = Param("label", "label", "the class whose probability is evaluated", required_for=MULTILABEL_TASKS)
ORDINAL_PROPERTIES = replace(SCORE_PROPERTIES, ordinal=True)  # ties for the top label go to the class declared first
BIN_SYMBOLS = {
    "b": "runs over the bins: bin b holds probabilities above (b-1)/bins, up to b/bins; the first also holds 0",
    "n_b": "number of instances whose probability lies in bin b",
    "c_b": "mean probability in bin b: of the positive label, of the requested class, or else of the best label",
    "a_b": "the observed share of bin b: instances that have this class, or whose best label is right",
}
CALIBRATION_EXAMPLE = Example(
    task="binary",
    classes=("rain", "dry"),
    gold=("rain", "dry", "rain", "dry"),
    predicted=("rain", "rain", "dry", "dry"),
    value="",
    params={"bins": "2"},
    positive_label="rain",
    scores=((1.0,), (1.0,), (0.5,), (0.25,)),
)
TORCHMETRICS_NOTE = (
    "bins include their lower edge, and p = 1 has a bin of its own; edges and sums in binary32; rows are not divided by "
    "their sum"
)
CALIBRATION_CURVE_NOTE = (
    "calibration_curve(strategy='uniform') has the same bins without the empty ones, with the edges of linspace, some "
    "of which differ by one unit in the last place"
)


def ece(ws: EvaluationContext, call: MetricCall) -> Result:
    """The mean over instances of the gap between mean probability and observed share in their bin."""
    bins, notes = _bins_of_call(ws, call)
    return Result(float(expected_calibration_error(bins, ws.total)), None, notes)


def mce(ws: EvaluationContext, call: MetricCall) -> Result:
    """The largest gap between mean probability and observed share in any bin."""
    bins, notes = _bins_of_call(ws, call)
    return Result(float(maximum_calibration_error(bins)), None, notes)


def classwise_ece(ws: EvaluationContext, call: MetricCall) -> Result:
    """The mean over classes of the calibration error of each against the rest."""
    forecasts, notes = probabilities(ws, call)
    classes = range(len(ws.spec.classes))
    all_bins = [class_bin for code in classes for class_bin in _bins_of_class(ws, call, forecasts, code)]
    return Result(float(expected_calibration_error(all_bins, ws.total) / len(classes)), None, notes)


def calibration_bins(ws: EvaluationContext, call: MetricCall) -> Result:
    """The data of a reliability diagram: edges, weight, mean probability, observed share and gap of each bin."""
    bins, notes = _bins_of_call(ws, call)
    return Result(None, None, notes, {"label": call.params.get("label"), "bins": list(map(_bin_json, bins))})


def _bin_json(one_bin: CalibrationBin) -> dict[str, Any]:
    empty = one_bin.weight == 0
    return {
        "lower": one_bin.lower,
        "upper": one_bin.upper,
        "weight": one_bin.weight,
        "confidence": None if empty else float(one_bin.confidence / one_bin.weight),
        "accuracy": None if empty else one_bin.hits / one_bin.weight,
        "gap": None if empty else float(one_bin.gap),
    }


def _bins_of_call(ws: EvaluationContext, call: MetricCall) -> tuple[Bins, tuple[str, ...]]:
    """The bins of the requested class, of the positive label, or else of the top label of each instance."""
    forecasts, notes = probabilities(ws, call)
    label = call.params.get("label")
    if label is None and ws.spec.task == "multiclass":
        return ws.shared(("top bins", call.params["bins"]), lambda: _bins_of_top_label(ws, call, forecasts)), notes
    code = label_position(requested_label(ws, call), ws.spec.classes)
    return _bins_of_class(ws, call, forecasts, code), notes


def _bins_of_class(ws: EvaluationContext, call: MetricCall, forecasts: Floats, code: int) -> Bins:
    def fill() -> Bins:
        return fill_bins(forecasts[:, code], has_class(ws, code), ws.case.weights, int(call.params["bins"]))

    return ws.shared(("bins", call.params["bins"], code), fill)


def _bins_of_top_label(ws: EvaluationContext, call: MetricCall, forecasts: Floats) -> Bins:
    """The bins of the top labels, chosen by the scores as sent: normalizing a row may make two scores equal."""
    best = np.argmax(scores_of(ws, call), axis=1)
    right = best == ws.case.gold.codes
    return fill_bins(forecasts[np.arange(len(best)), best], right, ws.case.weights, int(call.params["bins"]))


_EXAMPLE_BINS = """{"label": null, "bins": [
{"lower": 0.0, "upper": 0.5, "weight": 2, "confidence": 0.375, "accuracy": 0.5, "gap": -0.125},
{"lower": 0.5, "upper": 1.0, "weight": 2, "confidence": 1.0, "accuracy": 0.5, "gap": 0.5}]}"""


_declare = partial(
    declare_probability_metric,
    tasks=TASK_KINDS,
    granularity=CALIBRATION_BINS,
    params=(BINS_PARAM, LABEL_PARAM),
    properties=ORDINAL_PROPERTIES,
    symbols=BIN_SYMBOLS,
)

_declare(
    key="ece",
    name="expected calibration error",
    names=("ECE", "top-label calibration error", "confidence ECE"),
    equation=r"\sum_{b=1}^{\mathrm{\param{bins}}} \frac{n_{b}}{n}\,|a_{b}-c_{b}|",
    source="Naeini et al. 2015, Obtaining well calibrated probabilities using Bayesian binning; Guo et al. 2017, On "
    "calibration of modern neural networks, eq 3",
    example=replace(CALIBRATION_EXAMPLE, value="5/16"),
    compute=ece,
    interval=NO_INTERVAL_OF_BINS,
    peers={
        "torchmetrics": f"BinaryCalibrationError, MulticlassCalibrationError with norm='l1': {TORCHMETRICS_NOTE}",
        "scikit-learn": f"has no such metric; {CALIBRATION_CURVE_NOTE}",
    },
)
_declare(
    key="mce",
    name="maximum calibration error",
    names=("MCE",),
    equation=r"\max_{1\le b\le \mathrm{\param{bins}},\; n_{b}>0} |a_{b}-c_{b}|",
    source="Naeini et al. 2015, Obtaining well calibrated probabilities using Bayesian binning; Guo et al. 2017, On "
    "calibration of modern neural networks, eq 5",
    example=replace(CALIBRATION_EXAMPLE, value="1/2"),
    compute=mce,
    interval=NO_INTERVAL_OF_BINS,
    peers={"torchmetrics": f"BinaryCalibrationError, MulticlassCalibrationError with norm='max': {TORCHMETRICS_NOTE}"},
)
_declare(
    key="classwise_ece",
    name="classwise expected calibration error",
    names=("classwise-ECE", "static calibration error", "SCE", "marginal calibration error"),
    equation=r"\frac{1}{m}\sum_{j=1}^{m}\sum_{b=1}^{\mathrm{\param{bins}}} \frac{n_{b,j}}{n}\,|a_{b,j}-c_{b,j}|",
    granularity=CALIBRATION_BINS_BY_CLASS,
    params=(BINS_PARAM,),
    properties=SCORE_PROPERTIES,
    source="Kull et al. 2019, Beyond temperature scaling (classwise-ECE); the same as the static calibration error of "
    "Nixon et al. 2019, Measuring calibration in deep learning, whose accuracy in a bin is the share of the class",
    example=replace(CALIBRATION_EXAMPLE, value="1/4"),
    compute=classwise_ece,
    interval=NO_INTERVAL_OF_BINS,
    symbols={
        "b": BIN_SYMBOLS["b"],
        "j": "runs over the classes",
        "n_{b,j}": "number of instances whose probability of class j lies in bin b",
        "c_{b,j}": "their mean probability of class j",
        "a_{b,j}": "the share of them that has class j",
    },
    peers={"torchmetrics": "has no such metric"},
)
_declare(
    key="calibration_bins",
    name="calibration bins",
    names=("reliability diagram", "calibration curve"),
    equation=r"(c_{b},\,a_{b}),\quad b=1,\dots,\mathrm{\param{bins}}",
    direction="none",
    source="Murphy & Winkler 1977, Reliability of subjective probability forecasts; Guo et al. 2017, On calibration "
    "of modern neural networks, sec 2",
    example=replace(CALIBRATION_EXAMPLE, value=_EXAMPLE_BINS),
    compute=calibration_bins,
    scalar=False,
    symbols={letter: meaning for letter, meaning in BIN_SYMBOLS.items() if letter != "n_b"},
    peers={"scikit-learn": CALIBRATION_CURVE_NOTE},
)
