"""The rule for small samples: a pair of rows counts as different only if an exact test agrees, adjusted over all pairs."""

import sys
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from app.scoring.numeric.special_functions import incomplete_beta

MIN_INSTANCES = 2_000
"""The rule applies below so many instances."""
MIN_GROUPS = 1_000
"""If groups are drawn whole, the rule applies below so many of them: with 100, the bootstrap alone errs in 9 % of boards."""
ALPHA = 0.05
_LARGE = 5_000  # discordant instances; below, the sum of whole numbers is faster

Pair = tuple[int, int]


class PairTest(NamedTuple):
    """The two-sided p-value of one pair, and the smallest that its units and rounds can give.

    `rounds` is the number of random rounds, None for an exact p-value.
    """

    p_value: float
    smallest: float
    rounds: int | None = None


class Levels(NamedTuple):
    """The smallest and the largest level that Holm's method may compare a p-value with."""

    strictest: float
    loosest: float


Confirm = Callable[[Sequence[Pair], int], Sequence[PairTest]]
"""Tests pairs of row numbers, in their order, of a family of so many pairs; the others count as p = 1.

A random test needs enough rounds to reach the levels of `holm_levels`, as far as its budget allows.
"""


def why_exact(instances: int, groups: int | None, *, rare_classes: bool) -> str | None:
    """Why the bootstrap alone does not decide, in one sentence; None if it does."""
    rule = "a pair counts as different only if its exact p-value, adjusted over all pairs by Holm's method, agrees."
    if groups is not None and groups < MIN_GROUPS:
        return f"There {_are(groups, 'group')}, fewer than {MIN_GROUPS:,}: {rule}"
    if instances < MIN_INSTANCES:
        return f"There {_are(instances, 'instance')}, fewer than {MIN_INSTANCES:,}: {rule}"
    if rare_classes:
        return f"More than a tenth of the classes have fewer than 5 gold instances: {rule}"
    return None


def _are(count: int, noun: str) -> str:
    return f"is 1 {noun}" if count == 1 else f"are {count:,} {noun}s"


def holm_levels(family: int, tested: int) -> Levels:
    """The levels for `tested` p-values among `family`, of which the others count as 1."""
    return Levels(ALPHA / family, ALPHA / max(1, family - tested + 1))


def holm(tests: Mapping[Pair, PairTest], family: int) -> tuple[set[Pair], float]:
    """The pairs that Holm 1979 rejects at 5 % among `family`, and the level that the next one would have to reach."""
    confirmed: set[Pair] = set()
    for pair in sorted(tests, key=lambda pair: (tests[pair].p_value, pair)):
        if tests[pair].p_value > ALPHA / max(1, family - len(confirmed)):
            break
        confirmed.add(pair)
    return confirmed, ALPHA / max(1, family - len(confirmed))


def out_of_reach(tests: Mapping[Pair, PairTest], confirmed: set[Pair], level: float) -> set[Pair]:
    """The pairs that were not confirmed and whose p-value could not have reached the level: too few to tell."""
    return {pair for pair, test in tests.items() if pair not in confirmed and test.smallest > level}


@lru_cache(maxsize=2**16)
def exact_mcnemar(first_only: int, second_only: int) -> float:
    """The exact two-sided p-value of McNemar's test, from the instances that only the first or only the second has right.

    Source: McNemar 1947; the exact form is the binomial test of the discordant instances with probability one half.
    """
    discordant, fewer = first_only + second_only, min(first_only, second_only)
    if 2 * fewer + 1 >= discordant:
        return 1.0
    if discordant > _LARGE:
        tail = incomplete_beta(Decimal(discordant - fewer), Decimal(fewer + 1), Decimal("0.5"))
        return max(float(2 * tail), sys.float_info.min)
    term = total = 1
    for k in range(fewer):
        term = term * (discordant - k) // (k + 1)
        total += term
    return max(2 * total / (1 << discordant), sys.float_info.min)
