"""Ranks of the relevant labels of each instance; ties are counted, never broken.

A ranking comes from scores, or from a list of labels with the most confident first. Each relevant label gets the number
of labels above it and the number tied with it. Every ranking measure, under every tie rule, follows from these.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from app.scoring.evaluation_input import Labels
from app.scoring.numeric.constant_time_search import search_sorted

Int = NDArray[np.int64]
Scores = NDArray[np.float64]
UNLISTED = 2**31
"""The number of labels above one that a list leaves out: more than any list has."""
_BLOCK_SCORES = 2**18  # scores sorted at a time: they fit the processor's cache


@dataclass(frozen=True, slots=True)
class RelevantLabels:
    """The gold labels of n instances as (instance, class) pairs, ascending, each once.

    `rows` and `codes` are one number per pair, `sizes` the number of pairs of each instance.
    """

    rows: Int
    codes: Int
    sizes: Int

    @classmethod
    def from_gold(cls, gold: Labels, m: int) -> "RelevantLabels":
        """The pairs for a vocabulary of m classes; labels outside it have no rank and are left out."""
        sets = gold.as_sets()
        known = (sets.codes >= 0) & (sets.codes < m)
        keys = sets.rows[known] * m + sets.codes[known]
        if len(keys) > 1 and int(np.diff(keys).min()) <= 0:
            keys = np.sort(keys)
            keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])]
        rows = keys // m
        return cls(rows, keys - rows * m, np.bincount(rows, minlength=sets.n).astype(np.int64))


@dataclass(frozen=True)
class LabelRanks:
    """The relevant labels by instance, best first; relevant labels tied with each other in the order of the classes.

    Each column has one number per relevant label: its instance (`rows`) and class (`codes`); how many labels of the
    instance are `above` it and how many are `tied` with it, including itself; the same counts of relevant labels only
    (`relevant_above`, `relevant_tied`); and how many of the relevant tied labels precede it (`order_in_tie`). `sizes`
    has one number per instance: how many relevant labels it has.
    """

    rows: Int
    codes: Int
    sizes: Int
    above: Int
    tied: Int
    relevant_above: Int
    relevant_tied: Int
    order_in_tie: Int
    _earlier: Callable[["LabelRanks"], Int]

    @cached_property
    def tied_declared_earlier(self) -> Int:
        """How many of the tied labels are declared earlier; computed on demand, as few tie rules need it."""
        return self._earlier(self)

    @cached_property
    def best_label_rows(self) -> Int:
        """For each instance with relevant labels, ascending: the position of the best of them in the columns."""
        ends = np.cumsum(self.sizes)
        return np.asarray((ends - self.sizes)[self.sizes > 0])

    def sums(self, values: Int) -> Int:
        """The sum over the relevant labels of each instance; 0 for an instance without any."""
        return self.expand_to_instances(np.add.reduceat(values, self.best_label_rows) if len(values) else 0, 0)

    def expand_to_instances(self, values: Int | int, otherwise: int) -> Int:
        """One value per instance, from the values of the instances that have relevant labels."""
        expanded = np.full(len(self.sizes), otherwise, dtype=np.int64)
        expanded[self.sizes > 0] = values
        return expanded


def rank_by_scores(scores: Scores, relevant: RelevantLabels) -> LabelRanks:
    """The ranks of the relevant labels among n × m scores in the order of the classes; higher is more confident.

    The scores must not contain NaN. Each block of rows is sorted once; the relevant labels are then looked up in it.
    """
    n, m = scores.shape
    above = np.empty(len(relevant.rows), dtype=np.int64)
    tied = np.empty(len(relevant.rows), dtype=np.int64)
    ends = np.concatenate([[0], np.cumsum(relevant.sizes)])
    step = max(1, _BLOCK_SCORES // max(1, m))
    for start in range(0, n, step):
        stop = min(n, start + step)
        own = slice(int(ends[start]), int(ends[stop]))
        if own.start == own.stop:
            continue
        rows = relevant.rows[own] - start
        values = scores[start:stop][rows, relevant.codes[own]]
        ordered = np.sort(scores[start:stop], axis=1)
        reached = _count_smaller(ordered, rows, np.less_equal, values)
        above[own], tied[own] = m - reached, reached - _count_smaller(ordered, rows, np.less, values)
    return _group_by_rank(relevant, above, tied, lambda ranks: _count_declared_earlier(scores, ranks))


def _count_smaller(ordered: Scores, rows: Int, compare: np.ufunc, values: Scores) -> Int:
    """For each of `rows` and `values`, how many scores of that sorted row are less (or equal).

    This is a binary search for all values at once. `np.searchsorted` takes only one sorted array.
    """
    m = ordered.shape[1]
    count = np.zeros(len(rows), dtype=np.int64)
    step = 1 << (m.bit_length() - 1)
    while step:
        further = count + step
        inside = further <= m
        scores = ordered[rows, np.minimum(further, m) - 1]
        count = np.where(inside & compare(scores, values), further, count)
        step >>= 1
    return count


def _count_declared_earlier(scores: Scores, ranks: LabelRanks) -> Int:
    """How many of the labels tied with each relevant one are declared earlier.

    If all of them are relevant, `order_in_tie` has the answer. Only the other rows are compared score by score.
    """
    earlier = ranks.order_in_tie.copy()
    with_other_labels = np.flatnonzero(ranks.tied > ranks.relevant_tied)
    classes = np.arange(scores.shape[1])
    step = max(1, _BLOCK_SCORES // max(1, scores.shape[1]))
    for start in range(0, len(with_other_labels), step):
        part = with_other_labels[start : start + step]
        rows, codes = ranks.rows[part], ranks.codes[part]
        same = scores[rows] == scores[rows, codes][:, None]
        earlier[part] = np.count_nonzero(same & (classes < codes[:, None]), axis=1)
    return earlier


def rank_by_order(lists: Labels, relevant: RelevantLabels, m: int, options: Mapping[str, str]) -> LabelRanks:
    """The ranks of the relevant labels in lists with the most confident label first; UNLISTED for labels not listed.

    A label outside the vocabulary occupies a position unless `unknown_label` drops it. Only the first occurrence of a
    repeated label counts; the others occupy a position only under `duplicates=multiset`.
    """
    assert lists.offsets is not None
    rows = lists.rows
    occupied = occupied_positions(lists, rows, m, options)
    before = np.concatenate([[0], np.cumsum(occupied)])
    position = before[:-1] - before[lists.offsets[rows]] if len(rows) else rows
    known = occupied & (lists.codes >= 0) & (lists.codes < m)
    list_keys = (rows * m + lists.codes)[known]
    relevant_keys = relevant.rows * m + relevant.codes
    at, matches = search_sorted(list_keys, relevant_keys)
    above = np.full(len(relevant_keys), UNLISTED, dtype=np.int64)
    above[at[matches][::-1]] = position[known][matches][::-1]  # in reverse, so that the first of a repeated label wins
    return _group_by_rank(
        relevant, above, np.ones(len(relevant_keys), dtype=np.int64), lambda ranks: ranks.order_in_tie
    )


def occupied_positions(lists: Labels, rows: Int, m: int, options: Mapping[str, str]) -> NDArray[np.bool_]:
    """Which entries of the lists occupy a position; `rows` has the list of each entry."""
    known = (lists.codes >= 0) & (lists.codes < m)
    occupied = known | ((lists.codes >= m) & (options["unknown_label"] != "drop"))
    if options["duplicates"] == "multiset":
        return np.asarray(occupied)
    occupied &= lists.codes <= m  # code m + 1: a repeated label outside the vocabulary
    keys = (rows * m + lists.codes)[known]
    order = np.argsort(keys, kind="stable")
    repeated = np.zeros(len(keys), dtype=bool)
    repeated[order[1:]] = keys[order[1:]] == keys[order[:-1]]
    occupied[np.flatnonzero(known)[repeated]] = False
    return np.asarray(occupied)


def _group_by_rank(relevant: RelevantLabels, above: Int, tied: Int, earlier: Callable[[LabelRanks], Int]) -> LabelRanks:
    """Sort the relevant labels of each instance by rank, and number those tied with each other."""
    width = int(above[above < UNLISTED].max(initial=0)) + 2
    keys = relevant.rows * width + np.minimum(above, width - 1)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    groups = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])) if len(keys) else keys
    lengths = np.diff(np.append(groups, len(keys)))
    first, relevant_tied = np.repeat(groups, lengths), np.repeat(lengths, lengths)
    starts = (np.cumsum(relevant.sizes) - relevant.sizes)[relevant.rows]
    return LabelRanks(
        rows=relevant.rows,
        codes=relevant.codes[order],
        sizes=relevant.sizes,
        above=above[order],
        tied=np.maximum(tied[order], relevant_tied),
        relevant_above=first - starts,
        relevant_tied=relevant_tied,
        order_in_tie=np.arange(len(keys)) - first,
        _earlier=earlier,
    )
