"""Where the relevant labels of each instance stand in its ranking; ties are counted, never broken.

A ranking comes from scores, or from a list of labels with the surest first. Each relevant label gets the number of
labels above it and the number tied with it: every measure of a ranking, under every rule for ties, follows from these.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from app.scoring.evaluation_input import Labels
from app.scoring.numeric.sorted_search import search_sorted

Int = NDArray[np.int64]
Scores = NDArray[np.float64]
UNLISTED = 2**31
"""How many labels are above one that a list leaves out: more than any list holds."""
_BLOCK_SCORES = 2**18  # scores sorted at a time: they stay in the cache


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
        """The pairs of labels of a vocabulary of m classes; labels outside it have no rank and are left out."""
        sets = gold.as_sets()
        assert sets.offsets is not None
        rows = np.repeat(np.arange(sets.n, dtype=np.int64), np.diff(sets.offsets))
        known = (sets.codes >= 0) & (sets.codes < m)
        keys = rows[known] * m + sets.codes[known]
        if len(keys) > 1 and int(np.diff(keys).min()) <= 0:
            keys = np.sort(keys)
            keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])]
        rows = keys // m
        return cls(rows, keys - rows * m, np.bincount(rows, minlength=sets.n).astype(np.int64))


@dataclass(frozen=True)
class LabelRanks:
    """The relevant labels by instance, best first, those tied with each other in the order of the classes.

    One number per label: the instance (`rows`) and the class (`codes`); how many labels of the instance are `above` it,
    how many are `tied` with it, itself included; of the relevant ones, how many are above it (`hits`) and tied with it
    (`among`, itself included), and how many of the latter precede it (`place`). `sizes`, one number per instance: how
    many relevant labels it has.
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
        """How many of the tied labels are declared earlier."""
        return self._earlier(self)

    @cached_property
    def best_label_rows(self) -> Int:
        """For each instance that has relevant labels, ascending: where the best of them stands in the other columns."""
        ends = np.cumsum(self.sizes)
        return np.asarray((ends - self.sizes)[self.sizes > 0])

    def sums(self, values: Int) -> Int:
        """The sum over the relevant labels of each instance; 0 where it has none."""
        found = np.zeros(len(self.sizes), dtype=np.int64)
        if len(values):
            found[self.sizes > 0] = np.add.reduceat(values, self.best_label_rows)
        return found

    def expand_to_instances(self, values: Int, otherwise: int) -> Int:
        """Values of the instances that have relevant labels, for all instances."""
        found = np.full(len(self.sizes), otherwise, dtype=np.int64)
        found[self.sizes > 0] = values
        return found


def rank_by_scores(scores: Scores, relevant: RelevantLabels) -> LabelRanks:
    """The ranks of the relevant labels among n × m scores in the order of the classes, higher ones being surer.

    There is no NaN among the scores. Each block of rows is sorted once; the relevant labels are then looked up in it.
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
    """How many scores of that ordered row are less (or equal), for each of `rows` and `values`: a search by halving."""
    m = ordered.shape[1]
    count = np.zeros(len(rows), dtype=np.int64)
    step = 1 << (m.bit_length() - 1)
    while step:
        further = count + step
        inside = further <= m
        found = ordered[rows, np.minimum(further, m) - 1]
        count = np.where(inside & compare(found, values), further, count)
        step >>= 1
    return count


def _count_declared_earlier(scores: Scores, ranks: LabelRanks) -> Int:
    """Compared one by one, but only where a relevant label is tied with one that is not relevant."""
    found = ranks.order_in_tie.copy()
    mixed = np.flatnonzero(ranks.tied > ranks.relevant_tied)
    classes = np.arange(scores.shape[1])
    step = max(1, _BLOCK_SCORES // max(1, scores.shape[1]))
    for start in range(0, len(mixed), step):
        part = mixed[start : start + step]
        rows, codes = ranks.rows[part], ranks.codes[part]
        same = scores[rows] == scores[rows, codes][:, None]
        found[part] = np.count_nonzero(same & (classes < codes[:, None]), axis=1)
    return found


def rank_by_order(lists: Labels, relevant: RelevantLabels, m: int, options: Mapping[str, str]) -> LabelRanks:
    """The ranks of the relevant labels in lists of labels, the surest first; those that a list lacks are NOWHERE.

    A label outside the vocabulary takes its place in the list unless `unknown_label` drops it. Of a repeated label the
    first counts; the others take a place under `duplicates=multiset` only.
    """
    assert lists.offsets is not None
    rows = np.repeat(np.arange(lists.n, dtype=np.int64), np.diff(lists.offsets))
    kept = occupied_positions(lists, rows, m, options)
    before = np.concatenate([[0], np.cumsum(kept)])
    position = before[:-1] - before[lists.offsets[rows]] if len(rows) else rows
    known = kept & (lists.codes >= 0) & (lists.codes < m)
    listed = (rows * m + lists.codes)[known]
    wanted = relevant.rows * m + relevant.codes
    at, found = search_sorted(listed, wanted)
    above = np.full(len(wanted), UNLISTED, dtype=np.int64)
    above[at[found][::-1]] = position[known][found][::-1]  # backwards: of a repeated label the first one stays
    return _group_by_rank(relevant, above, np.ones(len(wanted), dtype=np.int64), lambda ranks: ranks.order_in_tie)


def occupied_positions(lists: Labels, rows: Int, m: int, options: Mapping[str, str]) -> NDArray[np.bool_]:
    """Which entries of the lists take a place, where `rows` says of each entry to which list it belongs."""
    known = (lists.codes >= 0) & (lists.codes < m)
    kept = known | ((lists.codes >= m) & (options["unknown_label"] != "drop"))
    if options["duplicates"] == "multiset":
        return np.asarray(kept)
    kept &= lists.codes <= m  # beyond m: a repeated label from outside the vocabulary
    keys = (rows * m + lists.codes)[known]
    order = np.argsort(keys, kind="stable")
    again = np.zeros(len(keys), dtype=bool)
    again[order[1:]] = keys[order[1:]] == keys[order[:-1]]
    kept[np.flatnonzero(known)[again]] = False
    return np.asarray(kept)


def _group_by_rank(relevant: RelevantLabels, above: Int, tied: Int, earlier: Callable[[LabelRanks], Int]) -> LabelRanks:
    """Sort the relevant labels of each instance by rank and number those that are tied with each other."""
    width = int(above[above < UNLISTED].max(initial=0)) + 2
    keys = relevant.rows * width + np.minimum(above, width - 1)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    groups = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])) if len(keys) else keys
    lengths = np.diff(np.append(groups, len(keys)))
    first, among = np.repeat(groups, lengths), np.repeat(lengths, lengths)
    starts = (np.cumsum(relevant.sizes) - relevant.sizes)[relevant.rows]
    return LabelRanks(
        rows=relevant.rows,
        codes=relevant.codes[order],
        sizes=relevant.sizes,
        above=above[order],
        tied=np.maximum(tied[order], among),
        relevant_above=first - starts,
        relevant_tied=among,
        order_in_tie=np.arange(len(keys)) - first,
        _earlier=earlier,
    )
