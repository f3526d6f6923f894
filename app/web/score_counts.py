"""The counts behind a score: what a page shows of a report for a metric, chosen by the declaration of the metric."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from app.scoring.declaration.metric import MetricCall
from app.scoring.declaration.options import excluded_labels
from app.scoring.metrics.labels.undefined_rules import join_names
from app.scoring.tally import NO_LABEL, TALLY_OPTIONS
from app.web.class_counts import (
    ClassCounts,
    ClassMeasure,
    Count,
    averaged_classes,
    is_shown_as,
    latex_number,
    mean_of,
    plain,
    sums_of,
)
from app.web.formatting import number
from app.web.score_sentences import counts_labels, draws_curves, is_of_k_best, no_counts_of, source_of

HARD_COUNTS = ("support", "predicted", "tp", "fp", "fn")
SIDES = ("support", "negatives")
RIGHT = "{right} of {all} right"


class Total(NamedTuple):
    """A named number."""

    name: str
    value: Count


@dataclass(frozen=True, slots=True)
class Asked:
    """A score and the report of its submission, as the API gives them to the reader.

    `rows` are the counts of all classes in the report. `is_brief`: only the shortest form of the counts is needed.
    `options` are those that the counts of the report follow, `digits` the significant ones of its numbers. `withheld`
    says why there is no report for the reader, and `is_counted` whether the reader may see the counts of classes.
    """

    call: MetricCall
    report: Mapping[str, Any]
    rows: tuple[ClassCounts, ...]
    value: float | None
    options: Mapping[str, str]
    positive_label: str | None = None
    digits: int | None = None
    is_counted: bool = True
    withheld: str | None = None
    is_brief: bool = False

    @property
    def excluded(self) -> tuple[str, ...]:
        """The classes that exclude_labels names, if the metric has this option."""
        if "exclude_labels" not in self.call.metric.options:
            return ()
        return excluded_labels(self.call.options["exclude_labels"], self.report.get("per_class", {}))


@dataclass(frozen=True, slots=True)
class ScoreCounts:
    """What is shown of a score: one sentence on what it is computed from, and the counts or why there are none.

    `equation` is the equation with the counts in it, as LaTeX. `is_confirmed`: it gives the score. `columns` are the
    counts that the table of classes has, `measures` the names of its measures. `short` is the shortest form.
    """

    source: str
    absence: str | None = None
    totals: tuple[Total, ...] = ()
    equation: str | None = None
    is_confirmed: bool = False
    columns: tuple[str, ...] = ()
    measures: tuple[str, ...] = ()
    rows: tuple[ClassCounts, ...] = ()
    contribution: str = ""
    remarks: tuple[str, ...] = ()
    bins: tuple[Mapping[str, Any], ...] = ()
    is_weighted: bool = False
    links: tuple[str, ...] = ()
    short: str = ""

    @property
    def has_shares(self) -> bool:
        """Whether the table says what each class adds to the score."""
        return any(row.adds is not None for row in self.rows)


def count_score(asked: Asked) -> ScoreCounts:
    """What to show of a score."""
    metric, report = asked.call.metric, asked.report
    empty = ScoreCounts(source_of(metric), is_weighted=bool(report.get("weighted")))
    if asked.withheld is not None:
        return replace(empty, absence=asked.withheld)
    found = replace(_counts(asked, empty), links=_links(asked))
    if found.absence is None and asked.excluded:
        left_out = f"Left out by exclude_labels: {join_names(asked.excluded)}."
        return replace(found, remarks=(left_out, *found.remarks))
    return found


def _counts(asked: Asked, empty: ScoreCounts) -> ScoreCounts:
    metric, granularity = asked.call.metric, asked.call.metric.granularity.name
    if granularity == "bins":
        return _of_bins(asked, empty)
    absence = _absence(asked)
    if absence is not None:
        return replace(empty, absence=absence)
    if draws_curves(metric):
        return _of_sides(asked, empty)
    if metric.counted.path or metric.counted.sums:
        return (_of_path if metric.counted.path else _of_sums)(asked, empty)
    return _BY_GRANULARITY[granularity](asked, empty)


def _absence(asked: Asked) -> str | None:
    """Why there are no counts of a metric, of the report of another, or for this reader; None if there are some."""
    metric = asked.call.metric
    has_counts = metric.counted.path or metric.counted.sums or metric.granularity.name in _BY_GRANULARITY
    is_counted = counts_labels(metric) and has_counts and not is_of_k_best(metric)
    if not (draws_curves(metric) or is_counted):
        return no_counts_of(metric)
    return _other_reading(asked) or (None if asked.report.get("per_class") else _no_classes(asked))


def _links(asked: Asked) -> tuple[str, ...]:
    """The parts of the report that show more."""
    needs_matrix = asked.call.metric.granularity.name in {"right", "class_tables", "confusion"}
    drawn = {"confusion": needs_matrix and counts_labels(asked.call.metric)}
    drawn |= {"roc_curve": draws_curves(asked.call.metric)}
    drawn |= {"calibration": asked.call.metric.granularity.name == "bins"}
    return tuple(part for part, is_useful in drawn.items() if is_useful and part in asked.report)


def _other_reading(asked: Asked) -> str | None:
    """Why the counts of the report are not those of the score, if the metric reads labels in a way of its own."""
    call, names = asked.call, TALLY_OPTIONS if asked.report.get("task") == "multilabel" else TALLY_OPTIONS[:1]
    own = [
        f"{name}={call.options[name]}"
        for name in names
        if name in call.metric.options and call.options[name] != asked.options[name]
    ]
    if not own:
        return None
    return (
        f"This metric has {', '.join(own)}, and the report follows the options of the recipe, so no counts are shown."
    )


def _no_classes(asked: Asked) -> str:
    if not asked.is_counted:
        return "This phase does not show its participants the counts of classes."
    for omitted in asked.report.get("left_out") or []:
        if omitted["part"] == "per_class":
            return f"The report leaves out the counts of classes: {omitted['reason']}."
    return (
        "Instances may have several acceptable answers, so they belong to no single class and the report counts none."
    )


def _of_one_class(asked: Asked, empty: ScoreCounts) -> ScoreCounts:
    label = asked.call.params.get("label") or asked.positive_label
    row = next((row for row in asked.rows if row.label == label), None)
    if row is None:
        return replace(empty, absence="The report has no counts of this class.")
    found = _of_table(asked, replace(empty, columns=HARD_COUNTS, rows=(row,)), row)
    return replace(found, remarks=(f"The class is {label}.", *found.remarks))


def _of_pooled_classes(asked: Asked, empty: ScoreCounts) -> ScoreCounts:
    rows = [row for row in asked.rows if row.label not in asked.excluded]
    if not rows:
        return replace(empty, absence="No class is left to add up.")
    return _of_table(asked, replace(empty, columns=HARD_COUNTS, rows=tuple(rows)), sums_of(rows))


def _of_table(asked: Asked, shown: ScoreCounts, table: ClassCounts) -> ScoreCounts:
    """The measure of one table, or of the sums of several."""
    measure = ClassMeasure.of(asked.call, asked.call.metric.counted.measures[0])
    totals = [Total(name, getattr(table, name)) for name in ("tp", "fp", "fn", "tn")]
    short = "tp {}, fp {}, fn {}".format(*(number(total.value) for total in totals[:3]))
    shown = replace(shown, totals=tuple(totals), short=short)
    value = measure.value(table)
    if value is None:
        rule = asked.call.options["zero_division"]
        return _remark(shown, f"The equation divides by 0 for these counts, so zero_division={rule} decides the value.")
    return _with_equation(asked, shown, measure.equation(table), value)


def _of_sums(asked: Asked, empty: ScoreCounts) -> ScoreCounts:
    """A share of all instances, or of all decisions, that the counts of classes add up to."""
    counted, rows = asked.call.metric.counted, asked.rows
    parts = [plain(sum(getattr(row, name) for row in rows)) for name in counted.sums]
    instances, classes = _instances(asked), len(rows)
    share = _Share(
        plain(sum(parts)), instances * (classes if counted.divisor == "decisions" else 1), counted.complement
    )
    numerator = "+".join(map(latex_number, parts))
    divisor = latex_number(instances) + (rf"\cdot {classes}" if counted.divisor == "decisions" else "")
    totals: tuple[Total, ...]
    if counted.sums == ("tp",):
        totals = (
            Total("right", share.part),
            Total("wrong", plain(share.whole - share.part)),
            Total("instances", instances),
        )
        short = RIGHT.format(right=number(share.part), all=number(instances))
    elif counted.divisor == "decisions" and len(parts) > 1:
        totals = (Total("wrong decisions", share.part), Total("decisions", share.whole))
        short = f"{number(share.part)} of {number(share.whole)} decisions wrong"
    else:
        totals = (Total("labels", share.part), Total("instances", instances), Total("classes", classes))
        short = f"{number(share.part)} labels of {number(instances)} instances"
    shown = replace(empty, totals=totals, short=short, columns=HARD_COUNTS, rows=tuple(rows))
    return _with_equation(asked, shown, share.equation(numerator, divisor), share.value)


def _of_path(asked: Asked, empty: ScoreCounts) -> ScoreCounts:
    """A number of instances that the report counts by itself."""
    counted, found = asked.call.metric.counted, asked.report
    for step in counted.path:
        found = found.get(step, {})
    if not isinstance(found, int | float):
        return replace(empty, absence=no_counts_of(asked.call.metric))
    shown = _of_label_sets(asked, empty)
    if not counted.divisor:
        return replace(shown, short=f"{number(found)} instances", is_confirmed=found == asked.value)
    share = _Share(found, _instances(asked), counted.complement)
    return _with_equation(
        asked, shown, share.equation(latex_number(share.part), latex_number(share.whole)), share.value
    )


_STATUS_NAMES = {"full": "fully right", "partial": "partly right", "none": "not at all right"}


def _of_label_sets(asked: Asked, empty: ScoreCounts) -> ScoreCounts:
    """How many instances are right, fully or partly, which a report of label sets counts."""
    sets = asked.report.get("label_sets") or {}
    if not sets.get("status"):
        return replace(empty, absence=no_counts_of(asked.call.metric))
    totals = [Total(_STATUS_NAMES[name], status["count"]) for name, status in sets["status"].items()]
    totals += [Total("without predicted labels", sets["empty"]["predicted"])]
    totals += [Total("without gold labels", sets["empty"]["gold"])]
    short = f"{number(totals[0].value)} of {number(_instances(asked))} fully right"
    return replace(empty, totals=tuple(totals), short=short)


def _of_whole_task(asked: Asked, empty: ScoreCounts) -> ScoreCounts:
    """Right and wrong instances, for metrics of the confusion matrix of exclusive classes."""
    if "multilabel" in asked.call.metric.tasks:
        return replace(empty, absence=no_counts_of(asked.call.metric))
    right, instances = plain(sum(row.tp for row in asked.rows)), _instances(asked)
    totals = (Total("right", right), Total("wrong", plain(instances - right)), Total("instances", instances))
    short = RIGHT.format(right=number(right), all=number(instances))
    return replace(empty, totals=totals, short=short, columns=HARD_COUNTS, rows=asked.rows)


def _of_classes(asked: Asked, empty: ScoreCounts) -> ScoreCounts:
    """A mean over classes of one measure, or the F of two such means."""
    counted = asked.call.metric.counted
    if not counted.measures:
        return _of_whole_task(asked, empty)
    measures = [ClassMeasure.of(asked.call, key) for key in counted.measures]
    averaged = averaged_classes(asked.call, asked.rows, asked.excluded, measures)
    short = f"{number(len(averaged.rows))} {'class' if len(averaged.rows) == 1 else 'classes'}"
    if asked.is_brief:
        return replace(empty, short=short)
    mean = mean_of(asked.call, averaged, measures, asked.value, asked.digits)
    return replace(
        empty,
        totals=tuple(Total(f"mean {measure.name}", value) for measure, value in mean.means),
        columns=HARD_COUNTS,
        measures=tuple(measure.name for measure in measures),
        rows=mean.rows,
        contribution=mean.sentence,
        is_confirmed=mean.is_confirmed,
        remarks=averaged.remarks,
        short=short,
    )


def _of_sides(asked: Asked, empty: ScoreCounts) -> ScoreCounts:
    """How many instances have a class and how many have not."""
    label = asked.call.params.get("label") or asked.positive_label
    rows = [row for row in asked.rows if row.label != NO_LABEL and row.label not in asked.excluded]
    if label is not None:
        rows = [row for row in rows if row.label == label]
    positives, negatives = (plain(sum(getattr(row, name) for row in rows)) for name in SIDES)
    short = f"{number(len(rows))} {'class' if len(rows) == 1 else 'classes'}"
    totals: tuple[Total, ...] = ()
    if len(rows) == 1 or asked.call.metric.granularity.name == "pooled_pairs":
        totals = (Total("positives", positives), Total("negatives", negatives))
        short = f"{number(positives)} positives, {number(negatives)} negatives"
    return replace(empty, totals=totals, short=short, columns=SIDES, rows=tuple(rows))


def _of_bins(asked: Asked, empty: ScoreCounts) -> ScoreCounts:
    """The bins of forecasts, if the report has those of the same label."""
    part = asked.report.get("calibration")
    for omitted in asked.report.get("left_out") or []:
        if omitted["part"] == "calibration":
            return replace(empty, absence=f"The report leaves out the calibration: {omitted['reason']}.")
    if part is None:
        return replace(empty, absence="The report that you may read has no bins, so no counts are shown.")
    if len(part["bins"]) != int(asked.call.params["bins"]) or asked.call.params.get("label") != part["label"]:
        return replace(empty, absence="The report has the bins of other settings, so no counts are shown.")
    bins = tuple(part["bins"])
    return replace(empty, bins=bins, short=f"{number(len(bins))} {'bin' if len(bins) == 1 else 'bins'}")


_BY_GRANULARITY: dict[str, Callable[[Asked, ScoreCounts], ScoreCounts]] = {
    "one_table": _of_one_class,
    "pooled_table": _of_pooled_classes,
    "class_tables": _of_classes,
    "confusion": _of_whole_task,
    "instances": _of_label_sets,
}


@dataclass(frozen=True, slots=True)
class _Share:
    """A part of a whole, or with `is_rest` what remains of 1."""

    part: Count
    whole: Count
    is_rest: bool = False

    @property
    def value(self) -> float:
        share = self.part / self.whole if self.whole else math.nan
        return 1 - share if self.is_rest else share

    def equation(self, numerator: str, divisor: str) -> str:
        fraction = rf"\frac{{{numerator}}}{{{divisor}}}"
        return f"1-{fraction}" if self.is_rest else fraction


def _instances(asked: Asked) -> Count:
    """The number of instances, or the sum of their weights, which the counts of any class add up to."""
    status: dict[str, dict[str, Count]] = (asked.report.get("label_sets") or {}).get("status") or {}
    if status:
        return plain(sum(each["count"] for each in status.values()))
    first = asked.rows[0]
    return plain(first.tp + first.fp + first.fn + first.tn)


def _with_equation(asked: Asked, shown: ScoreCounts, equation: str, value: float) -> ScoreCounts:
    """The equation with its counts, and the score if it gives the score."""
    if asked.value is not None and is_shown_as(value, asked.value, asked.digits):
        return replace(shown, equation=f"{equation}={latex_number(asked.value)}", is_confirmed=True)
    if asked.call.options["unknown_label"] == "count_as_fp":
        remark = "Predicted labels outside the vocabulary count as errors of no class, so these sums lack them."
        return _remark(shown, remark)
    return _remark(replace(shown, equation=equation), "The counts are rounded, so the equation gives the score nearly.")


def _remark(shown: ScoreCounts, sentence: str) -> ScoreCounts:
    return replace(shown, remarks=(*shown.remarks, sentence))


def summary(found: ScoreCounts) -> str:
    """The shortest form of the counts; weighted ones say so."""
    return f"{found.short}, by weight" if found.short and found.is_weighted else found.short


def ordered(rows: Sequence[ClassCounts], order: str) -> list[ClassCounts]:
    """The classes in one of the orders of reports."""
    keys: dict[str, Callable[[ClassCounts], Any]] = {
        "name": lambda row: row.label,
        "frequency": lambda row: -row.support,
        "errors": lambda row: -(row.fp + row.fn),
    }
    return sorted(rows, key=keys[order]) if order in keys else [*rows]
