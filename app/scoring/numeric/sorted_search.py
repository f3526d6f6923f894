"""Where keys are among others in order, at a cost that does not depend on which of them are."""

import numpy as np
from numpy.typing import NDArray

Int = NDArray[np.int64]


def search_sorted(keys: Int, others: Int) -> tuple[Int, NDArray[np.bool_]]:
    """For each key a place among the others, which are in order, and whether it is there.

    Time and memory follow from the numbers of both alone: the others may be private labels, and whether a file can be
    scored at all must not tell what they are.
    """
    at = np.searchsorted(others, keys)
    if not len(others):
        return at, np.zeros(len(keys), dtype=bool)
    np.minimum(at, len(others) - 1, out=at)
    return at, others[at] == keys
