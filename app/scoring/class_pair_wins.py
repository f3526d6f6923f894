"""Pairwise comparison of classes on the scores of one of them (Hand & Till 2001)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from app.scoring.numeric.exact import Floats, Integers
from app.scoring.score_ranks import TIE_CREDIT_IN_HALVES, first_occurrences, sort_with_cumulative_weights, weight_before

_SAFE_WEIGHT_SUM = 2**31  # sums of products of two such weights, doubled, stay within int64
MAX_CLASSES = 5000  # classes that occur: the table of their pairs is in memory


class TooManyClassesError(Exception):
    """More classes occur than can be compared in pairs."""


@dataclass(frozen=True, slots=True)
class PairwiseWins:
    """For classes i ≠ j: how many pairs of an instance of i and one of j have the higher score for i, or are tied.

    `sizes` (m) has the number of instances of each class (or their weight), `present` (k) the ascending codes of the
    classes that occur. `higher` and `tied` are k × k, because only a few of many declared classes may occur.
    """

    sizes: Integers
    present: Integers
    higher: Integers
    tied: Integers

    def doubled(self, ties: str, codes: Sequence[int]) -> Integers:
        """Twice the pairs won, for classes with these codes, which must occur; ties count by TIE_CREDIT_IN_HALVES."""
        at = np.searchsorted(self.present, codes)
        every = np.array_equal(at, np.arange(len(self.present)))
        cells = slice(None) if every else np.ix_(at, at)  # a slice does not copy these large tables
        doubled = np.asarray(TIE_CREDIT_IN_HALVES[ties] * self.tied[cells])
        doubled += self.higher[cells]
        doubled += self.higher[cells]
        return doubled


def pairwise_wins(
    column: Callable[[int], Floats], codes: Integers, m: int, weights: Integers | None = None
) -> PairwiseWins:
    """The wins of each class i over every other class by the scores `column(i)` (n, higher is more confident).

    `codes` (n) are the classes of the instances, 0 … m-1; `weights` (n) are whole numbers. Raises TooManyClassesError.
    """
    order = np.argsort(codes, kind="stable")
    edges = np.searchsorted(codes[order], np.arange(m + 1))
    order, edges = order[edges[0] : edges[m]], edges - edges[0]  # instances of declared classes only
    present = np.flatnonzero(np.diff(edges))
    if len(present) > MAX_CLASSES:
        raise TooManyClassesError(f"the pairs of {len(present)} classes are too many; at most {MAX_CLASSES} may occur")
    heavy = None if weights is None else weights[order]
    if heavy is not None and int(heavy.sum()) >= _SAFE_WEIGHT_SUM:
        heavy = heavy.astype(object)  # Python integers, as int64 could overflow
    bounds = np.append(edges[present], edges[m])
    kind = np.int64 if heavy is None else heavy.dtype
    sizes = np.zeros(m, dtype=kind)
    if len(present):
        sizes[present] = np.diff(bounds) if heavy is None else np.add.reduceat(heavy, bounds[:-1])
    higher, tied = np.zeros((2, len(present), len(present)), dtype=kind)
    for row, code in enumerate(present.tolist()):
        values = np.ascontiguousarray(column(code))[order]
        higher[row], tied[row] = _wins_against_each(values, bounds, row, heavy)
    return PairwiseWins(sizes, present, higher, tied)


def _wins_against_each(values: Floats, edges: Integers, own: int, heavy: Integers | None) -> tuple[Integers, Integers]:
    """The wins and ties of one class against each: the values are grouped by class, with group boundaries in `edges`.

    No group may be empty.
    """
    part = slice(edges[own], edges[own + 1])
    own_values, mass = sort_with_cumulative_weights(values[part], None if heavy is None else heavy[part])
    if heavy is None:
        _sort_within_classes(values, edges)
    starts = first_occurrences(own_values)
    scores = own_values[starts]
    lower_counts = weight_before(np.append(starts, len(own_values)), mass)
    at = np.searchsorted(scores, values)
    reached = (
        lower_counts[-1] - lower_counts
    )  # own instances with each of their scores or a higher one; none beyond the last
    ties = np.append(scores, np.nan)[at] == values
    above, equal = reached[at], np.zeros(len(values), dtype=lower_counts.dtype)
    equal[ties] = np.append(np.diff(lower_counts), 0)[at[ties]]
    above -= equal
    if heavy is not None:
        above, equal = above * heavy, equal * heavy
    return np.add.reduceat(above, edges[:-1]), np.add.reduceat(equal, edges[:-1])


def _sort_within_classes(values: Floats, edges: Integers) -> None:
    """Sort each class's values in place, because `np.searchsorted` is faster for ascending keys."""
    for low, high in pairwise(edges.tolist()):
        values[low:high].sort()
