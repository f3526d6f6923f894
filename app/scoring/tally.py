"""The shared integer counts behind every hard-label metric: per class, pooled and per instance.

Single-label data need three histograms of codes. Multi-label data need sorted (instance, class) pairs and their
intersection. A label outside the vocabulary has no class of its own. Counted as a false positive, it enters the pooled
sums and the counts of its instance, where it displaces a true negative as any other wrong label would.

All counts are integers, so a metric rounds once, in its last step, and a sum does not depend on the order of the
instances. Weights are whole numbers too (see `EvaluationInput`), so weighting multiplies integers.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from app.scoring.evaluation_input import MISSING_CODE, EvaluationInput, Labels
from app.scoring.numeric.constant_time_search import search_sorted
from app.scoring.numeric.exact import Integers, multiply, total
from app.scoring.unknown_cells import count_unknown_cells, histogram

Int = NDArray[np.int64]
Mask = NDArray[np.bool_]
_T = TypeVar("_T")
NO_LABEL = "(no label)"
TALLY_OPTIONS = ("unknown_label", "duplicates", "empty_label")


@dataclass(frozen=True, slots=True)
class ConfusionCounts:
    """Columns of 2×2 tables: true and false positives and negatives.

    One entry per class or per instance; for many draws, one row per class.
    """

    tp: Integers
    fp: Integers
    fn: Integers
    tn: Integers

    @property
    def columns(self) -> tuple[Integers, Integers, Integers, Integers]:
        """tp, fp, fn, tn: the order of the coefficients of a measure."""
        return self.tp, self.fp, self.fn, self.tn

    @property
    def support(self) -> Integers:
        """How often each class occurs in gold."""
        return self.tp + self.fn

    @property
    def predicted(self) -> Integers:
        """How often each class was predicted."""
        return self.tp + self.fp


@dataclass(frozen=True)
class Tally:
    """All counts of one input under one combination of the tally options.

    If instances have weights, every count adds the weight of the instance instead of 1. `names` are the classes of the
    per-class counts, followed by the empty set where it is a class. `outside_fp` counts predicted labels outside the
    vocabulary, `outside_fn` such gold labels, and `outside_tn` the true negatives that they displace, at most as many
    as their instance has. `without_prediction` counts instances of single-label data without a prediction. `exact`
    counts instances whose predicted set equals the gold set. `cells` and `wrong_cells` count the (instance, label)
    decisions and the wrong ones, over sets. Each of the `unknown_labels`, those outside the vocabulary, makes one more
    decision of its instance wrong, until all are wrong. Cells that the gold leaves unknown are not among any of these
    counts; `unseen` marks the classes that have no other cells, and is None where all cells are known.
    """

    n: int
    names: tuple[str, ...]
    classes: ConfusionCounts
    outside_fp: int
    outside_fn: int
    outside_tn: int
    without_prediction: int
    exact: int
    cells: int
    wrong_cells: int
    unknown_labels: int
    unseen: Mask | None = None
    _count_instances: "Callable[[], InstanceCounts] | None" = None
    _parts: "dict[Hashable, Int]" = field(default_factory=dict)

    def part(self, form: "Callable[[tuple[Int, Int, Int, Int]], Int]") -> Int:
        """A function of the class counts, cached because all averages of a measure use the same one."""
        if form not in self._parts:
            self._parts[form] = form(self.classes.columns)
        return self._parts[form]

    @cached_property
    def instances(self) -> "InstanceCounts":
        """The counts of each instance; for multi-label data only."""
        assert self._count_instances is not None
        return self._count_instances()


@dataclass(frozen=True, slots=True)
class InstanceCounts:
    """Per-instance counts of multi-label data: the 2×2 tables over the labels, the sizes of the two sets, the weights.

    `known_size` is the size of the predicted set without labels outside the vocabulary.
    """

    counts: ConfusionCounts
    gold_size: Int
    predicted_size: Int
    known_size: Int
    weights: Int | None


class EvaluationContext:
    """One evaluation input with a cache of everything that several metrics need.

    Tallies are cached per combination of options. `shared` caches values of this input; `common` caches values that
    depend on the task alone.
    """

    def __init__(self, case: EvaluationInput, common: "dict[Hashable, Any] | None" = None) -> None:
        """`common` is the cache that the contexts of one file share: those of all instances and of each split."""
        self.case = case.over_known_cells()
        self.spec = case.spec
        self._common = {} if common is None else common
        self._tallies: dict[tuple[str, ...], Tally] = {}
        self._shared: dict[Hashable, Any] = {}

    def shared(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """A value of this input that several metrics use, such as sorted scores or ranks; computed once."""
        return _get_or_make(self._shared, key, make)

    def common(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """A value that holds for any instances of the task; computed once for all instances and every split."""
        return _get_or_make(self._common, key, make)

    @cached_property
    def gold_matrix(self) -> NDArray[np.bool_]:
        """Whether the gold of each instance has each declared class, n × m."""
        gold, m = self.case.gold.as_sets(), len(self.spec.classes)
        known = (gold.codes >= 0) & (gold.codes < m)
        matrix = np.zeros((gold.n, m), dtype=bool)
        matrix[gold.rows[known], gold.codes[known]] = True
        return matrix

    @cached_property
    def total(self) -> int:
        """The total weight of the instances: their number if they have no weights."""
        return self.case.gold.n if self.case.weights is None else total(self.case.weights)

    @cached_property
    def is_accepted(self) -> Mask:
        """Whether the predicted label of each instance is among the acceptable answers of the gold."""
        gold, chosen = self.case.gold.as_sets(), self.case.predicted.codes
        owner = gold.rows
        return np.asarray(np.bincount(owner[gold.codes == chosen[owner]], minlength=gold.n) > 0)

    @cached_property
    def accepted_weight(self) -> int:
        """The total weight of these instances."""
        return _weighted_sum(self.is_accepted.astype(np.int64), self.case.weights)

    @cached_property
    def train_frequencies(self) -> Int | None:
        """The training frequency of each declared class, 0 for a class that is not listed; None without frequencies."""
        frequencies = self.spec.train_frequencies
        if frequencies is None:
            return None
        return np.array([frequencies.get(name, 0) for name in self.spec.classes], dtype=np.int64)

    def tally(self, options: Mapping[str, str]) -> Tally:
        """The counts under these options; computed once per combination of the options that matter for the task."""
        multilabel = self.spec.task == "multilabel"
        # Only unknown_label matters for single-label data: a set of one is neither empty nor has duplicates.
        key = tuple(options[name] for name in (TALLY_OPTIONS if multilabel else TALLY_OPTIONS[:1]))
        make = _tally_multilabel if multilabel else _tally_single_label
        return _get_or_make(self._tallies, key, lambda: make(self.case, options))


def _get_or_make(cache: dict[Any, Any], key: Hashable, make: Callable[[], _T]) -> _T:
    if key not in cache:
        cache[key] = make()
    value: _T = cache[key]
    return value


def _tally_single_label(case: EvaluationInput, options: Mapping[str, str]) -> Tally:
    """Counts of one label per instance, from histograms of the codes plus one: bin 0 counts missing labels."""
    m, weights = len(case.spec.classes), case.weights
    n = case.gold.n if weights is None else total(weights)
    gold, predicted = case.gold.codes, case.predicted.codes
    if options["unknown_label"] == "drop":
        predicted = np.where(predicted == m, np.int32(MISSING_CODE), predicted)
    right = (gold == predicted) & (gold >= 0) & (gold < m)
    tp = histogram(gold[right], None if weights is None else weights[right], m)[:m]
    in_gold = histogram(gold.astype(np.int64) + 1, weights, m + 2)
    in_predicted = histogram(predicted.astype(np.int64) + 1, weights, m + 2)
    support, chosen = in_gold[1 : m + 1], in_predicted[1 : m + 1]
    counts = ConfusionCounts(tp=tp, fp=chosen - tp, fn=support - tp, tn=n - support - chosen + tp)
    outside_fp, outside_fn = int(in_predicted[m + 1]), int(in_gold[m + 1])
    displaced = _count_displaced_true_negatives(gold, predicted, m, weights) if outside_fp or outside_fn else 0
    # Every difference is exact: the histograms are int64, or Python integers where a sum of weights could overflow.
    return Tally(
        n=n,
        names=case.spec.classes,
        classes=counts,
        outside_fp=outside_fp,
        outside_fn=outside_fn,
        outside_tn=displaced,
        without_prediction=int(in_predicted[0]),
        exact=total(tp),
        cells=n * m,
        wrong_cells=total(counts.fp) + total(counts.fn) + displaced,
        unknown_labels=outside_fp + outside_fn,
    )


def _count_displaced_true_negatives(
    gold: NDArray[np.int32], predicted: NDArray[np.int32], m: int, weights: Int | None
) -> int:
    """How many true negatives of single-label data the labels outside the vocabulary turn into wrong decisions."""
    rows = np.flatnonzero((gold == m) | (predicted == m))
    g, p = gold[rows], predicted[rows]
    outside = (g == m).astype(np.int64) + (p == m)
    known = ((g >= 0) & (g < m)).astype(np.int64) + ((p >= 0) & (p < m))
    return _weighted_sum(np.minimum(outside, m - known), None if weights is None else weights[rows])


@dataclass(frozen=True, slots=True)
class LabelPairs:
    """Distinct (instance, class) pairs in order, how often each occurs, and what lies outside the vocabulary."""

    keys: Int
    multiplicities: Int | None  # None: once each
    rows: Int
    codes: Int
    outside: Int  # per instance: distinct labels outside the vocabulary
    repeated: Int  # per instance: repetitions of these labels, if repetitions count


def sorted_label_pairs(labels: Labels, m: int, options: Mapping[str, str], *, drop_unknown: bool) -> LabelPairs:
    """Sort the labels of each instance: keys are row × 2^b + code, where code m is the empty set if that is a class."""
    labels = labels.as_sets()
    n, rows = labels.n, labels.rows
    codes = labels.codes.astype(np.int64)
    known = (codes >= 0) & (codes < m)
    counted = options["duplicates"] == "multiset"
    outside = repeated = np.zeros(n, dtype=np.int64)
    if not known.all():
        if not drop_unknown:
            outside = np.bincount(rows[codes == m], minlength=n).astype(np.int64)
        if not drop_unknown and counted:
            repeated = np.bincount(rows[codes == m + 1], minlength=n).astype(np.int64)
        rows, codes = rows[known], codes[known]
    if options["empty_label"] == "as_class":
        has_label = outside > 0
        has_label[rows] = True
        empty = np.flatnonzero(~has_label)
        rows = np.concatenate([rows, empty])
        codes = np.concatenate([codes, np.full(len(empty), m, dtype=np.int64)])
    bits = m.bit_length()  # a shift is many times faster than a division
    rows <<= bits
    rows |= codes
    keys, multiplicities = distinct_keys(rows, counted=counted)
    return LabelPairs(keys, multiplicities, keys >> bits, keys & ((1 << bits) - 1), outside, repeated)


def distinct_keys(keys: Int, *, counted: bool) -> tuple[Int, Int | None]:
    """The distinct keys in order; with `counted`, also how often each occurs. Keys already in order are not sorted."""
    steps = np.diff(keys)
    if len(steps) and int(steps.min()) < 0:
        keys = np.sort(keys)
        steps = np.diff(keys)
    if len(steps) == 0 or bool((steps > 0).all()):
        return keys, np.ones(len(keys), dtype=np.int64) if counted else None
    first = np.concatenate([[0], np.flatnonzero(steps) + 1])
    return keys[first], np.diff(np.append(first, len(keys))) if counted else None


def _tally_multilabel(case: EvaluationInput, options: Mapping[str, str]) -> Tally:
    """Counts of label sets from the sorted pairs of gold and prediction and their intersection."""
    m, n, weights = len(case.spec.classes), case.gold.n, case.weights
    matched = _match_pairs(case, options)
    gold, predicted = matched.gold, matched.predicted
    as_class = options["empty_label"] == "as_class"
    size = m + as_class
    weight = n if weights is None else total(weights)
    unknown = count_unknown_cells(case, size)
    sets = matched.count_by("rows", n, repetitions=False)
    equal = (sets.hits == sets.gold) & (sets.hits == sets.predicted)
    equal &= (gold.outside == 0) & (predicted.outside == 0)
    outside, wrong = predicted.outside + gold.outside, sets.gold + sets.predicted - 2 * sets.hits
    return Tally(
        n=weight,
        names=(*case.spec.classes, NO_LABEL) if as_class else case.spec.classes,
        classes=matched.count_by("codes", size, weights).tables(weight - unknown.by_class),
        outside_fp=_weighted_sum(predicted.outside + predicted.repeated, weights),
        outside_fn=_weighted_sum(gold.outside + gold.repeated, weights),
        outside_tn=_weighted_sum(np.minimum(outside, size - unknown.by_instance - sets.either), weights),
        without_prediction=0,
        exact=_weighted_sum(equal.astype(np.int64), weights),
        cells=weight * size - unknown.total,
        wrong_cells=_weighted_sum(np.minimum(wrong + outside, size - unknown.by_instance), weights),
        unknown_labels=_weighted_sum(outside, weights),
        unseen=None if case.unknown is None else np.asarray(unknown.by_class == weight),
        _count_instances=lambda: matched.count_instances(n, size - unknown.by_instance, weights),
    )


def _weighted_sum(counts: Int, weights: Int | None) -> int:
    """The exact sum of counts per instance, each times the weight of its instance."""
    return total(counts) if weights is None else total(multiply(counts, weights))


@dataclass(frozen=True, slots=True)
class _SideCounts:
    """The labels of gold and prediction in each bin, those that both have, and the distinct ones that either has."""

    gold: Int
    predicted: Int
    hits: Int
    either: Int

    def tables(self, cells: Int | int) -> ConfusionCounts:
        """2×2 tables; true negatives are the `cells` of a bin without those where either side has the label."""
        return ConfusionCounts(self.hits, self.predicted - self.hits, self.gold - self.hits, cells - self.either)


@dataclass(frozen=True, slots=True)
class _MatchedPairs:
    """The label pairs of gold and prediction, and which predicted pairs are in gold too (`shared`).

    `overlap` has the repetitions that both sides have of each shared pair; None unless repetitions count.
    """

    gold: LabelPairs
    predicted: LabelPairs
    shared: Mask
    overlap: Int | None

    def count_by(self, by: str, size: int, weights: Int | None = None, *, repetitions: bool = True) -> _SideCounts:
        """Histograms over classes (`by` codes) or instances (`by` rows); `weights` has one number per instance."""
        bins = [getattr(self.gold, by), getattr(self.predicted, by), getattr(self.predicted, by)[self.shared]]
        rows = self.gold.rows, self.predicted.rows, self.predicted.rows[self.shared]
        heavy: list[Any] = [None if weights is None else weights[part] for part in rows]
        gold, predicted, hits = (histogram(*part, size) for part in zip(bins, heavy, strict=True))
        either = gold + predicted - hits
        if repetitions and self.overlap is not None:
            times: list[Any] = [self.gold.multiplicities, self.predicted.multiplicities, self.overlap]
            if weights is not None:
                times = [multiply(count, weight) for count, weight in zip(times, heavy, strict=True)]
            gold, predicted, hits = (histogram(*part, size) for part in zip(bins, times, strict=True))
        return _SideCounts(gold, predicted, hits, either)

    def count_instances(self, n: int, size: Int | int, weights: Int | None) -> InstanceCounts:
        """The tables of the n instances over `size` labels, one number for all or one each.

        Labels outside the vocabulary enlarge the sets. They displace true negatives, as long as there are any.
        """
        sides, gold, predicted = self.count_by("rows", n), self.gold, self.predicted
        table = sides.tables(size)
        gold_outside, predicted_outside = gold.outside + gold.repeated, predicted.outside + predicted.repeated
        tn = np.maximum(table.tn - gold.outside - predicted.outside, 0)
        counts = ConfusionCounts(table.tp, table.fp + predicted_outside, table.fn + gold_outside, tn)
        sizes = sides.gold + gold_outside, sides.predicted + predicted_outside, sides.predicted
        return InstanceCounts(counts, *sizes, weights)


def _match_pairs(case: EvaluationInput, options: Mapping[str, str]) -> _MatchedPairs:
    m, drop = len(case.spec.classes), options["unknown_label"] == "drop"
    gold = sorted_label_pairs(case.gold, m, options, drop_unknown=False)
    predicted = sorted_label_pairs(case.predicted, m, options, drop_unknown=drop)
    at, shared = search_sorted(predicted.keys, gold.keys)
    overlap = None
    if predicted.multiplicities is not None and gold.multiplicities is not None:
        overlap = np.minimum(predicted.multiplicities[shared], gold.multiplicities[at[shared]])
    return _MatchedPairs(gold, predicted, shared, overlap)
