"""Looks up keys in a sorted array in a time that does not depend on which of them are found."""

import numpy as np
from numpy.typing import NDArray

Int = NDArray[np.int64]


def search_sorted(keys: Int, ordered: Int) -> tuple[Int, NDArray[np.bool_]]:
    """For each key a position in the sorted array, and whether the key is there.

    Time and memory depend only on the two lengths. The sorted keys may come from private labels, so neither the time
    nor a failure for lack of memory may reveal which of them match.
    """
    at = np.searchsorted(ordered, keys)
    if not len(ordered):
        return at, np.zeros(len(keys), dtype=bool)
    np.minimum(at, len(ordered) - 1, out=at)
    return at, ordered[at] == keys
