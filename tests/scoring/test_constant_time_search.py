"""Search in sorted keys, and memory use of scoring that does not depend on which labels are right."""

import tracemalloc

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from app.scoring.numeric.constant_time_search import search_sorted
from tests.each_case import for_each
from tests.scoring.case_builder import case, value

ROWS, CLASSES = 20, 2000
NAMES = [f"c{code}" for code in range(CLASSES)]
KEYS = st.lists(st.integers(-5, 20))


@given(KEYS, KEYS)
def test_keys_are_found_where_they_are(keys: list[int], others: list[int]) -> None:
    mine, theirs = np.array(keys, dtype=np.int64), np.unique(np.array(others, dtype=np.int64))
    at, there = search_sorted(mine, theirs)
    assert there.tolist() == [key in others for key in keys]
    assert (theirs[at[there]] == mine[there]).all()


def peak(metric: str, last: int) -> int:
    """The most bytes held while a file with every class for every row is scored; `last`: the label of the last row."""
    gold = [[NAMES[7 * row]] for row in range(ROWS - 1)] + [[NAMES[last]]]
    of = case("multilabel", NAMES, gold, [NAMES] * ROWS)
    tracemalloc.start()
    assert value(of, metric) is not None
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


@for_each("metric", ["f1_micro", "f1_samples", "hamming_loss", "precision_at_k:k=5"])
def test_the_memory_that_a_file_takes_does_not_tell_a_label(metric: str) -> None:
    """Otherwise the size at which files can no longer be scored would reveal a gold label."""
    peak(metric, 0)  # what is made once
    low, high = (peak(metric, last) for last in (0, CLASSES - 1))
    assert abs(low - high) < 2 * CLASSES  # less than a byte for each class that the label has before it, and back
