"""Measures of one class as ratios of its counts: that one lies between two values is a pair of linear inequalities.

Of balanced accuracy, informedness and kappa this holds as soon as the size of the class is known. What is printed where
both sums of a ratio are 0 depends on the tool: a convention says it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from app.analysis.convert.printed_figures import Figure

Undefined = Literal["worst", "0", "1", "skip", "rate=0", "rate=1"]
"""What 0/0 counts as: the worst value of its measure, 0, 1, or nothing (left out of means, and not printed alone).

`rate=0`, `rate=1`: as `0` and `1`, but of informedness it is a rate of an empty class that counts so, not the whole.
"""
CONVENTIONS: tuple[Undefined, ...] = ("worst", "0", "1", "skip")
BY_RATES: dict[Undefined, Undefined] = {"rate=0": "0", "rate=1": "1"}
"""The conventions that differ from others in informedness alone."""

Table = tuple[int, int, int, int]
"""tp, fp, fn, tn of one class."""
Coefficients = tuple[int, int, int, int]
_ONE = Fraction(1)


@dataclass(frozen=True, slots=True)
class Ratio:
    """Two sums of coefficients × (tp, fp, fn, tn), one divided by the other; `empty` is what 0/0 counts as.

    Without `denominator` it is the count itself; without `empty`, 0/0 has no value.
    """

    numerator: Coefficients
    denominator: Coefficients | None
    empty: Fraction | None = Fraction(0)

    def value(self, table: Table) -> Fraction | None:
        """The exact value of a table."""
        above = dot(self.numerator, table)
        if self.denominator is None:
            return Fraction(above)
        below = dot(self.denominator, table)
        return Fraction(above, below) if below else self.empty

    def linear(self, positives: int, negatives: int) -> "tuple[Fraction, ...] | None":
        """Coefficients of the same measure without a denominator, which the size of the class may make a constant."""
        if self.denominator is None:
            return tuple(map(Fraction, self.numerator))
        a, b, c, d = self.denominator
        if (a, b) != (c, d):
            return None
        below = a * positives + b * negatives
        if not below:  # a constant, spread over all counts; nothing where it has no value
            return (Fraction(self.empty or 0, positives + negatives),) * 4
        return tuple(Fraction(each, below) for each in self.numerator)

    def under(self, undefined: Undefined) -> "Ratio":
        """The same ratio where 0/0 counts as the convention says; `empty` is its worst value here."""
        kept: dict[Undefined, Fraction | None] = {"0": Fraction(0), "1": _ONE, "skip": None}
        return replace(self, empty=kept.get(BY_RATES.get(undefined, undefined), self.empty))


def dot(coefficients: Sequence[int], table: Table) -> int:
    """The sum of coefficient × count."""
    return sum(c * count for c, count in zip(coefficients, table, strict=True))


_ALL: Coefficients = (1, 1, 1, 1)
RATIOS: dict[str, Ratio] = {
    "recall": Ratio((1, 0, 0, 0), (1, 0, 1, 0)),
    "precision": Ratio((1, 0, 0, 0), (1, 1, 0, 0)),
    "f1": Ratio((2, 0, 0, 0), (2, 1, 1, 0)),
    "f0_5": Ratio((5, 0, 0, 0), (5, 4, 1, 0)),
    "f2": Ratio((5, 0, 0, 0), (5, 1, 4, 0)),
    "jaccard": Ratio((1, 0, 0, 0), (1, 1, 1, 0)),
    "specificity": Ratio((0, 0, 0, 1), (0, 1, 0, 1)),
    "npv": Ratio((0, 0, 0, 1), (0, 0, 1, 1)),
    "fpr": Ratio((0, 1, 0, 0), (0, 1, 0, 1), _ONE),
    "fnr": Ratio((0, 0, 1, 0), (1, 0, 1, 0), _ONE),
    "fdr": Ratio((0, 1, 0, 0), (1, 1, 0, 0), _ONE),
    "for": Ratio((0, 0, 1, 0), (0, 0, 1, 1), _ONE),
    "accuracy_ovr": Ratio((1, 0, 0, 1), _ALL),
    "error_rate_ovr": Ratio((0, 1, 1, 0), _ALL, _ONE),
    "prevalence": Ratio((1, 0, 1, 0), _ALL),
    "detection_rate": Ratio((1, 0, 0, 0), _ALL),
    "detection_prevalence": Ratio((1, 1, 0, 0), _ALL),
}
"""Measures of one class whatever its size; the keys are those of the catalogue."""

COUNT_KEYS: dict[str, Coefficients] = {
    "tp": (1, 0, 0, 0),
    "fp": (0, 1, 0, 0),
    "fn": (0, 0, 1, 0),
    "tn": (0, 0, 0, 1),
    "predicted": (1, 1, 0, 0),
}


def _balanced(p: int, n: int, _undefined: Undefined) -> Ratio:
    """The mean of the recalls of the classes that occur, so that nothing is undefined: (tp·n + tn·p) / 2pn."""
    if not p or not n:
        return RATIOS["recall" if p else "specificity"]
    return Ratio((n, 0, 0, p), (2 * n, 0, 2 * n, 0))


def _informedness(p: int, n: int, undefined: Undefined) -> Ratio:
    """TPR + TNR - 1 = (tp·n - fp·p) / pn; where a class is empty, that is 0/0, or its rate alone is."""
    if (p and n) or undefined not in BY_RATES:
        return Ratio((n, -p, 0, 0), (n, 0, n, 0) if n else (0, 1, 0, 1), Fraction(-1)).under(undefined)
    rate = int(BY_RATES[undefined])
    return Ratio((0, rate - 1, 0, rate), (0, 1, 0, 1)) if n else Ratio((rate, 0, rate - 1, 0), (1, 0, 1, 0))


def _kappa(p: int, n: int, undefined: Undefined) -> Ratio:
    """Chance-corrected agreement, both sides scaled by the number of instances (Cohen 1960)."""
    return Ratio((n, -p, -n, p), (n, n, p, p), KAPPA_EMPTY[undefined])


KAPPA_EMPTY: dict[Undefined, Fraction | None] = {
    "worst": None,
    "0": Fraction(0),
    "1": Fraction(1),
    "skip": None,
    "rate=0": Fraction(0),
    "rate=1": Fraction(1),
}
"""What the kappa of answers that are all of one class, as is the gold, is printed as: 0/0 has no worst value there."""
SIZED: dict[str, Callable[[int, int, Undefined], Ratio]] = {
    "balanced_accuracy": _balanced,
    "informedness": _informedness,
    "cohen_kappa": _kappa,
}
"""Measures of one class that are ratios once it is known how many instances are in it and how many are not."""


ONE_CLASS = (*RATIOS, *SIZED, *COUNT_KEYS)
"""All measures of one class against the rest."""


def ratio_of(key: str, positives: int, negatives: int, undefined: Undefined) -> Ratio | None:
    """The ratio behind a measure of one class of this size; None where it is no ratio."""
    if key in COUNT_KEYS:
        return Ratio(COUNT_KEYS[key], None)
    if key in SIZED:
        return SIZED[key](positives, negatives, undefined)
    return RATIOS[key].under(undefined) if key in RATIOS else None


def ranges(figure: Figure, ratio: Ratio, total: int) -> list[tuple[Coefficients, int]]:
    """The inequalities coefficients · counts ≤ bound that hold exactly where the ratio may be printed as the figure.

    `total` is the sum of the four counts. All denominators are sums that are never negative.
    """
    if ratio.denominator is None:
        low, high = -(-figure.low // 1), figure.high // 1
        return [(ratio.numerator, high), (_times(-1, ratio.numerator), -low)]
    least, most = figure.closed(max(ratio.denominator) * total)
    found = [
        (_minus(most.denominator, ratio.numerator, most.numerator, ratio.denominator), 0),
        (_minus(least.numerator, ratio.denominator, least.denominator, ratio.numerator), 0),
    ]
    if not figure.holds(ratio.empty):
        found.append((_times(-1, ratio.denominator), -1))
    return found


def _minus(a: int, left: Coefficients, b: int, right: Coefficients) -> Coefficients:
    """The difference a · left - b · right."""
    one, two, three, four = (a * x - b * y for x, y in zip(left, right, strict=True))
    return one, two, three, four


def _times(a: int, coefficients: Coefficients) -> Coefficients:
    return _minus(a, coefficients, 0, coefficients)
