"""Measures of one class as ratios of its counts, for which "lies between two values" is a pair of linear inequalities.

For balanced accuracy, informedness and kappa this holds once the size of the class is known. What is printed where both
sums of a ratio are 0 depends on the tool and is set by a convention.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from app.analysis.convert.printed_figures import PrintedFigure

ZeroDivisionRule = Literal["worst", "0", "1", "skip", "rate=0", "rate=1"]
"""The value of 0/0: the worst value of the measure, 0, 1, or none (left out of means, and not printed alone).

`rate=0` and `rate=1` equal `0` and `1`, except that in informedness they replace the rate of an empty class, not the
whole value.
"""
ZERO_DIVISION_RULES: tuple[ZeroDivisionRule, ...] = ("worst", "0", "1", "skip")
RATE_RULES: dict[ZeroDivisionRule, ZeroDivisionRule] = {"rate=0": "0", "rate=1": "1"}
"""The conventions that differ from `0` and `1` only in informedness."""

ConfusionTable = tuple[int, int, int, int]
"""tp, fp, fn, tn of one class."""
Tables = Sequence[ConfusionTable]
"""One table per class."""
Coefficients = tuple[int, int, int, int]
Inequality = tuple[Coefficients, int]
"""Coefficients and bound: coefficients · counts ≤ bound."""
_ONE = Fraction(1)


@dataclass(frozen=True, slots=True)
class LinearRatio:
    """The quotient of two sums of coefficients × (tp, fp, fn, tn); `empty` is the value of 0/0.

    Without `denominator` it is the numerator itself; without `empty`, 0/0 has no value.
    """

    numerator: Coefficients
    denominator: Coefficients | None
    empty: Fraction | None = Fraction(0)

    def value(self, table: ConfusionTable) -> Fraction | None:
        """The exact value of a table."""
        numerator = dot(self.numerator, table)
        if self.denominator is None:
            return Fraction(numerator)
        denominator = dot(self.denominator, table)
        return Fraction(numerator, denominator) if denominator else self.empty

    def linear(self, positives: int, negatives: int) -> "tuple[Fraction, ...] | None":
        """Coefficients of the measure as a linear function, where the class size makes the denominator constant; else None."""
        if self.denominator is None:
            return tuple(map(Fraction, self.numerator))
        a, b, c, d = self.denominator
        if (a, b) != (c, d):
            return None
        denominator = a * positives + b * negatives
        if not denominator:  # a constant, spread over all counts; 0 where it has no value
            return (Fraction(self.empty or 0, positives + negatives),) * 4
        return tuple(Fraction(each, denominator) for each in self.numerator)

    def with_zero_division(self, undefined: ZeroDivisionRule) -> "LinearRatio":
        """The same ratio with the value of 0/0 under the convention; `empty` is the worst value of the measure here."""
        values: dict[ZeroDivisionRule, Fraction | None] = {"0": Fraction(0), "1": _ONE, "skip": None}
        return replace(self, empty=values.get(RATE_RULES.get(undefined, undefined), self.empty))


def dot(coefficients: Sequence[int], table: ConfusionTable) -> int:
    """The sum of coefficient × count."""
    return sum(c * count for c, count in zip(coefficients, table, strict=True))


_ALL: Coefficients = (1, 1, 1, 1)
RATIO_MEASURES: dict[str, LinearRatio] = {
    "recall": LinearRatio((1, 0, 0, 0), (1, 0, 1, 0)),
    "precision": LinearRatio((1, 0, 0, 0), (1, 1, 0, 0)),
    "f1": LinearRatio((2, 0, 0, 0), (2, 1, 1, 0)),
    "f0_5": LinearRatio((5, 0, 0, 0), (5, 4, 1, 0)),
    "f2": LinearRatio((5, 0, 0, 0), (5, 1, 4, 0)),
    "jaccard": LinearRatio((1, 0, 0, 0), (1, 1, 1, 0)),
    "specificity": LinearRatio((0, 0, 0, 1), (0, 1, 0, 1)),
    "npv": LinearRatio((0, 0, 0, 1), (0, 0, 1, 1)),
    "fpr": LinearRatio((0, 1, 0, 0), (0, 1, 0, 1), _ONE),
    "fnr": LinearRatio((0, 0, 1, 0), (1, 0, 1, 0), _ONE),
    "fdr": LinearRatio((0, 1, 0, 0), (1, 1, 0, 0), _ONE),
    "for": LinearRatio((0, 0, 1, 0), (0, 0, 1, 1), _ONE),
    "accuracy_ovr": LinearRatio((1, 0, 0, 1), _ALL),
    "error_rate_ovr": LinearRatio((0, 1, 1, 0), _ALL, _ONE),
    "prevalence": LinearRatio((1, 0, 1, 0), _ALL),
    "detection_rate": LinearRatio((1, 0, 0, 0), _ALL),
    "detection_prevalence": LinearRatio((1, 1, 0, 0), _ALL),
}
"""Measures of one class that do not depend on its size; the keys are those of the catalogue."""

COUNT_MEASURES: dict[str, Coefficients] = {
    "tp": (1, 0, 0, 0),
    "fp": (0, 1, 0, 0),
    "fn": (0, 0, 1, 0),
    "tn": (0, 0, 0, 1),
    "predicted": (1, 1, 0, 0),
}


def _balanced_accuracy(p: int, n: int, _undefined: ZeroDivisionRule) -> LinearRatio:
    """The mean of the recalls of the classes that occur, so it is always defined: (tp·n + tn·p) / 2pn."""
    if not p or not n:
        return RATIO_MEASURES["recall" if p else "specificity"]
    return LinearRatio((n, 0, 0, p), (2 * n, 0, 2 * n, 0))


def _informedness(p: int, n: int, undefined: ZeroDivisionRule) -> LinearRatio:
    """TPR + TNR - 1 = (tp·n - fp·p) / pn; where a class is empty, the value, or only the rate of that class, is 0/0."""
    if (p and n) or undefined not in RATE_RULES:
        ratio = LinearRatio((n, -p, 0, 0), (n, 0, n, 0) if n else (0, 1, 0, 1), Fraction(-1))
        return ratio.with_zero_division(undefined)
    rate = int(RATE_RULES[undefined])
    return LinearRatio((0, rate - 1, 0, rate), (0, 1, 0, 1)) if n else LinearRatio((rate, 0, rate - 1, 0), (1, 0, 1, 0))


def _kappa(p: int, n: int, undefined: ZeroDivisionRule) -> LinearRatio:
    """Chance-corrected agreement, both sides scaled by the number of instances (Cohen 1960)."""
    return LinearRatio((n, -p, -n, p), (n, n, p, p), KAPPA_WHEN_UNDEFINED[undefined])


KAPPA_WHEN_UNDEFINED: dict[ZeroDivisionRule, Fraction | None] = {
    "worst": None,
    "0": Fraction(0),
    "1": Fraction(1),
    "skip": None,
    "rate=0": Fraction(0),
    "rate=1": Fraction(1),
}
"""The printed kappa where gold and answers are all of the same class: 0/0, which has no worst value there."""
SIZE_DEPENDENT_MEASURES: dict[str, Callable[[int, int, ZeroDivisionRule], LinearRatio]] = {
    "balanced_accuracy": _balanced_accuracy,
    "informedness": _informedness,
    "cohen_kappa": _kappa,
}
"""Measures of one class that are ratios once the size of the class and of the rest are known."""


ONE_CLASS_MEASURES = (*RATIO_MEASURES, *SIZE_DEPENDENT_MEASURES, *COUNT_MEASURES)
"""All measures of one class against the rest."""


def ratio_of(key: str, positives: int, negatives: int, undefined: ZeroDivisionRule) -> LinearRatio | None:
    """The ratio for a measure of a class of this size; None where the measure is not a ratio."""
    if key in COUNT_MEASURES:
        return LinearRatio(COUNT_MEASURES[key], None)
    if key in SIZE_DEPENDENT_MEASURES:
        return SIZE_DEPENDENT_MEASURES[key](positives, negatives, undefined)
    return RATIO_MEASURES[key].with_zero_division(undefined) if key in RATIO_MEASURES else None


def ratio_inequalities(figure: PrintedFigure, ratio: LinearRatio, total: int) -> list[Inequality]:
    """The inequalities coefficients · counts ≤ bound that hold exactly where the ratio may be printed as the figure.

    `total` is the sum of the four counts. All denominators must be nonnegative sums.
    """
    if ratio.denominator is None:
        low, high = -(-figure.low // 1), figure.high // 1
        return [(ratio.numerator, high), (scaled_difference(-1, ratio.numerator), -low)]
    lower, upper = figure.closed(max(ratio.denominator) * total)
    inequalities = [
        (scaled_difference(upper.denominator, ratio.numerator, upper.numerator, ratio.denominator), 0),
        (scaled_difference(lower.numerator, ratio.denominator, lower.denominator, ratio.numerator), 0),
    ]
    if not figure.holds(ratio.empty):
        inequalities.append((scaled_difference(-1, ratio.denominator), -1))
    return inequalities


def scaled_difference(a: int, left: Coefficients, b: int = 0, right: Coefficients = (0, 0, 0, 0)) -> Coefficients:
    """The coefficients of a · left - b · right."""
    one, two, three, four = (a * x - b * y for x, y in zip(left, right, strict=True))
    return one, two, three, four
