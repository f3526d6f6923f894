"""The counts of classes in a report, the measures of classes that a metric averages, and what each class adds to it."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from app.scoring.declaration.metric import MetricCall
from app.scoring.declaration.options import DEFAULTS
from app.scoring.metrics.labels.base_measures import BASE_MEASURES, BaseMeasure
from app.scoring.metrics.labels.more_base_measures import DERIVED_MEASURES
from app.scoring.metrics.labels.ratio_forms import TableColumns
from app.scoring.metrics.labels.undefined_rules import join_names

Count = int | float
_MEASURES = {base.key: base for base in (*BASE_MEASURES, *DERIVED_MEASURES)}
_LETTERS = re.compile(r"(\\,)?\b(TP|FP|FN|TN)\b")


@dataclass(frozen=True, slots=True)
class ClassCounts:
    """The counts of a class, and what it adds to a mean: its measures, its share of all weights, and the product."""

    label: str
    tp: Count
    fp: Count
    fn: Count
    tn: Count
    reported: Mapping[str, Any]
    """All that the report has of the class."""
    values: tuple[float | None, ...] = ()
    share: float | None = None
    adds: float | None = None

    @classmethod
    def of(cls, label: str, row: Mapping[str, Any]) -> "ClassCounts":
        """The counts of a class in a report."""
        return cls(label, row["tp"], row["fp"], row["fn"], row["tn"], row)

    @property
    def support(self) -> Count:
        """How often the class occurs in gold."""
        return plain(self.tp + self.fn)

    @property
    def predicted(self) -> Count:
        """How often it was predicted."""
        return plain(self.tp + self.fp)

    @property
    def negatives(self) -> Count:
        """How many instances do not have it in gold."""
        return plain(self.fp + self.tn)


def classes_of(report: Mapping[str, Any]) -> tuple[ClassCounts, ...]:
    """The counts of each class in a report; none if it does not count classes."""
    return tuple(ClassCounts.of(label, row) for label, row in report.get("per_class", {}).items())


def sums_of(rows: Sequence[ClassCounts]) -> ClassCounts:
    """The counts of several classes, added up."""
    tp, fp, fn, tn = (plain(sum(getattr(row, name) for row in rows)) for name in ("tp", "fp", "fn", "tn"))
    return ClassCounts("", tp, fp, fn, tn, {})


@dataclass(frozen=True, slots=True)
class ClassMeasure:
    """A measure of the four counts of a class, as a metric uses it."""

    base: BaseMeasure
    call: MetricCall

    @classmethod
    def of(cls, call: MetricCall, key: str) -> "ClassMeasure":
        """The measure with this key, with the parameters and options of a metric."""
        return cls(_MEASURES[key], call)

    @property
    def name(self) -> str:
        """Its name in texts."""
        return self.base.name

    def values(self, rows: Sequence[ClassCounts]) -> list[float | None]:
        """Its value for each class, as the report has it; None where the equation divides by 0."""
        ratio = self.base.ratio(self.call)
        numerator, denominator = ratio.parts(_columns(rows))
        found: list[float | None] = [None] * len(rows)
        defined = np.flatnonzero(denominator != 0)
        exact = ratio.values(numerator[defined], denominator[defined]).tolist()
        for at, value in zip(defined.tolist(), exact, strict=True):
            found[at] = rows[at].reported.get(self.base.key, value)
        return found

    def value(self, row: ClassCounts) -> float | None:
        """Its value for one table."""
        return self.values([row])[0]

    @property
    def of_nothing(self) -> float | None:
        """What 0/0 counts as; None if it is left out or has no value."""
        worst = self.base.range[0] if self.base.direction == "higher" else self.base.range[1]
        rule = self.call.options["zero_division"]
        return {"worst": worst, "0": 0.0, "1": 1.0}.get(rule) if self.base.replaceable else None

    def equation(self, row: ClassCounts) -> str:
        """The equation with the counts of a table, as LaTeX."""
        counts = {"TP": row.tp, "FP": row.fp, "FN": row.fn, "TN": row.tn}

        def count(found: re.Match[str]) -> str:
            times = r"\cdot " if found[1] else ""
            return f"{times}{latex_number(counts[found[2]])}"

        return _LETTERS.sub(count, self.base.equation).replace(r"\beta", self.call.params.get("beta", r"\beta"))


def _columns(rows: Sequence[ClassCounts]) -> TableColumns:
    """tp, fp, fn, tn as whole numbers: sums of weights in the largest unit in which all of them are whole."""
    counts = [(row.tp, row.fp, row.fn, row.tn) for row in rows]
    if all(isinstance(count, int) for table in counts for count in table):
        tp, fp, fn, tn = np.array(counts, dtype=object).reshape(len(counts), 4).T
        return tp, fp, fn, tn
    tables = [[Fraction(repr(count)) for count in (row.tp, row.fp, row.fn, row.tn)] for row in rows]
    unit = math.lcm(*(count.denominator for table in tables for count in table))
    tp, fp, fn, tn = (np.array([int(table[at] * unit) for table in tables], dtype=object) for at in range(4))
    return tp, fp, fn, tn


def plain(value: Count) -> Count:
    """A sum of counts without the rounding of its addition, as a whole number if it is one."""
    rounded = float(f"{value:.12g}") if isinstance(value, float) else value
    return int(rounded) if rounded == int(rounded) else rounded


def latex_number(value: Count) -> str:
    """A number in an equation; without an exponent."""
    text = repr(plain(value) if isinstance(value, float) and value.is_integer() else value)
    return text if "e" not in text else f"{value:.12f}".rstrip("0").rstrip(".")


def is_shown_as(value: float, score: float, digits: int | None) -> bool:
    """Whether a value is a score that is shown with so many significant digits, as the numbers that it comes from."""
    if digits is None:
        return math.isclose(value, score, rel_tol=1e-9, abs_tol=1e-12)
    leading = math.floor(math.log10(abs(score))) + 1 if score else 0
    return abs(value - score) <= 1.001 * 10.0 ** (leading - digits)  # both are rounded


class Averaged(NamedTuple):
    """The classes that enter a mean, what is said of the others, and whether the report has all that decides this."""

    rows: list[ClassCounts]
    remarks: tuple[str, ...]
    is_known: bool


def averaged_classes(
    call: MetricCall, rows: Sequence[ClassCounts], excluded: Sequence[str], measures: Sequence[ClassMeasure]
) -> Averaged:
    """The classes that enter the mean of a metric under its options."""

    def option(name: str) -> str:
        return call.options[name] if name in call.metric.options else DEFAULTS[name]

    kept, remarks = [row for row in rows if row.label not in excluded], list[str]()

    def leave_out(keeps: Callable[[ClassCounts], bool], sentence: str) -> None:
        nonlocal kept
        out = [row.label for row in kept if not keeps(row)]
        if out:
            kept = [row for row in kept if keeps(row)]
            remarks.append(sentence.format(classes=join_names(out)))

    label_set, weights = option("label_set"), call.metric.counted.weights
    if label_set in _LABEL_SETS:
        leave_out(_LABEL_SETS[label_set], f"Left out by label_set={label_set}: {{classes}}.")
    if option("absent_gold") == "skip":
        leave_out(lambda row: row.support > 0, "Absent from gold, and left out by absent_gold=skip: {classes}.")
    if weights in {"present", "given"}:
        leave_out(lambda row: row.support > 0, "Absent from gold, and left out: {classes}.")
    if call.options["zero_division"] == "skip" and len(measures) == 1 and "zero_division" in call.metric.options:
        defined = {row.label for row, value in zip(kept, measures[0].values(kept), strict=True) if value is not None}
        leave_out(lambda row: row.label in defined, "0/0, and left out by zero_division=skip: {classes}.")
    is_known = label_set != "training" and weights not in {"training", "given"}
    return Averaged(kept, tuple(remarks), is_known)


_LABEL_SETS: dict[str, Callable[[ClassCounts], bool]] = {
    "gold": lambda row: row.support > 0,
    "predicted": lambda row: row.predicted > 0,
    "gold_or_predicted": lambda row: row.support > 0 or row.predicted > 0,
}


class Mean(NamedTuple):
    """A mean over classes: what each class adds, the mean of each measure, and how the classes weigh, in a sentence."""

    rows: tuple[ClassCounts, ...]
    means: tuple[tuple[ClassMeasure, float], ...]
    sentence: str
    is_confirmed: bool


_EQUALLY = "Each of the averaged classes counts equally, whatever its size."
_SENTENCES = {
    "equal": _EQUALLY,
    "present": _EQUALLY,
    "support": "A class counts by how often it occurs in gold.",
    "predicted": "A class counts by how often it was predicted.",
    "training": "A class counts by how often it occurs in the training data, which the report does not have.",
    "given": "A class counts by its class weight, which the report does not have; without class weights, all are equal.",
}
_UNKNOWN_LABEL_SET = "Only classes that occur in the training data are averaged, which the report does not have."
_ADDS_UP = "What the classes add up to is the score."
_OF_MEANS = "The score is computed from the means of these measures."


def mean_of(
    call: MetricCall, averaged: Averaged, measures: Sequence[ClassMeasure], score: float | None, digits: int | None
) -> Mean:
    """What each class adds to the mean, if the classes and their weights are known and the sum gives the score."""
    weighting = call.metric.counted.weights
    sentence = _SENTENCES[weighting]
    columns = [_replaced(measure, averaged.rows) for measure in measures]
    rows = tuple(
        replace(row, values=values) for row, values in zip(averaged.rows, zip(*columns, strict=True), strict=True)
    )
    if not averaged.is_known:
        known = sentence if weighting in {"training", "given"} else f"{sentence} {_UNKNOWN_LABEL_SET}"
        return Mean(rows, (), known, is_confirmed=False)
    weights = [_weight(row, weighting) for row in rows]
    if len(measures) > 1:
        means = [(measure, _mean(column, weights)) for measure, column in zip(measures, columns, strict=True)]
        found = tuple((measure, mean) for measure, mean in means if mean is not None)
        return Mean(rows, found, f"{sentence} {_OF_MEANS}", is_confirmed=False)
    whole = sum(weights)
    value = _mean(columns[0], weights)
    if value is None or score is None or not is_shown_as(value, score, digits):
        return Mean(rows, (), sentence, is_confirmed=False)
    shares = [weight / whole for weight in weights]
    added = tuple(
        replace(row, share=share, adds=share * (row.values[0] or 0.0)) for row, share in zip(rows, shares, strict=True)
    )
    return Mean(added, (), f"{sentence} {_ADDS_UP}", is_confirmed=True)


def _replaced(measure: ClassMeasure, rows: Sequence[ClassCounts]) -> list[float | None]:
    return [measure.of_nothing if value is None else value for value in measure.values(rows)]


def _weight(row: ClassCounts, weighting: str) -> Count:
    return {"support": row.support, "predicted": row.predicted}.get(weighting, 1)


def _mean(values: Sequence[float | None], weights: Sequence[Count]) -> float | None:
    """The mean of the values that there are; None without any."""
    pairs = [(value, weight) for value, weight in zip(values, weights, strict=True) if value is not None]
    whole = sum(weight for _, weight in pairs)
    return math.fsum(value * weight for value, weight in pairs) / whole if whole else None
