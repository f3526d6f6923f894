"""The detailed report of one submission: classes, label sets, confusion, curves, calibration, folds; as JSON or tables."""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, product
from typing import Any, TextIO

import numpy as np

from app.scoring.association import association
from app.scoring.crosstab import confusion
from app.scoring.declaration.metric import CATALOGUE, Result
from app.scoring.declaration.metric_parser import effective_options, parse_metric
from app.scoring.evaluate import evaluate
from app.scoring.evaluation_input import EvaluationInput, Labels
from app.scoring.numeric.exact import total
from app.scoring.numeric.weight_scaling import to_json_number
from app.scoring.probability_rows import are_probabilities
from app.scoring.reports.per_class_report import PART_METRICS, per_class_report
from app.scoring.reports.report_size import reason_too_large
from app.scoring.standings import round_significant
from app.text.spreadsheet_cells import escape_formula

Row = Mapping[str, Any]
Options = Mapping[str, str]
PartBuilder = Callable[[EvaluationInput, Options], Any]


def _metric_results(case: EvaluationInput, options: Options, keys: Sequence[str]) -> dict[str, Result]:
    """Results by key of the metrics that are for the task."""
    calls = [parse_metric(key, options=options, task=case.spec.task) for key in keys if _needs_no_parameter(key, case)]
    found = evaluate(case, calls)
    return {call.metric.key: found[call.text] for call in calls}


def _needs_no_parameter(key: str, case: EvaluationInput) -> bool:
    """Whether a metric is for the task and needs no parameter that somebody has to choose."""
    metric, task = CATALOGUE[key], case.spec.task
    return task in metric.tasks and not any(
        param.default is None and task in param.required_for for param in metric.params
    )


def per_class_table(case: EvaluationInput, options: Options) -> dict[str, dict[str, float | int | None]]:
    """For each label its counts and measures under a recipe's options; empty for acceptable answers."""
    return per_class_report(case, effective_options(CATALOGUE["f1_macro"], options))


def _build_label_sets(case: EvaluationInput, options: Options) -> Any:
    """Sizes of the label sets in gold and predictions, how many are empty, how many instances are wholly right.

    Of weighted instances both are sums of weights.
    """
    if case.spec.task != "multilabel":
        return None
    keys = [f"label_{size}_{side}" for size in ("cardinality", "density") for side in ("gold", "predicted")]
    found = {key: result.value for key, result in _metric_results(case, options, keys).items()}
    empty = {
        side: _count_empty_sets(case, labels) for side, labels in (("gold", case.gold), ("predicted", case.predicted))
    }
    return found | {"empty": empty, "status": _metric_data_builder("instance_status")(case, options)}


def _count_empty_sets(case: EvaluationInput, labels: Labels) -> int | float:
    """How many of the sets are empty, or what their instances weigh."""
    offsets = labels.as_sets().offsets
    assert offsets is not None
    empty = np.diff(offsets) == 0
    return int(empty.sum()) if case.weights is None else to_json_number(total(case.weights[empty]) * case.weight_unit)


_MAX_ASSOCIATION_CLASSES = 500  # classes


def _build_groups(case: EvaluationInput, options: Options) -> Any:
    """How far being right depends on the group of an instance."""
    found = _metric_results(case, options, ("chi_squared", "cramers_v"))
    return None if case.groups is None else {key: result.value for key, result in found.items()}


def _build_association(case: EvaluationInput, _: Options) -> Any:
    """How far gold and predicted labels depend on each other; for tables that are small enough."""
    if (
        case.spec.task == "multilabel"
        or case.acceptable
        or len(case.spec.classes) > _MAX_ASSOCIATION_CLASSES
        or case.weights is not None
    ):
        return None
    found = association(confusion(case)["matrix"])
    return {
        "chi_squared": found.chi_squared,
        "degrees_of_freedom": found.degrees_of_freedom,
        "cramers_v": found.cramers_v,
    }


def _metric_data_builder(*keys: str) -> PartBuilder:
    """What the first of these metrics that is for the task has to show; nothing where it is not defined."""

    def made(case: EvaluationInput, options: Options) -> Any:
        found = _metric_results(case, options, keys[:])
        return next((result.data for result in found.values() if result.data is not None), None)

    return made


def _build_calibration(case: EvaluationInput, options: Options) -> Any:
    """The bins of the positive or else of the best label; of label sets they would be of one label, which nobody names."""
    bins = _metric_data_builder(*PART_METRICS["calibration"])
    return None if case.scores is None or case.spec.task == "multilabel" else bins(case, options)


PROBABILITY_PART = "calibration"
"""The part that is left out where the scores of exclusive classes are no probabilities."""


def _omission_reason(case: EvaluationInput, options: Options, part: str, *, alone: bool) -> str | None:
    """Why a report leaves out a part that the data may have."""
    if part != PROBABILITY_PART or case.scores is None or case.spec.task == "multilabel":
        return reason_too_large(case, part, alone=alone)
    if options.get("score_direction") == "lower":
        return "it needs probabilities, and of those a lower one is never surer (score_direction=lower)"
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
"""The parts of a report, each with the report of a phase that allows participants to see it."""


def build_detailed_report(
    case: EvaluationInput,
    options: Options | None = None,
    parts: Sequence[str] | None = None,
    digits: int | None = None,
    *,
    size: bool = True,
) -> dict[str, Any]:
    """The report as a JSON object: facts of the data, then each of these parts (all, without `parts`) that applies.

    One that would be too large, or that needs other scores, stands in `left_out` in its place, with a reason. A part alone has no list of the classes.
    `options` are a recipe's. `digits`: significant digits of every number that is no count; None for full precision.
    `size`: whether it says how many instances there are.
    """
    found: dict[str, Any] = {"task": case.spec.task}
    if size:
        found["instances"] = case.gold.n
    asked = tuple(REPORT_PARTS if parts is None else parts)
    if len(asked) != 1:
        found["classes"] = list(case.spec.classes)
    for name in asked:
        reason = _omission_reason(case, options or {}, name, alone=len(asked) == 1)
        if reason is not None:
            found.setdefault("left_out", []).append({"part": name, "reason": reason})
            continue
        made = _PART_BUILDERS[name][1](case, options or {})
        if made is not None:
            found[name] = _round_numbers(made, digits)
    return found


def _round_numbers(value: Any, digits: int | None) -> Any:
    """A JSON value with its numbers at so many digits."""
    if digits is None:
        return value
    if isinstance(value, float):
        return round_significant(value, digits)
    if isinstance(value, dict):
        return {key: _round_numbers(item, digits) for key, item in value.items()}
    return [_round_numbers(item, digits) for item in value] if isinstance(value, list) else value


def write_csv(report: Mapping[str, Any], part: str, target: TextIO) -> None:
    """One part of a report as a table with a header; nothing but an empty file where the part does not apply."""
    rows = iter(() if part not in report else table_rows(report[part]))
    first = next(rows, None)
    if first is None:
        return
    table = csv.DictWriter(target, fieldnames=list(first), lineterminator="\n", extrasaction="ignore", restval="")
    for row in chain([{name: name for name in first}, first], rows):
        table.writerow({name: escape_formula(item) if isinstance(item, str) else item for name, item in row.items()})


def table_rows(value: Any) -> Iterator[Row]:
    """A part, or the data of a metric, laid out as rows: cells, points of curves, bins, folds, a row for each label."""
    if isinstance(value.get("labels"), list):  # classes may be called so too, but have rows of their own
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


def _flatten(value: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, item in value.items():
        found |= _flatten(item, f"{before}{key}_") if isinstance(item, dict) else {f"{before}{key}": item}
    return found


def _cell_rows(table: Mapping[str, Any]) -> Iterator[Row]:
    """The cells that are not 0."""
    names, kinds = (
        table["labels"],
        ("count",) if {"matrix", "one_vs_rest"} & set(table) else ("row_count", "column_count"),
    )
    if "cells" in table:
        cells = iter(table["cells"])
    else:
        matrices = [table["matrix"]] if "matrix" in table else [table["row_counts"], table["column_counts"]]
        places = product(range(len(names)), repeat=2)
        cells = ([at, to, *(matrix[at][to] for matrix in matrices)] for at, to in places)
    for at, to, *counts in cells:
        if any(counts):
            yield {"gold": names[at], "predicted": names[to], **dict(zip(kinds, counts, strict=True))}


def _curve_rows(curves: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
    for curve in curves:
        columns = {name: item for name, item in curve.items() if isinstance(item, list)}
        for values in zip(*columns.values(), strict=True):
            yield {"label": curve["label"], **dict(zip(columns, values, strict=True))}
