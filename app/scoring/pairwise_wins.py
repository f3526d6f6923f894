"""Classes held against each other, two by two, on the scores of one of them (Hand & Till 2001)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from app.scoring.numeric.exact import Floats, Integers
from app.scoring.score_ranks import (
    TIE_CREDIT_IN_HALVES,
    first_occurrences,
    sort_with_cumulative_weights,
    total_weight,
    weight_before,
)

_SAFE_WEIGHT_SUM = 2**31  # products of two such weights, summed and doubled, stay within int64
MAX_CLASSES = 5000  # classes that occur: their table of pairs stands in memory


class TooManyClassesError(Exception):
    """More classes occur than can be held against each other."""


@dataclass(frozen=True, slots=True)
class PairwiseWins:
    """For each two classes i ≠ j: how many pairs of an instance of i and one of j the first wins, and how many are tied.

    `sizes` (m) has how many instances each class has (or what they weigh), `present` (k) the codes of those that have
    any, in order; `higher` and `tied` are k × k: of many declared classes few may occur.
    """

    sizes: Integers
    present: Integers
    higher: Integers
    tied: Integers

    def doubled(self, ties: str, codes: Sequence[int]) -> Integers:
        """Twice the pairs won, of the classes with these codes, all present; a tie counts what TIES says of it."""
        at = np.searchsorted(self.present, codes)
        every = np.array_equal(at, np.arange(len(self.present)))
        places = slice(None) if every else np.ix_(at, at)  # such tables are large, and their copies too
        found = np.asarray(TIE_CREDIT_IN_HALVES[ties] * self.tied[places])
        found += self.higher[places]
        found += self.higher[places]
        return found


def pairwise_wins(
    column: Callable[[int], Floats], codes: Integers, m: int, weights: Integers | None = None
) -> PairwiseWins:
    """The wins of each class i over each other one by the scores `column(i)` (n, higher is surer).

    `codes` (n) are the classes of the instances, 0 … m-1; `weights` (n) are whole numbers. Raises TooManyError.
    """
    order = np.argsort(codes, kind="stable")
    edges = np.searchsorted(codes[order], np.arange(m + 1))
    order, edges = order[edges[0] : edges[m]], edges - edges[0]  # those of declared classes
    present = np.flatnonzero(np.diff(edges))
    if len(present) > MAX_CLASSES:
        raise TooManyClassesError(f"the pairs of {len(present)} classes are too many; at most {MAX_CLASSES} may occur")
    heavy = None if weights is None else weights[order]
    if heavy is not None and int(heavy.sum()) >= _SAFE_WEIGHT_SUM:
        heavy = heavy.astype(object)
    filled = np.append(edges[present], edges[m])
    kind = np.int64 if heavy is None else heavy.dtype
    sizes = np.zeros(m, dtype=kind)
    if len(present):
        sizes[present] = np.diff(filled) if heavy is None else np.add.reduceat(heavy, filled[:-1])
    higher, tied = np.zeros((2, len(present), len(present)), dtype=kind)
    for row, own in enumerate(present.tolist()):
        values = np.ascontiguousarray(column(own))[order]
        higher[row], tied[row] = _wins_against_each(values, filled, row, heavy)
    return PairwiseWins(sizes, present, higher, tied)


def _wins_against_each(values: Floats, edges: Integers, own: int, heavy: Integers | None) -> tuple[Integers, Integers]:
    """What one class wins over and ties with each: the values stand in the order of the classes, cut at the edges.

    No class between two edges is empty.
    """
    part = slice(edges[own], edges[own + 1])
    mine, mass = sort_with_cumulative_weights(values[part], None if heavy is None else heavy[part])
    if heavy is None:
        _sort_within_classes(values, edges)
    starts = first_occurrences(mine)
    scores = mine[starts]
    passed = weight_before(np.append(starts, len(mine)), mass)
    at = np.searchsorted(scores, values)
    reached = total_weight(mine, mass) - passed  # own instances at each of their scores or higher; none beyond the last
    level = np.append(scores, np.nan)[at] == values
    above, equal = reached[at], np.zeros(len(values), dtype=passed.dtype)
    equal[level] = np.append(np.diff(passed), 0)[at[level]]
    above -= equal
    if heavy is not None:
        above, equal = above * heavy, equal * heavy
    return np.add.reduceat(above, edges[:-1]), np.add.reduceat(equal, edges[:-1])


def _sort_within_classes(values: Floats, edges: Integers) -> None:
    """Sort each class's values in place: searching for neighbours one after the other is quicker."""
    cuts = edges.tolist()
    for low, high in pairwise(cuts):
        values[low:high].sort()
