"""Classes held against each other, two by two, on the scores of one of them (Hand & Till 2001)."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from app.scoring.exact import Floats, Integers
from app.scoring.ranks import TIES, first_of_each, in_order, mass_of, weighed

_SAFE = 2**31  # products of two such weights, summed and doubled, stay within int64


@dataclass(frozen=True, slots=True)
class Wins:
    """For each two classes i ≠ j: how many pairs of an instance of i and one of j the first wins, and how many are tied.

    `higher` and `tied` are m × m, `sizes` has how many instances each class has (or what they weigh).
    """

    sizes: Integers
    higher: Integers
    tied: Integers

    def doubled(self, ties: str) -> Integers:
        """Twice the pairs won, m × m, where a tie counts what TIES says of it."""
        return np.asarray(2 * self.higher + TIES[ties] * self.tied)


def wins_of(column: Callable[[int], Floats], codes: Integers, m: int, weights: Integers | None = None) -> Wins:
    """The wins of each class i over each other one by the scores `column(i)` (n, higher is surer).

    `codes` (n) are the classes of the instances, 0 … m-1; `weights` (n) are whole numbers.
    """
    order = np.argsort(codes, kind="stable")
    edges = np.searchsorted(codes[order], np.arange(m + 1))
    order, edges = order[edges[0] : edges[m]], edges - edges[0]  # those of declared classes
    heavy = None if weights is None else weights[order]
    if heavy is not None and int(heavy.sum()) >= _SAFE:
        heavy = heavy.astype(object)
    sizes = np.diff(edges) if heavy is None else _sums(heavy, edges)
    kind = np.int64 if heavy is None else heavy.dtype
    higher, tied = np.zeros((m, m), dtype=kind), np.zeros((m, m), dtype=kind)
    for own in np.flatnonzero(np.diff(edges)).tolist():
        higher[own], tied[own] = _against(np.ascontiguousarray(column(own))[order], edges, own, heavy)
    return Wins(sizes, higher, tied)


def _against(values: Floats, edges: Integers, own: int, heavy: Integers | None) -> tuple[Integers, Integers]:
    """What one class wins over and ties with each: the values stand in the order of the classes, cut at the edges."""
    part = slice(edges[own], edges[own + 1])
    mine, mass = in_order(values[part], None if heavy is None else heavy[part])
    if heavy is None:
        _sort_parts(values, edges)
    starts = first_of_each(mine)
    scores = mine[starts]
    passed = weighed(np.append(starts, len(mine)), mass)
    at = np.searchsorted(scores, values)
    reached = mass_of(mine, mass) - passed  # own instances at each of their scores or higher; none beyond the last
    level = np.append(scores, np.nan)[at] == values
    above, equal = reached[at], np.zeros(len(values), dtype=passed.dtype)
    equal[level] = np.append(np.diff(passed), 0)[at[level]]
    above -= equal
    if heavy is not None:
        above, equal = above * heavy, equal * heavy
    return _sums(above, edges), _sums(equal, edges)


def _sort_parts(values: Floats, edges: Integers) -> None:
    """Sort each class's values in place: searching for neighbours one after the other is quicker."""
    cuts = edges.tolist()
    for low, high in pairwise(cuts):
        values[low:high].sort()


def _sums(parts: Integers, edges: Integers) -> Integers:
    """The sum of each part between two edges, 0 of an empty one."""
    found = np.zeros(len(edges) - 1, dtype=parts.dtype)
    filled = np.flatnonzero(np.diff(edges))
    found[filled] = np.add.reduceat(parts, edges[filled])
    return found
