"""Measures of one 2×2 table: an exact integer function of its counts, divided by another in one step."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

import numpy as np

from app.scoring.declaration.metric import Direction
from app.scoring.numeric.correct_rounding import Real, root_sum, weighted_sum
from app.scoring.numeric.exact import Floats, Integers, combine, quotient_root, quotients, times

Columns = tuple[Integers, Integers, Integers, Integers]
"""tp, fp, fn, tn of tables side by side, each of the same length."""
Table = tuple[int, int, int, int]
Form = Callable[[Columns], Integers]
"""An exact integer function of the counts, table by table."""


def linear(tp: int, fp: int, fn: int, tn: int) -> Form:
    """The sum of coefficient × count."""
    return lambda columns: combine((tp, fp, fn, tn), columns)


def product(*factors: Form) -> Form:
    """The product of forms."""
    return lambda columns: reduce(times, (factor(columns) for factor in factors))


def plus(left: Form, right: Form) -> Form:
    """The sum of two forms."""
    return lambda columns: combine((1, 1), (left(columns), right(columns)))


def minus(left: Form, right: Form) -> Form:
    """The difference of two forms."""
    return lambda columns: combine((1, -1), (left(columns), right(columns)))


TP, FP, FN, TN = linear(1, 0, 0, 0), linear(0, 1, 0, 0), linear(0, 0, 1, 0), linear(0, 0, 0, 1)
IN_GOLD, NOT_IN_GOLD = linear(1, 0, 1, 0), linear(0, 1, 0, 1)
PREDICTED, NOT_PREDICTED = linear(1, 1, 0, 0), linear(0, 0, 1, 1)
ALL = linear(1, 1, 1, 1)


@dataclass(frozen=True, slots=True)
class Ratio:
    """A measure on one 2×2 table: `numerator` / `denominator`, or with `root` the square root of that.

    The denominator is 0 exactly where the measure, or a part of it, is undefined. `set_like` measures (precision,
    recall, F, Jaccard) leave their per-instance empties to the options both_empty and one_empty; `agree` ones are
    equal to accuracy when pooled over single-label data. `lowest` is the least value of a measure of which more is
    better. Not `replaceable`: nothing may stand for a value that would need a division by 0.
    """

    name: str
    numerator: Form
    denominator: Form
    direction: Direction
    set_like: bool = False
    agree: bool = False
    root: bool = False
    lowest: float = 0.0
    replaceable: bool = True

    def parts(self, columns: Columns) -> tuple[Integers, Integers]:
        """Numerator and denominator, table by table."""
        return self.numerator(columns), self.denominator(columns)

    def values(self, numerator: Integers, denominator: Integers) -> Floats:
        """The measure of each pair, rounded once; the denominators are not 0."""
        if not self.root:
            return quotients(numerator, denominator)
        pairs = zip(numerator.tolist(), denominator.tolist(), strict=True)
        return np.array([quotient_root(above, below) for above, below in pairs], dtype=np.float64)

    def summed(self, numerator: Integers, denominator: Integers, weights: Integers | None = None) -> Real:
        """The sum of weight × measure over the pairs; the denominators are above 0, the weights at least 0."""
        if self.root:
            squares = None if weights is None else times(weights, weights)
            return root_sum(numerator if squares is None else times(squares, numerator), denominator)
        return weighted_sum(numerator, denominator, weights)


def single(table: Table) -> Columns:
    """One table as columns of length 1, in Python's integers."""
    tp, fp, fn, tn = (np.array([count], dtype=object) for count in table)
    return tp, fp, fn, tn
