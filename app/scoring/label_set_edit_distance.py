"""Levenshtein distances between label sets, each read as a vector of zeros and ones in the order of the classes."""

import numpy as np
from numpy.typing import NDArray

from app.scoring.numeric.constant_time_search import search_sorted

Int = NDArray[np.int64]
Mask = NDArray[np.bool_]
_MAX_PACKED_BITS = 1 << 19  # bits of one packed integer: it fits the processor's cache
_MAX_TABLE_CELLS = 1 << 17  # entries of one table of furthest points
_UNREACHED = -(1 << 40)
_SPARSE_RATIO = 9  # sets with fewer than 1/9 of the labels are compared by furthest points
_MAX_SECONDS = 20.0  # estimated from counts alone, so that every machine refuses the same files
_FREE_SECONDS = 0.5  # estimated seconds that a file may always take
_GOLD_COST_FACTOR = 2.0  # times the cost of predicted sets as large as the gold sets, with different labels


class EditDistanceCostLimitError(Exception):
    """The sets are so large and differ in so many labels that comparing them would take too long."""


def edit_distances(gold: Int, predicted: Int, n: int, m: int) -> Int:
    """The fewest insertions, deletions and substitutions that turn one vector of length m into the other, for n pairs.

    `gold` and `predicted` have row × m + position of each 1, ascending and distinct. Raises EditDistanceCostLimitError
    for far more work than sets of the size of the gold sets cause, and for more than an estimated twenty seconds.
    Source: Levenshtein 1966; the two algorithms are those of Ukkonen 1985 and Myers 1999 (in the form of Hyyrö 2003).
    """
    differing = _count_missing(gold, predicted, n, m) + _count_missing(predicted, gold, n, m)
    # Substitutions alone reach this distance; with at most 2 differing positions, no shorter sequence exists.
    distance = differing.copy()
    sizes = [np.bincount(side // m, minlength=n) for side in (gold, predicted)]
    few_labels, many_labels = _choose_algorithm(sizes[0], sizes[1], m)
    few_labels &= differing > 2
    of_gold = _estimate_seconds(2 * sizes[0], *_choose_algorithm(sizes[0], sizes[0], m), m)
    if _estimate_seconds(differing, few_labels, many_labels, m) > min(
        _MAX_SECONDS, _FREE_SECONDS + _GOLD_COST_FACTOR * of_gold
    ):
        raise EditDistanceCostLimitError
    starts = np.searchsorted(gold, np.arange(n + 1) * m), np.searchsorted(predicted, np.arange(n + 1) * m)
    for part in _batch_rows(np.flatnonzero(few_labels), differing):
        distance[part] = _furthest_point_distances(
            _renumber_keys(gold, starts[0], part, m), _renumber_keys(predicted, starts[1], part, m), differing[part], m
        )
    rows, width = np.flatnonzero(many_labels), _rows_per_integer(m)
    for first in range(0, len(rows), width):
        part = rows[first : first + width]
        distance[part] = _bit_parallel_distances(
            _renumber_keys(gold, starts[0], part, m), _renumber_keys(predicted, starts[1], part, m), len(part), m
        )
    return distance


def _choose_algorithm(gold: Int, predicted: Int, m: int) -> tuple[Mask, Mask]:
    """Which pairs go to which algorithm, by the sizes of their sets: furthest points for few labels, else bit vectors.

    The first takes about differing² steps, the second about m² bit operations. An empty prediction needs neither. The
    sizes of the predicted set and the average size of the gold sets contribute, so that the time of a file does not
    reveal whether single labels, which may be private, are right.
    """
    few = (np.maximum(gold, predicted + gold.mean()) * _SPARSE_RATIO <= m) if len(gold) else np.zeros(0, dtype=bool)
    return few & (predicted > 0), ~few & (predicted > 0)


def _estimate_seconds(differing: Int, few_labels: Mask, many_labels: Mask, m: int) -> float:
    """The estimated seconds for pairs that differ in this many labels of m."""
    rows = int(many_labels.sum())
    packed = 3e-10 * rows * m * m + 3e-5 * m * -(-rows // _rows_per_integer(m))
    return 1e-7 * float((differing[few_labels] ** 2).sum()) + packed


def _rows_per_integer(m: int) -> int:
    """The number of pairs packed into one integer."""
    return max(1, _MAX_PACKED_BITS // (m + 1))


def _count_missing(keys: Int, others: Int, n: int, m: int) -> Int:
    """For each row, how many of the keys are not among the others."""
    return np.bincount(keys[~search_sorted(keys, others)[1]] // m, minlength=n).astype(np.int64)


def _batch_rows(rows: Int, differing: Int) -> list[Int]:
    """Rows in batches whose tables fit the limit.

    A table is as wide as its widest row needs, which is less than twice what the others need. So no row makes the
    tables of other rows much more expensive. A row that differs in 1 or 2 labels needs no table, and would cost next to
    nothing if one more label were wrong.
    """
    rows = rows[np.argsort(differing[rows], kind="stable")]
    lengths = np.frexp(differing[rows])[1]  # in binary digits
    batches: list[Int] = []
    for length in np.unique(lengths):
        similar, size = rows[lengths == length], max(1, _MAX_TABLE_CELLS // (2 + (1 << int(length))))
        batches.extend(similar[first : first + size] for first in range(0, len(similar), size))
    return batches


def _renumber_keys(keys: Int, starts: Int, rows: Int, m: int) -> Int:
    """The keys of some rows with rows renumbered from 0 and m + 1 apart, each with an end mark at position m."""
    sizes = starts[rows + 1] - starts[rows]
    order = np.repeat(starts[rows] - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
    new_rows = np.repeat(np.arange(len(rows)), sizes)
    inside = keys[order] - np.repeat(rows, sizes) * m + new_rows * (m + 1)
    return np.sort(np.concatenate([inside, np.arange(len(rows)) * (m + 1) + m]))


def _furthest_point_distances(gold: Int, predicted: Int, differing: Int, m: int) -> Int:
    """Ukkonen's algorithm: how far in the gold vector e edits lead on each diagonal, for growing e from 0.

    The end is on diagonal 0, so a path of at most D edits stays within D / 2 diagonals of it.
    """
    rows, wide = len(differing), int(differing.max()) // 2
    diagonal = np.arange(-wide, wide + 1)
    base = np.arange(rows)[:, None] * (m + 1)
    limit = np.minimum(m, m - diagonal)
    reached = np.full((rows, 2 * wide + 3), _UNREACHED)
    reached[:, wide + 1] = 0
    distance, edits = np.zeros(rows, dtype=np.int64), 0
    alive = np.arange(rows)
    while True:
        inner = reached[:, 1:-1]
        _advance_diagonals(inner, gold, predicted, base=base, diagonal=diagonal, m=m)
        ended = inner[:, wide] == m
        distance[alive[ended]] = edits
        alive, base, reached = alive[~ended], base[~ended], reached[~ended]
        if not len(alive):
            return distance
        step = np.maximum(reached[:, 1:-1] + 1, np.maximum(reached[:, :-2], reached[:, 2:] + 1))
        reached[:, 1:-1] = np.minimum(step, limit)
        edits += 1


def _advance_diagonals(at: Int, gold: Int, predicted: Int, *, base: Int, diagonal: Int, m: int) -> None:
    """Move each point along its diagonal past equal entries, jumping from one 1 to the next, in place."""
    row, column = np.nonzero(at >= 0)
    while len(row):
        here, shift, first = at[row, column], diagonal[column], base[row, 0]
        ahead = gold[np.searchsorted(gold, first + here)] - first - here
        across = predicted[np.searchsorted(predicted, first + here + shift)] - first - here - shift
        both = ahead == across
        here = here + np.minimum(ahead, across)
        going = both & (here < m) & (here + shift < m)
        at[row, column] = here + going
        row, column = row[going], column[going]


def _bit_parallel_distances(gold: Int, predicted: Int, rows: int, m: int) -> Int:
    """The bit-vector algorithm of Myers and Hyyrö: one bit per difference of neighbouring cells, all rows together.

    All rows are packed into one integer. Every row has a lane of m + 1 bits. The last bit of a lane absorbs the carry of the addition, so that lanes do not
    affect each other.
    """
    lane = m + 1
    low = _pack_bits(np.arange(rows) * lane, rows * lane)
    full = (low << m) - low
    pattern = _pack_bits(gold[gold % lane < m], rows * lane)
    ones = predicted[predicted % lane < m]
    ones = ones[np.argsort(ones % lane, kind="stable")]
    edges = np.searchsorted(ones % lane, np.arange(m + 1))
    rising, falling = full, 0
    for position in range(m):
        starts = ones[edges[position] : edges[position + 1]] - position
        with_one = _pack_bits(starts, rows * lane)
        match = full ^ pattern ^ ((with_one << m) - with_one)
        diagonal = ((((match & rising) + rising) ^ rising) | match | falling) & full
        up = falling | (full ^ (diagonal | rising))
        down = diagonal & rising
        up = ((up << 1) | low) & full
        rising = ((down << 1) & full) | (full ^ (diagonal | up))
        falling = up & diagonal
    return m + _ones_per_lane(rising, rows, lane) - _ones_per_lane(falling, rows, lane)


def _pack_bits(positions: Int, size: int) -> int:
    """The integer with a 1 at each of these bit positions."""
    marks = np.zeros(size // 8 + 1, dtype=np.uint8)
    np.bitwise_or.at(marks, positions >> 3, (1 << (positions & 7)).astype(np.uint8))
    return int.from_bytes(marks.tobytes(), "little")


def _ones_per_lane(value: int, rows: int, lane: int) -> Int:
    marks = np.frombuffer(value.to_bytes(rows * lane // 8 + 1, "little"), dtype=np.uint8)
    bits = np.unpackbits(marks, bitorder="little")[: rows * lane]
    return np.asarray(bits.reshape(rows, lane).sum(axis=1, dtype=np.int64))
