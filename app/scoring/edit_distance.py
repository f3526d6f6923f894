"""Levenshtein distances between pairs of label sets, each read as a vector of zeros and ones in declared order."""

import numpy as np
from numpy.typing import NDArray

from app.scoring.numeric.sorted_search import search_sorted

Int = NDArray[np.int64]
Mask = NDArray[np.bool_]
_MAX_PACKED_BITS = 1 << 19  # bits of one packed integer: it stays in a processor's cache
_MAX_TABLE_CELLS = 1 << 17  # entries of one table of furthest points
_UNREACHED = -(1 << 40)
_SPARSE_RATIO = 9
_MAX_SECONDS = 20.0  # seconds, as estimated from the counts alone, so that every machine decides alike
_FREE_SECONDS = 0.5  # seconds, as estimated, that any gold allows
_GOLD_COST_FACTOR = 2.0  # times what predicted sets would take that are as large as the gold sets, with other labels


class EditDistanceCostLimitError(Exception):
    """The sets differ in so many labels, of so many, that comparing them would take too long."""


def edit_distances(gold: Int, predicted: Int, n: int, m: int) -> Int:
    """The fewest insertions, deletions and substitutions that make one vector of length m of the other, for n pairs.

    `gold` and `predicted` hold row × m + position of each 1, in order, each once. Raises TooFarError for far more work
    than sets of the size of the gold sets make, and for more than some twenty seconds. Source: Levenshtein 1966; the two
    algorithms are those of Ukkonen 1985 and Myers 1999 (in the form of Hyyrö 2003).
    """
    differing = _count_missing(gold, predicted, n, m) + _count_missing(predicted, gold, n, m)
    distance = differing.copy()  # substitutions alone; the number of ones changes by at most 1 at a time
    sizes = [np.bincount(side // m, minlength=n) for side in (gold, predicted)]
    near, hard = _choose_algorithm(sizes[0], sizes[1], m)
    near &= differing > 2
    of_gold = _estimate_seconds(2 * sizes[0], *_choose_algorithm(sizes[0], sizes[0], m), m)
    if _estimate_seconds(differing, near, hard, m) > min(_MAX_SECONDS, _FREE_SECONDS + _GOLD_COST_FACTOR * of_gold):
        raise EditDistanceCostLimitError
    starts = np.searchsorted(gold, np.arange(n + 1) * m), np.searchsorted(predicted, np.arange(n + 1) * m)
    for part in _batch_rows(np.flatnonzero(near), differing):
        distance[part] = _furthest_point_distances(
            _renumber_keys(gold, starts[0], part, m), _renumber_keys(predicted, starts[1], part, m), differing[part], m
        )
    rows, width = np.flatnonzero(hard), _rows_per_integer(m)
    for first in range(0, len(rows), width):
        part = rows[first : first + width]
        distance[part] = _bit_parallel_distances(
            _renumber_keys(gold, starts[0], part, m), _renumber_keys(predicted, starts[1], part, m), len(part), m
        )
    return distance


def _choose_algorithm(gold: Int, predicted: Int, m: int) -> tuple[Mask, Mask]:
    """Which pairs go to which algorithm, by the sizes of their sets: those with few labels, and the others.

    Where nothing is predicted, neither is needed. What decides is the prediction and what gold sets have on average: the
    time that a file takes must not tell whether single labels of it are right, which may be private.
    """
    # the one takes ~ differing² steps, the other ~ m² bits
    few = (np.maximum(gold, predicted + gold.mean()) * _SPARSE_RATIO <= m) if len(gold) else np.zeros(0, dtype=bool)
    return few & (predicted > 0), ~few & (predicted > 0)


def _estimate_seconds(differing: Int, near: Mask, hard: Mask, m: int) -> float:
    """The seconds that pairs take which differ in so many labels of m."""
    rows = int(hard.sum())
    packed = 3e-10 * rows * m * m + 3e-5 * m * -(-rows // _rows_per_integer(m))
    return 1e-7 * float((differing[near] ** 2).sum()) + packed


def _rows_per_integer(m: int) -> int:
    """How many pairs are packed into one integer."""
    return max(1, _MAX_PACKED_BITS // (m + 1))


def _count_missing(these: Int, those: Int, n: int, m: int) -> Int:
    """For each row how many of these positions are not among those."""
    return np.bincount(these[~search_sorted(these, those)[1]] // m, minlength=n).astype(np.int64)


def _batch_rows(rows: Int, differing: Int) -> list[Int]:
    """Rows in parts whose tables fit: a table is as wide as its widest row needs, which is less than twice the others.

    So no row makes the tables of others dearer; and one that differs in 1 or 2 labels, which needs none, would cost
    next to nothing if a label more were wrong.
    """
    rows = rows[np.argsort(differing[rows], kind="stable")]
    lengths = np.frexp(differing[rows])[1]  # in binary digits
    parts: list[Int] = []
    for length in np.unique(lengths):
        alike, room = rows[lengths == length], max(1, _MAX_TABLE_CELLS // (2 + (1 << int(length))))
        parts.extend(alike[first : first + room] for first in range(0, len(alike), room))
    return parts


def _renumber_keys(keys: Int, starts: Int, rows: Int, m: int) -> Int:
    """The keys of some rows, numbered anew from 0, rows m + 1 apart, each with an end mark at m."""
    sizes = starts[rows + 1] - starts[rows]
    order = np.repeat(starts[rows] - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
    new = np.repeat(np.arange(len(rows)), sizes)
    inside = keys[order] - np.repeat(rows, sizes) * m + new * (m + 1)
    return np.sort(np.concatenate([inside, np.arange(len(rows)) * (m + 1) + m]))


def _furthest_point_distances(gold: Int, predicted: Int, most: Int, m: int) -> Int:
    """By furthest points: how far in the gold vector e edits lead on each diagonal, e = 0, 1, … (Ukkonen).

    The end lies on diagonal 0, so a path of at most D edits stays within D / 2 diagonals of it.
    """
    rows, wide = len(most), int(most.max()) // 2
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
    """Move each point along its diagonal over what is equal, from 1 to 1, in place."""
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
    """By differences of neighbouring cells, one bit each: all rows side by side in one integer (Myers, Hyyrö).

    Every row has a lane of m + 1 bits, of which the last takes up the carry.
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
        taken = _pack_bits(starts, rows * lane)
        match = full ^ pattern ^ ((taken << m) - taken)
        diagonal = ((((match & rising) + rising) ^ rising) | match | falling) & full
        up = falling | (full ^ (diagonal | rising))
        down = diagonal & rising
        up = ((up << 1) | low) & full
        rising = ((down << 1) & full) | (full ^ (diagonal | up))
        falling = up & diagonal
    return m + _ones_per_lane(rising, rows, lane) - _ones_per_lane(falling, rows, lane)


def _pack_bits(positions: Int, size: int) -> int:
    """The integer with a 1 at each of these positions."""
    marks = np.zeros(size // 8 + 1, dtype=np.uint8)
    np.bitwise_or.at(marks, positions >> 3, (1 << (positions & 7)).astype(np.uint8))
    return int.from_bytes(marks.tobytes(), "little")


def _ones_per_lane(value: int, rows: int, lane: int) -> Int:
    marks = np.frombuffer(value.to_bytes(rows * lane // 8 + 1, "little"), dtype=np.uint8)
    bits = np.unpackbits(marks, bitorder="little")[: rows * lane]
    return np.asarray(bits.reshape(rows, lane).sum(axis=1, dtype=np.int64))
