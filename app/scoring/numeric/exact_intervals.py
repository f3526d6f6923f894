"""Exact confidence intervals and tests of counts: bounds and p-values, rounded to 12 significant digits."""

from collections.abc import Iterable
from decimal import Decimal, localcontext
from functools import lru_cache

from app.scoring.numeric.exact import round_to_12_digits
from app.scoring.numeric.special_functions import (
    DECIMAL_CONTEXT,
    beta_quantile,
    incomplete_beta,
    upper_incomplete_gamma,
)

TAIL_PROBABILITY = Decimal("0.025")
"""The probability that a 95 % interval leaves out on either side."""
_CACHE_SIZE = 256  # several metrics use the same interval


@lru_cache(maxsize=_CACHE_SIZE)
def clopper_pearson(successes: int, n: int) -> tuple[float, float]:
    """The exact 95 % interval of a proportion, for 0 ≤ successes ≤ n and n > 0 (Clopper & Pearson 1934)."""
    with localcontext(DECIMAL_CONTEXT):
        upper = 1 - _lower_bound(n - successes, n)  # the complement of the failures' lower bound
        return round_to_12_digits(float(_lower_bound(successes, n))), round_to_12_digits(float(upper))


def _lower_bound(successes: int, n: int) -> Decimal:
    return beta_quantile(TAIL_PROBABILITY, Decimal(successes), Decimal(n - successes + 1)) if successes else Decimal(0)


@lru_cache(maxsize=_CACHE_SIZE)
def binomial_tail(successes: int, n: int, expected: int) -> float:
    """The probability of at least this many successes in n trials with success probability expected / n."""
    if successes == 0:
        return 1.0
    with localcontext(DECIMAL_CONTEXT):
        rate = Decimal(expected) / Decimal(n)
        return round_to_12_digits(float(incomplete_beta(Decimal(successes), Decimal(n - successes + 1), rate)))


def bowker_test(pairs: Iterable[tuple[int, int]]) -> float:
    """The p-value of the hypothesis that a square table is symmetric, from both cells of each pair of classes.

    Source: Bowker 1948; for a single pair with unequal cells, McNemar 1947 with the continuity correction of Edwards
    1948. No pair may be (0, 0).
    """
    # Sorted, so that the decimal sum does not depend on the order of the classes.
    gaps = sorted((abs(left - right), left + right) for left, right in pairs)
    with localcontext(DECIMAL_CONTEXT):
        statistic = Decimal(0)
        for gap, both in gaps:
            corrected = gap - 1 if len(gaps) == 1 and gap else gap
            statistic += Decimal(corrected * corrected) / both
        return round_to_12_digits(float(upper_incomplete_gamma(Decimal(len(gaps)) / 2, statistic / 2)))
