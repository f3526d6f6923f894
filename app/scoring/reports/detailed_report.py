"""The detailed report of one submission, as JSON or tables: classes, confusion, curves, calibration, folds, groups."""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, product
from typing import Any, TextIO

import numpy as np

from app.scoring.chi_squared import association
from app.scoring.crosstab import confusion
from app.scoring.declaration.metric import CATALOGUE, Result
from app.scoring.declaration.metric_parser import effective_options, parse_metric
from app.scoring.evaluate import evaluate
from app.scoring.evaluation_input import EvaluationInput, Labels
from app.scoring.numeric.exact import total
from app.scoring.numeric.unscaled_counts import to_json_number
from app.scoring.probability_rows import are_probabilities
from app.scoring.reports.per_class_report import PART_METRICS, per_class_report
from app.scoring.reports.report_size import CURVE_PARTS, reason_too_large
from app.scoring.reports.thinned_curves import thin_curves
from app.scoring.standings import round_significant
from app.text.spreadsheet_cells import escape_formula

Row = Mapping[str, Any]
Options = Mapping[str, str]
PartBuilder = Callable[[EvaluationInput, Options], Any]


def _metric_results(case: EvaluationInput, options: Options, keys: Sequence[str]) -> dict[str, Result]:
    """The results by key of those metrics that are defined for the task."""
    calls = [parse_metric(key, options=options, task=case.spec.task) for key in keys if _needs_no_parameter(key, case)]
    results = evaluate(case, calls)
    return {call.metric.key: results[call.text] for call in calls}


def _needs_no_parameter(key: str, case: EvaluationInput) -> bool:
    """Whether a metric is defined for the task and has no parameter that the user must set."""
    metric, task = CATALOGUE[key], case.spec.task
    return task in metric.tasks and not any(
        param.default is None and task in param.required_for for param in metric.params
    )


def per_class_table(case: EvaluationInput, options: Options) -> dict[str, dict[str, float | int | None]]:
    """The counts and measures of each label under a recipe's options; empty for gold with acceptable answers."""
    return per_class_report(case, effective_options(CATALOGUE["f1_macro"], options))


def _build_label_sets(case: EvaluationInput, options: Options) -> Any:
    """The sizes of the label sets of gold and predictions, the number of empty ones, and the status of the instances.

    With weighted instances, the numbers are sums of weights.
    """
    if case.spec.task != "multilabel":
        return None
    case = case.over_known_cells()
    keys = [f"label_{size}_{side}" for size in ("cardinality", "density") for side in ("gold", "predicted")]
    values = {key: result.value for key, result in _metric_results(case, options, keys).items()}
    empty = {"gold": _count_empty_sets(case, case.gold), "predicted": _count_empty_sets(case, case.predicted)}
    return values | {"empty": empty, "status": _metric_data_builder("instance_status")(case, options)}


def _count_empty_sets(case: EvaluationInput, labels: Labels) -> int | float:
    """The number of empty sets, or the total weight of their instances."""
    empty = labels.sizes == 0
    return int(empty.sum()) if case.weights is None else to_json_number(total(case.weights[empty]) * case.weight_unit)


_MAX_ASSOCIATION_CLASSES = 500


def _build_groups(case: EvaluationInput, options: Options) -> Any:
    """The association between the group of an instance and whether its prediction is right."""
    results = _metric_results(case, options, ("chi_squared", "cramers_v"))
    return None if case.groups is None else {key: result.value for key, result in results.items()}


def _build_association(case: EvaluationInput, _: Options) -> Any:
    """The association between gold and predicted labels, for tables that are small enough."""
    too_large = len(case.spec.classes) > _MAX_ASSOCIATION_CLASSES
    if case.spec.task == "multilabel" or case.acceptable or too_large or case.weights is not None:
        return None
    measures = association(confusion(case)["matrix"])
    return {name: getattr(measures, name) for name in ("chi_squared", "degrees_of_freedom", "cramers_v")}


def _metric_data_builder(*keys: str) -> PartBuilder:
    """Builds a part from the data of the first of these metrics that is defined for the task and has data."""

    def build(case: EvaluationInput, options: Options) -> Any:
        results = _metric_results(case, options, keys)
        return next((result.data for result in results.values() if result.data is not None), None)

    return build


def _build_calibration(case: EvaluationInput, options: Options) -> Any:
    """The bins of the positive label or else of the best label; for label sets, a label would have to be chosen."""
    bins = _metric_data_builder(*PART_METRICS["calibration"])
    return None if case.scores is None or case.spec.task == "multilabel" else bins(case, options)


PROBABILITY_PART = "calibration"
"""The part that is left out if the scores of exclusive classes are not probabilities."""


def _omission_reason(case: EvaluationInput, options: Options, part: str, *, alone: bool) -> str | None:
    """Why a report leaves out a part that would apply to the data; None if it does not."""
    if part != PROBABILITY_PART or case.scores is None or case.spec.task == "multilabel":
        return reason_too_large(case, part, alone=alone)
    if options.get("score_direction") == "lower":
        return "it needs probabilities, which do not allow score_direction=lower"
    if np.isnan(case.scores).any():
        return "some instances have no scores"
    if are_probabilities(case.scores):
        return None
    return "it needs probabilities: scores from 0 to 1, which sum to 1 where an instance has one for each class"


_PART_BUILDERS: dict[str, tuple[str, PartBuilder]] = {
    "per_class": ("per_class", lambda case, options: per_class_table(case, options) or None),
    "label_sets": ("per_class", _build_label_sets),
    "cross_validation": ("per_class", _metric_data_builder(*PART_METRICS["cross_validation"])),
    "groups": ("per_class", _build_groups),
    "association": ("confusion", _build_association),
    "confusion": ("confusion", _metric_data_builder(*PART_METRICS["confusion"])),
    "roc_curve": ("curves", _metric_data_builder(*PART_METRICS["roc_curve"])),
    "pr_curve": ("curves", _metric_data_builder(*PART_METRICS["pr_curve"])),
    "calibration": ("curves", _build_calibration),
}
REPORT_PARTS: dict[str, str] = {name: allowed_by for name, (allowed_by, _) in _PART_BUILDERS.items()}
"""The parts of a report, each with the name of the phase report that must be enabled for participants to see it."""


def build_detailed_report(
    case: EvaluationInput,
    options: Options | None = None,
    parts: Sequence[str] | None = None,
    digits: int | None = None,
    *,
    size: bool = True,
    points: int | None = None,
) -> dict[str, Any]:
    """The report as a JSON object: facts of the data, then each of these parts (all, without `parts`) that applies.

    A part that would be too large, or that needs other scores, is listed in `left_out` with a reason. The report of a
    single part has no list of the classes. `options` are those of a recipe. `digits` are the significant digits of
    every number that is not a count; None for full precision. `size`: whether to include the number of instances.
    `weighted` is true if instances have weights; then the counts of the parts are sums of weights.
    `points`: the maximum of each curve, which keeps its shape (see thin_curves); None for all points.
    """
    report: dict[str, Any] = {"task": case.spec.task}
    if size:
        report["instances"] = case.gold.n
    if case.weights is not None:
        report["weighted"] = True
    names = tuple(REPORT_PARTS if parts is None else parts)
    if len(names) != 1:
        report["classes"] = list(case.spec.classes)
    for name in names:
        reason = _omission_reason(case, options or {}, name, alone=len(names) == 1 or points is not None)
        if reason is not None:
            report.setdefault("left_out", []).append({"part": name, "reason": reason})
            continue
        content = _PART_BUILDERS[name][1](case, options or {})
        if content is not None and points is not None and name in CURVE_PARTS:
            content = thin_curves(content, points)
        if content is not None:
            report[name] = _round_numbers(content, digits)
    return report


def _round_numbers(value: Any, digits: int | None) -> Any:
    """A JSON value with its floats rounded to significant digits."""
    if digits is None:
        return value
    if isinstance(value, float):
        return round_significant(value, digits)
    if isinstance(value, dict):
        return {key: _round_numbers(item, digits) for key, item in value.items()}
    return [_round_numbers(item, digits) for item in value] if isinstance(value, list) else value


def write_csv(report: Mapping[str, Any], part: str, target: TextIO) -> None:
    """Write one part of a report as a table with a header; an empty file if the part does not apply."""
    rows = iter(() if part not in report else table_rows(report[part]))
    first = next(rows, None)
    if first is None:
        return
    table = csv.DictWriter(target, fieldnames=list(first), lineterminator="\n", extrasaction="ignore", restval="")
    for row in chain([{name: name for name in first}, first], rows):
        table.writerow({name: escape_formula(item) if isinstance(item, str) else item for name, item in row.items()})


def table_rows(value: Any) -> Iterator[Row]:
    """A part, or the data of a metric, as table rows: cells, points of curves, bins, folds, or one row per label."""
    if isinstance(value.get("labels"), list):  # a class may be named "labels" too, but its value is an object
        return _cell_rows(value)
    if isinstance(value.get("curves"), list):
        return _curve_rows(value["curves"])
    listed = next(
        (item for item in value.values() if isinstance(item, list) and item and isinstance(item[0], dict)), None
    )
    if listed is not None:
        return iter(listed)
    if all(isinstance(item, dict) for item in value.values()):
        return ({"label": label, **row} for label, row in value.items())
    return iter([_flatten(value)])


def _flatten(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, item in value.items():
        flat |= _flatten(item, f"{prefix}{key}_") if isinstance(item, dict) else {f"{prefix}{key}": item}
    return flat


def _cell_rows(table: Mapping[str, Any]) -> Iterator[Row]:
    """The cells that are not 0."""
    names = table["labels"]
    columns = ("count",) if {"matrix", "one_vs_rest"} & set(table) else ("row_count", "column_count")
    if "cells" in table:
        cells = iter(table["cells"])
    else:
        matrices = [table["matrix"]] if "matrix" in table else [table["row_counts"], table["column_counts"]]
        positions = product(range(len(names)), repeat=2)
        cells = ([gold, predicted, *(matrix[gold][predicted] for matrix in matrices)] for gold, predicted in positions)
    for gold, predicted, *counts in cells:
        if any(counts):
            yield {"gold": names[gold], "predicted": names[predicted], **dict(zip(columns, counts, strict=True))}


def _curve_rows(curves: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
    for curve in curves:
        columns = {name: item for name, item in curve.items() if isinstance(item, list)}
        for values in zip(*columns.values(), strict=True):
            yield {"label": curve["label"], **dict(zip(columns, values, strict=True))}
