"""Constraints that figures of a whole task put on the class counts: mostly bounds on a sum over the classes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor, inf

from app.analysis.convert.claims import FigureClaim
from app.analysis.convert.measures import (
    KAPPA_WHEN_UNDEFINED,
    RATIO_MEASURES,
    Coefficients,
    ConfusionTable,
    LinearRatio,
    Tables,
    ZeroDivisionRule,
    ratio_inequalities,
    ratio_of,
    scaled_difference,
)
from app.analysis.convert.printed_figures import PrintedFigure

_Bound = Fraction | None


@dataclass(frozen=True, slots=True)
class SumConstraint:
    """A constraint on all classes: the sum of weight × share lies from `low` to `high` (None: unbounded)."""

    shares: tuple[LinearRatio, ...]
    weights: tuple[int, ...]
    low: Fraction | None
    high: Fraction | None

    @property
    def bounds(self) -> tuple[Fraction | float, Fraction | float]:
        """The range in which the constraint is met."""
        return -inf if self.low is None else self.low, inf if self.high is None else self.high

    def share(self, row: int, table: ConfusionTable) -> Fraction:
        """The term of one class in the sum; 0 where the share has no value."""
        return self.weights[row] * (self.shares[row].value(table) or Fraction(0))

    def line(self, row: int, size: int, n: int) -> "tuple[Fraction, ...] | None":
        """The term of a class of this size as coefficients of its counts; None where it is not linear."""
        coefficients = self.shares[row].linear(size, n - size)
        return None if coefficients is None else tuple(self.weights[row] * coefficient for coefficient in coefficients)

    def value(self, tables: Tables) -> Fraction:
        """The sum over the tables of all classes."""
        return sum((self.share(row, class_table) for row, class_table in enumerate(tables)), start=Fraction(0))

    def after(self, total: Fraction) -> "LastClassConstraint":
        """The constraint left for the last class where the others sum to `total`."""
        low, high = self.bounds
        return LastClassConstraint(self.shares[-1], self.weights[-1], (low - total, high - total))

    def holds(self, tables: Tables) -> bool:
        """Whether the tables of all classes meet the constraint."""
        low, high = self.bounds
        return low <= self.value(tables) <= high


@dataclass(frozen=True, slots=True)
class LastClassConstraint:
    """A constraint on the last class alone: weight × share lies within the bounds."""

    ratio: LinearRatio
    weight: int
    bounds: tuple[Fraction | float, Fraction | float]

    def value(self, tables: Tables) -> Fraction:
        """The term of the last table."""
        return self.weight * (self.ratio.value(tables[-1]) or Fraction(0))


@dataclass(frozen=True, slots=True)
class NonlinearConstraint:
    """A constraint that is not a sum: a measure of all classes lies between two values (for a square root: signed squares)."""

    key: str
    bounds: tuple[Fraction, Fraction]
    undefined: ZeroDivisionRule = "worst"

    def value(self, tables: Tables) -> Fraction:
        """The exact value; for a square root, the signed square."""
        exact = nonlinear_value(self.key, tables, self.undefined)
        return _NO_VALUE if exact is None else exact

    def holds(self, tables: Tables) -> bool:
        """Whether the tables of all classes meet the constraint."""
        low, high = self.bounds
        return low <= self.value(tables) <= high


Constraint = SumConstraint | LastClassConstraint | NonlinearConstraint
_NO_VALUE = Fraction(-2)
"""The value of an undefined measure, below every figure."""


def signed_squared_mcc(tables: Tables) -> Fraction:
    """The signed square of the Matthews correlation of exclusive classes; 0 where a side is constant (Gorodkin 2004)."""
    n = sum(tables[0])
    predicted = [tp + fp for tp, fp, _, _ in tables]
    sizes = [tp + fn for tp, _, fn, _ in tables]
    covariance = n * sum(table[0] for table in tables) - sum(q * s for q, s in zip(predicted, sizes, strict=True))
    denominator = (n * n - sum(q * q for q in predicted)) * (n * n - sum(s * s for s in sizes))
    return Fraction(covariance * abs(covariance), denominator) if denominator else Fraction(0)


NONLINEAR_MEASURES = ("f1_of_averages_macro", "f1_of_averages_weighted", "mcc")
SINGLE_LABEL_MEASURES = ("accuracy", "error_rate", "correct", "balanced_accuracy", "cohen_kappa", "mcc")
"""Measures of a whole task that need one label per instance."""
_AVERAGED_MEASURES = tuple(f"{key}_{kind}" for key in RATIO_MEASURES for kind in ("macro", "micro", "weighted"))
WHOLE_TASK_MEASURES = (*dict.fromkeys((*SINGLE_LABEL_MEASURES, *NONLINEAR_MEASURES)), *_AVERAGED_MEASURES)
"""All measures of a whole task."""

_TP: LinearRatio = LinearRatio((1, 0, 0, 0), None)
_FN: LinearRatio = LinearRatio((0, 0, 1, 0), None)


def constraints_of(
    claim: FigureClaim, sizes: Sequence[int], n: int, *, exclusive: bool = True, undefined: ZeroDivisionRule = "worst"
) -> "list[SumConstraint | NonlinearConstraint]":
    """The constraints on the tables of classes of these sizes that follow from a figure of the whole task."""
    key, figure, m = claim.key, claim.figure, len(sizes)
    if key in NONLINEAR_MEASURES:
        bounds = _squared_bounds(figure, n) if key == "mcc" else figure.closed(2 * (3 * n) ** (2 * m) * (n * m) ** 2)
        return [NonlinearConstraint(key, bounds, undefined)]
    count_measures = {"accuracy": (_TP, n), "error_rate": (_FN, n), "correct": (_TP, 1)}
    if key in count_measures:
        share, scale = count_measures[key]
        low, high = figure.closed(n)
        return [_count_sum(share, m, low * scale, high * scale)]
    if key == "balanced_accuracy":
        return _mean_constraints(RATIO_MEASURES["recall"], tuple(int(size > 0) for size in sizes), figure, n)
    if key == "cohen_kappa":
        return _kappa_constraints(figure, sizes, n, undefined)
    base, _, kind = key.rpartition("_")
    ratio = RATIO_MEASURES[base].with_zero_division(undefined)
    if kind == "micro":
        pooled = ratio_inequalities(figure, ratio, n * m)
        return (
            [_right_answers_constraint(*inequality, m, n) for inequality in pooled]
            if exclusive
            else [_pooled_constraint(*inequality, m) for inequality in pooled]
        )
    return _mean_constraints(ratio, (1,) * m if kind == "macro" else tuple(sizes), figure, n)


def _squared_bounds(figure: PrintedFigure, n: int) -> tuple[Fraction, Fraction]:
    """The bounds on the signed square for a figure of a root whose square has a denominator of at most n**4."""
    return squared_figure(figure).closed(n**4)


def squared_figure(figure: PrintedFigure) -> PrintedFigure:
    """The figure of the signed square for a figure of a square root."""
    return replace(figure, low=figure.low * abs(figure.low), high=figure.high * abs(figure.high))


def _mean_constraints(
    share: LinearRatio, weights: tuple[int, ...], figure: PrintedFigure, n: int
) -> "list[SumConstraint | NonlinearConstraint]":
    """The constraints for a weighted mean of a ratio, from which shares without a value are left out.

    The mean is at least a exactly where the sum of weight × (share - a) is at least 0. Measures here lie from 0 to 1.
    """
    total, m = sum(weights), len(weights)
    assert share.denominator is not None
    if not total:  # the mean itself is 0/0: the empty sum is 0, so a lower bound of 1 can never be met
        return [_weighted_sum(share, weights, Fraction(0 if figure.holds(share.empty) else 1), None)]
    low, high = figure.closed((max(share.denominator) * n) ** m * total)
    if share.empty is not None:
        return [_weighted_sum(share, weights, low * total, high * total)]
    return [
        _weighted_sum(_ratio_minus(share, max(low, Fraction(0))), weights, Fraction(0), None),
        _weighted_sum(_ratio_minus(share, min(high, Fraction(1))), weights, None, Fraction(0)),
        # some class has a value
        _weighted_sum(LinearRatio(share.denominator, share.denominator, None), weights, Fraction(1), None),
    ]


def _ratio_minus(ratio: LinearRatio, value: Fraction) -> LinearRatio:
    """The ratio less a value; without a value where it has none."""
    assert ratio.denominator is not None
    numerator = scaled_difference(value.denominator, ratio.numerator, value.numerator, ratio.denominator)
    return LinearRatio(numerator, scaled_difference(value.denominator, ratio.denominator), None)


def _weighted_sum(share: LinearRatio, weights: tuple[int, ...], low: _Bound, high: _Bound) -> SumConstraint:
    return SumConstraint((share,) * len(weights), weights, low, high)


def _count_sum(share: LinearRatio, m: int, low: _Bound, high: _Bound) -> SumConstraint:
    """The sum of one count over all classes, an integer, lies between two values."""
    lowest = None if low is None else Fraction(ceil(low))
    return SumConstraint((share,) * m, (1,) * m, lowest, None if high is None else Fraction(floor(high)))


def _pooled_constraint(coefficients: Coefficients, bound: int, m: int) -> SumConstraint:
    """An inequality in the counts of all classes together."""
    return _count_sum(LinearRatio(coefficients, None), m, None, Fraction(bound))


def _right_answers_constraint(coefficients: Coefficients, bound: int, m: int, n: int) -> SumConstraint:
    """The same for exclusive classes, whose summed counts with t right answers are t, n - t, n - t, (m - 2)n + t."""
    a, b, c, d = coefficients
    slope, remaining = a - b - c + d, Fraction(bound - (b + c + (m - 2) * d) * n)
    if slope:
        return _count_sum(_TP, m, remaining / slope if slope < 0 else None, remaining / slope if slope > 0 else None)
    return _count_sum(_TP, m, None, None if remaining >= 0 else Fraction(-1))


def _kappa_constraints(
    figure: PrintedFigure, sizes: Sequence[int], n: int, undefined: ZeroDivisionRule
) -> "list[SumConstraint | NonlinearConstraint]":
    """Kappa is (n Σ tp - Σ s q) / (n² - Σ s q), with q = tp + fp and s the size: at least a/b is linear in the counts.

    It is 0/0 where one class has all instances and all predictions: both inequalities hold there for every figure, so a
    third constraint excludes that case unless its convention gives the printed value.
    """
    constraints: list[SumConstraint | NonlinearConstraint] = []
    for limit, above in zip(figure.closed(n * n), (False, True), strict=True):
        a, b = limit.numerator, limit.denominator
        shares = tuple(LinearRatio((b * n - (b - a) * size, -(b - a) * size, 0, 0), None) for size in sizes)
        bound = Fraction(a * n * n)
        constraints.append(SumConstraint(shares, (1,) * len(sizes), None if above else bound, bound if above else None))
    if n in sizes and not figure.holds(KAPPA_WHEN_UNDEFINED[undefined]):
        constraints.append(_weighted_sum(_TP, tuple(int(size == n) for size in sizes), None, Fraction(n - 1)))
    return constraints


def measure_value(claim: FigureClaim, tables: Tables, undefined: ZeroDivisionRule = "worst") -> Fraction | None:
    """The exact value of a claimed measure, None where undefined; for the Matthews correlation the signed square."""
    key, n = claim.key, sum(tables[0])
    if claim.row is not None:
        tp, fp, fn, tn = tables[claim.row]
        class_ratio = ratio_of(key, tp + fn, fp + tn, undefined)
        assert class_ratio is not None
        return class_ratio.value(tables[claim.row])
    if key in NONLINEAR_MEASURES:
        return nonlinear_value(key, tables, undefined)
    right = sum(table[0] for table in tables)
    sizes = [tp + fn for tp, _, fn, _ in tables]
    if key == "cohen_kappa":
        chance = sum(size * (tp + fp) for size, (tp, fp, _, _) in zip(sizes, tables, strict=True))
        return Fraction(n * right - chance, n * n - chance) if chance != n * n else KAPPA_WHEN_UNDEFINED[undefined]
    if key in {"accuracy", "error_rate", "correct"}:
        return value_from_right_answers(key, right, len(sizes), n)
    base, _, kind = ("recall", "", "occurring") if key == "balanced_accuracy" else key.rpartition("_")
    ratio = RATIO_MEASURES[base].with_zero_division(undefined)
    if kind == "micro":
        tp, fp, fn, tn = (sum(column) for column in zip(*tables, strict=True))
        return ratio.value((tp, fp, fn, tn))
    weights = {"macro": [1] * len(sizes), "occurring": [int(size > 0) for size in sizes]}.get(kind, sizes)
    return weighted_mean(ratio, weights, tables)


def compare_with_figure(claim: FigureClaim, value: Fraction) -> int:
    """Where a measured value lies relative to the figure: -1 below, 0 where it may be printed so, 1 above."""
    return (squared_figure(claim.figure) if claim.key == "mcc" else claim.figure).side(value)


def weighted_mean(ratio: LinearRatio, weights: Sequence[int], tables: Tables) -> Fraction | None:
    """The weighted mean of a ratio over the classes in which it has a value; `empty` where their weights sum to 0."""
    values = [(weight, ratio.value(table)) for weight, table in zip(weights, tables, strict=True)]
    defined = [(weight, value) for weight, value in values if value is not None]
    divisor = sum(weight for weight, _ in defined)
    return sum((weight * value for weight, value in defined), Fraction(0)) / divisor if divisor else ratio.empty


def nonlinear_value(key: str, tables: Tables, undefined: ZeroDivisionRule) -> Fraction | None:
    """The exact value of a measure that is not a sum; for a square root its signed square.

    The harmonic mean of two averages that are 0 is 0, and so is the correlation with a constant.
    """
    if key == "mcc":
        return signed_squared_mcc(tables)
    weights = [tp + fn if key.endswith("_weighted") else 1 for tp, _, fn, _ in tables]
    precision, recall = (
        weighted_mean(RATIO_MEASURES[name].with_zero_division(undefined), weights, tables)
        for name in ("precision", "recall")
    )
    if precision is None or recall is None:
        return None
    return 2 * precision * recall / (precision + recall) if precision + recall else Fraction(0)


def value_from_right_answers(key: str, right: int, m: int, n: int) -> Fraction | None:
    """A measure of m exclusive classes that follows from the number of right answers out of n; None for others."""
    values = {"accuracy": Fraction(right, n), "error_rate": Fraction(n - right, n), "correct": Fraction(right)}
    base, _, kind = key.rpartition("_")
    if kind == "micro":
        return RATIO_MEASURES[base].value((right, n - right, n - right, (m - 2) * n + right))
    return values.get(key)


def one_prediction_constraint(sizes: Sequence[int], n: int) -> SumConstraint:
    """One prediction per instance: the predictions of all classes sum to n."""
    m = len(sizes)
    return SumConstraint((LinearRatio((1, 1, 0, 0), None),) * m, (1,) * m, Fraction(n), Fraction(n))


def table(tp: int, fp: int, size: int, n: int) -> ConfusionTable:
    """The four counts of a class of this size."""
    return tp, fp, size - tp, n - size - fp
