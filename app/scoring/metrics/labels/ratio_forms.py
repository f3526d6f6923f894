"""Measures of one 2×2 table as the ratio of two exact integer functions of its counts."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

import numpy as np

from app.scoring.declaration.metric import Direction
from app.scoring.numeric.correct_rounding import Real, root_sum, weighted_sum
from app.scoring.numeric.exact import Floats, Integers, divide, linear_combination, multiply, quotient_root

TableColumns = tuple[Integers, Integers, Integers, Integers]
"""tp, fp, fn, tn of several tables: four columns of equal length."""
ConfusionTable = tuple[int, int, int, int]
CountForm = Callable[[TableColumns], Integers]
"""An exact integer function of the counts, table by table."""


def linear(tp: int, fp: int, fn: int, tn: int) -> CountForm:
    """The sum of coefficient × count."""
    return lambda columns: linear_combination((tp, fp, fn, tn), columns)


def product(*factors: CountForm) -> CountForm:
    """The product of forms."""
    return lambda columns: reduce(multiply, (factor(columns) for factor in factors))


def plus(left: CountForm, right: CountForm) -> CountForm:
    """The sum of two forms."""
    return lambda columns: linear_combination((1, 1), (left(columns), right(columns)))


def minus(left: CountForm, right: CountForm) -> CountForm:
    """The difference of two forms."""
    return lambda columns: linear_combination((1, -1), (left(columns), right(columns)))


TP, FP, FN, TN = linear(1, 0, 0, 0), linear(0, 1, 0, 0), linear(0, 0, 1, 0), linear(0, 0, 0, 1)
IN_GOLD, NOT_IN_GOLD = linear(1, 0, 1, 0), linear(0, 1, 0, 1)
PREDICTED, NOT_PREDICTED = linear(1, 1, 0, 0), linear(0, 0, 1, 1)
ALL_COUNTS = linear(1, 1, 1, 1)


@dataclass(frozen=True, slots=True)
class RatioMeasure:
    """A measure on one 2×2 table: `numerator` / `denominator`, or with `root` the square root of that.

    The denominator is 0 exactly where the measure, or a part of it, is undefined. For `set_like` measures (precision,
    recall, F, Jaccard) the options both_empty and one_empty decide the value of instances with empty sets.
    `is_accuracy_when_pooled`: the measure equals accuracy when pooled over single-label data. `lowest` is the lowest
    value of a measure for which higher is better. Without `replaceable`, a value that would need a division by 0 stays
    undefined under every option.
    """

    name: str
    numerator: CountForm
    denominator: CountForm
    direction: Direction
    set_like: bool = False
    is_accuracy_when_pooled: bool = False
    root: bool = False
    lowest: float = 0.0
    replaceable: bool = True

    def parts(self, columns: TableColumns) -> tuple[Integers, Integers]:
        """Numerator and denominator, table by table."""
        return self.numerator(columns), self.denominator(columns)

    def values(self, numerator: Integers, denominator: Integers) -> Floats:
        """The measure of each pair, rounded once; the denominators are not 0."""
        if not self.root:
            return divide(numerator, denominator)
        pairs = zip(numerator.tolist(), denominator.tolist(), strict=True)
        return np.array([quotient_root(dividend, divisor) for dividend, divisor in pairs], dtype=np.float64)

    def summed(self, numerator: Integers, denominator: Integers, weights: Integers | None = None) -> Real:
        """The exact sum of weight × measure over the pairs; denominators are positive, weights nonnegative."""
        if self.root:
            squares = None if weights is None else multiply(weights, weights)
            return root_sum(numerator if squares is None else multiply(squares, numerator), denominator)
        return weighted_sum(numerator, denominator, weights)


def single_table(table: ConfusionTable) -> TableColumns:
    """One table as columns of length 1 with Python integers, which cannot overflow."""
    tp, fp, fn, tn = (np.array([count], dtype=object) for count in table)
    return tp, fp, fn, tn


def f_beta_of(precision: Real, recall: Real, beta: Fraction) -> Real:
    """F_beta of two averages that are not both 0."""
    square = beta * beta
    return precision * recall * (1 + square) / (precision * square + recall)
