"""Edit distances of label vectors: both ways to find them agree with the table of the textbook."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from app.scoring import label_set_edit_distance
from app.scoring.label_set_edit_distance import EditDistanceCostLimitError, Int, edit_distances

Bits = NDArray[np.bool_]


def textbook_distance(gold: Sequence[Any], predicted: Sequence[Any]) -> int:
    """Wagner and Fischer's table, row by row."""
    above = list(range(len(predicted) + 1))
    for i, y in enumerate(gold, 1):
        row = [i]
        for j, p in enumerate(predicted, 1):
            row.append(min(row[-1] + 1, above[j] + 1, above[j - 1] + (y != p)))
        above = row
    return above[-1]


def keys(vectors: Bits) -> Int:
    rows, columns = np.nonzero(vectors)
    return np.asarray(rows * vectors.shape[1] + columns, dtype=np.int64)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Bits, Bits]:
    n, m = draw(st.integers(1, 5)), draw(st.integers(1, 40))
    share = draw(st.sampled_from([0.05, 0.3, 0.6]))
    chance = np.random.default_rng(draw(st.integers(0, 2**32)))
    return chance.random((n, m)) < share, chance.random((n, m)) < share


@given(pair=pairs())
@settings(max_examples=150, deadline=None)
def test_both_algorithms_give_the_distance_of_the_textbook_distance(pair: tuple[Bits, Bits]) -> None:
    (n, m), (gold, predicted) = pair[0].shape, map(keys, pair)
    expected = [textbook_distance(y, p) for y, p in zip(pair[0].tolist(), pair[1].tolist(), strict=True)]
    assert edit_distances(gold, predicted, n, m).tolist() == expected
    rows, ends = np.arange(n), np.arange(n + 1) * m
    own = [
        label_set_edit_distance._renumber_keys(side, np.searchsorted(side, ends), rows, m) for side in (gold, predicted)
    ]
    assert label_set_edit_distance._bit_parallel_distances(own[0], own[1], n, m).tolist() == expected
    differing = (pair[0] ^ pair[1]).sum(axis=1)
    assert label_set_edit_distance._furthest_point_distances(own[0], own[1], differing, m).tolist() == expected


def test_a_vector_moved_by_one_place_is_two_edits_away() -> None:
    for m in (12, 5_000):
        gold = np.arange(0, m - 1, 2, dtype=np.int64)
        assert edit_distances(gold, gold + 1, 1, m).tolist() == [2]


def test_a_few_labels_of_very_many_are_compared_quickly() -> None:
    chance = np.random.default_rng(5)
    n, m = 300, 34_000
    sides = [np.unique(np.repeat(np.arange(n), 15) * m + chance.integers(0, m, n * 15)) for _ in range(2)]
    found = edit_distances(sides[0], sides[1], n, m)
    assert found.min() > 15
    assert edit_distances(sides[1], sides[0], n, m).tolist() == found.tolist()


@pytest.mark.parametrize(("m", "many"), [(3000, 1000), (3000, 200)])
def test_the_work_does_not_tell_whether_a_label_is_right(m: int, many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[str, int]] = []
    for name in ("_bit_parallel_distances", "_furthest_point_distances"):
        compute = getattr(label_set_edit_distance, name)

        def record(*given: Any, name: str = name, compute: Any = compute) -> Any:
            calls.append((name, len(given[1])))
            return compute(*given)

        monkeypatch.setattr(label_set_edit_distance, name, record)
    chosen = np.arange(0, 2 * many, 2, dtype=np.int64)  # of the second of two instances
    for label in (chosen[0], chosen[0] + 1):
        edit_distances(np.array([7, m + label]), m + chosen, 2, m)
    assert len(calls) == 2
    assert calls[0] == calls[1]


@pytest.mark.parametrize("guess", [0, 1])
def test_a_wide_row_makes_no_tables_of_narrow_ones_wide(guess: int, monkeypatch: pytest.MonkeyPatch) -> None:
    cells: list[int] = []
    compute = label_set_edit_distance._furthest_point_distances

    def record(gold: Int, predicted: Int, most: Int, m: int) -> Int:
        cells.append(len(most) * (2 * (int(most.max()) // 2) + 3))
        return compute(gold, predicted, most, m)

    monkeypatch.setattr(label_set_edit_distance, "_furthest_point_distances", record)
    narrow, m = 20_000, 5_000
    rows = [([1, 9], [2, 7])] * narrow  # 4 labels differ
    rows += [(list(range(0, 600, 2)), list(range(1, 600, 2))), ([0], [guess, 20])]  # 600, and 1 or 3
    gold, predicted = (
        np.array([row * m + place for row, one in enumerate(rows) for place in one[side]], dtype=np.int64)
        for side in (0, 1)
    )
    found = edit_distances(gold, predicted, len(rows), m)
    vectors = [[[place in one for place in range(600)] for one in rows[at]] for at in (0, -2, -1)]
    assert set(found[:narrow].tolist()) == {textbook_distance(*vectors[0])}
    assert found[narrow:].tolist() == [textbook_distance(*vectors[1]), textbook_distance(*vectors[2])]
    assert max(cells) <= label_set_edit_distance._MAX_TABLE_CELLS
    assert sum(cells) < 8 * len(rows) + 700


def test_what_would_take_too_long_is_refused_at_once() -> None:
    m, n = 200_000, 10
    even = np.concatenate([np.arange(0, m, 2, dtype=np.int64) + row * m for row in range(n)])
    odd = even + np.tile([0, 1], len(even) // 2)
    with pytest.raises(EditDistanceCostLimitError):
        edit_distances(even, odd, n, m)


def test_no_labels_at_all_are_no_distance() -> None:
    nothing = np.zeros(0, dtype=np.int64)
    assert edit_distances(nothing, nothing, 3, 4).tolist() == [0, 0, 0]
    assert edit_distances(nothing, np.array([1, 5], dtype=np.int64), 3, 4).tolist() == [1, 1, 0]
