"""The shared integer counts behind every hard-label metric: per class, pooled and per instance.

Single-label data need three histograms of codes; multi-label data sorted (instance, class) pairs and their
intersection. A label outside the vocabulary has no class of its own: counted as a false positive it enters the
pooled sums and its instance, in the place of a true negative as any other wrong label would.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from app.scoring.evaluation_input import MISSING_CODE, EvaluationInput, Labels
from app.scoring.numeric.exact import multiply, total
from app.scoring.numeric.sorted_search import search_sorted

Int = NDArray[np.int64]
_T = TypeVar("_T")
NO_LABEL = "(no label)"
TALLY_OPTIONS = ("unknown_label", "duplicates", "empty_label")


@dataclass(frozen=True, slots=True)
class ConfusionCounts:
    """2×2 tables side by side, one entry per class or per instance: true and false positives and negatives."""

    tp: Int
    fp: Int
    fn: Int
    tn: Int

    @property
    def columns(self) -> tuple[Int, Int, Int, Int]:
        """tp, fp, fn, tn: the order in which a measure states its coefficients."""
        return self.tp, self.fp, self.fn, self.tn

    @property
    def support(self) -> Int:
        """How often each class occurs in gold."""
        return self.tp + self.fn

    @property
    def predicted(self) -> Int:
        """How often each class was predicted."""
        return self.tp + self.fp


@dataclass(frozen=True)
class Tally:
    """All counts of one case under one reading of its labels.

    Where instances have weights, everything is counted as often as its instance weighs. `names` are the classes of the
    per-class counts (with the empty set as the last one where it is a class);
    `outside_fp` counts predicted labels outside the vocabulary, `outside_fn` such gold labels, `outside_tn` the true
    negatives whose place they take, at most those that their instance has; `nothing` counts instances of single-label
    data without a prediction; `exact` counts instances whose predicted set equals the gold set; `cells` and
    `wrong_cells` count the (instance, label) decisions and the wrong ones, over sets. A label outside the vocabulary
    makes one more decision of its instance wrong, until all are; `strange` counts such labels.
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
    _count_instances: "Callable[[], InstanceCounts] | None" = None
    _parts: "dict[Hashable, Int]" = field(default_factory=dict)

    def part(self, form: "Callable[[tuple[Int, Int, Int, Int]], Int]") -> Int:
        """A function of the counts of the classes, which the averages of a measure share."""
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

    `known_size` is that of the predicted set without labels outside the vocabulary.
    """

    counts: ConfusionCounts
    gold_size: Int
    predicted_size: Int
    known_size: Int
    weights: Int | None


class EvaluationContext:
    """One case with the tallies made from it so far, one per reading of the labels."""

    def __init__(self, case: EvaluationInput, common: "dict[Hashable, Any] | None" = None) -> None:
        """`common` is what workspaces of one file share: those of all instances and of each split."""
        self.case = case
        self.spec = case.spec
        self._common = {} if common is None else common
        self._tallies: dict[tuple[str, ...], Tally] = {}
        self._shared: dict[Hashable, Any] = {}

    def shared(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """What several metrics build on, made once: sorted scores, ranks."""
        if key not in self._shared:
            self._shared[key] = make()
        found: _T = self._shared[key]
        return found

    def common(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """What holds for any instances of the task, made once for all instances and every split."""
        if key not in self._common:
            self._common[key] = make()
        found: _T = self._common[key]
        return found

    @cached_property
    def gold_matrix(self) -> NDArray[np.bool_]:
        """For each instance and declared class whether the gold has it, n × m."""
        gold, m = self.case.gold.as_sets(), len(self.spec.classes)
        assert gold.offsets is not None
        rows = np.repeat(np.arange(gold.n), np.diff(gold.offsets))
        known = (gold.codes >= 0) & (gold.codes < m)
        found = np.zeros((gold.n, m), dtype=bool)
        found[rows[known], gold.codes[known]] = True
        return found

    @cached_property
    def total(self) -> int:
        """The weight of all instances: their number, where all weigh the same."""
        return self.case.gold.n if self.case.weights is None else total(self.case.weights)

    @cached_property
    def accepted_weight(self) -> int:
        """The weight of the instances whose one label is among the acceptable answers of the gold."""
        gold, chosen = self.case.gold.as_sets(), self.case.predicted.codes
        assert gold.offsets is not None
        owner = np.repeat(np.arange(gold.n), np.diff(gold.offsets))
        hits = np.bincount(owner[gold.codes == chosen[owner]], minlength=gold.n)
        return _weighted_sum((hits > 0).astype(np.int64), self.case.weights)

    @cached_property
    def train_frequencies(self) -> Int | None:
        """The training frequency of each declared class, if there are any; 0 where training lacks the class."""
        given = self.spec.train_frequencies
        if given is None:
            return None
        return np.array([given.get(name, 0) for name in self.spec.classes], dtype=np.int64)

    def tally(self, options: Mapping[str, str]) -> Tally:
        """The counts under these options; made once per combination that matters for the task."""
        reading = tuple(options[name] for name in TALLY_OPTIONS)
        if self.spec.task != "multilabel":
            reading = reading[:1]
        if reading not in self._tallies:
            make = _tally_multilabel if self.spec.task == "multilabel" else _tally_single_label
            self._tallies[reading] = make(self.case, options)
        return self._tallies[reading]


def _tally_single_label(case: EvaluationInput, options: Mapping[str, str]) -> Tally:
    """Counts of one label per instance: histograms of codes shifted by one, so that bin 0 is 'nothing'."""
    m, weights = len(case.spec.classes), case.weights
    n = case.gold.n if weights is None else total(weights)
    gold, predicted = case.gold.codes, case.predicted.codes
    if options["unknown_label"] == "drop":
        predicted = np.where(predicted == m, np.int32(MISSING_CODE), predicted)
    right = (gold == predicted) & (gold >= 0) & (gold < m)
    tp = _histogram(gold[right], None if weights is None else weights[right], m)[:m]
    in_gold = _histogram(gold.astype(np.int64) + 1, weights, m + 2)
    in_predicted = _histogram(predicted.astype(np.int64) + 1, weights, m + 2)
    support, chosen = in_gold[1 : m + 1], in_predicted[1 : m + 1]
    counts = ConfusionCounts(tp=tp, fp=chosen - tp, fn=support - tp, tn=n - support - chosen + tp)
    outside_fp, outside_fn = int(in_predicted[m + 1]), int(in_gold[m + 1])
    displaced = _count_displaced_true_negatives(gold, predicted, m, weights) if outside_fp or outside_fn else 0
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
    """The true negatives of single-label data whose place labels outside the vocabulary take; so many are wrong then."""
    rows = np.flatnonzero((gold == m) | (predicted == m))
    g, p = gold[rows], predicted[rows]
    strange = (g == m).astype(np.int64) + (p == m)
    known = ((g >= 0) & (g < m)).astype(np.int64) + ((p >= 0) & (p < m))
    return _weighted_sum(np.minimum(strange, m - known), None if weights is None else weights[rows])


@dataclass(frozen=True, slots=True)
class LabelPairs:
    """Distinct (instance, class) pairs in order, how often each occurs, and what lay outside the vocabulary."""

    keys: Int
    multiplicities: Int | None  # None: once each
    rows: Int
    codes: Int
    outside: Int  # per instance: different labels outside the vocabulary
    repeated: Int  # per instance: their repetitions, where those count


def sorted_label_pairs(labels: Labels, m: int, options: Mapping[str, str], *, drop_unknown: bool) -> LabelPairs:
    """Sort the labels of each instance: keys are row × 2^b + code, where code m is the empty set if that is a class."""
    labels = labels.as_sets()
    assert labels.offsets is not None
    n = labels.n
    rows = np.repeat(np.arange(n, dtype=np.int64), np.diff(labels.offsets))
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
        filled = outside > 0
        filled[rows] = True
        empty = np.flatnonzero(~filled)
        rows = np.concatenate([rows, empty])
        codes = np.concatenate([codes, np.full(len(empty), m, dtype=np.int64)])
    bits = m.bit_length()  # to shift is many times quicker than to divide
    rows <<= bits
    rows |= codes
    keys, multiplicities = distinct_keys(rows, counted=counted)
    return LabelPairs(keys, multiplicities, keys >> bits, keys & ((1 << bits) - 1), outside, repeated)


def distinct_keys(keys: Int, *, counted: bool) -> tuple[Int, Int | None]:
    """The distinct keys in order; with `counted`, how often each occurred."""
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
    gold = sorted_label_pairs(case.gold, m, options, drop_unknown=False)
    predicted = sorted_label_pairs(case.predicted, m, options, drop_unknown=options["unknown_label"] == "drop")
    at, shared = search_sorted(predicted.keys, gold.keys)
    overlap = None
    if predicted.multiplicities is not None and gold.multiplicities is not None:
        overlap = np.minimum(predicted.multiplicities[shared], gold.multiplicities[at[shared]])
    as_class = options["empty_label"] == "as_class"
    size = m + as_class
    weight = n if weights is None else total(weights)
    counts = _confusion_counts(
        weight, _count_sides(gold, predicted, shared, overlap, by="codes", size=size, weights=weights)
    )
    sets = _count_sides(gold, predicted, shared, None, by="rows", size=n)
    equal = (sets.hits == sets.gold) & (sets.hits == sets.predicted)
    equal &= (gold.outside == 0) & (predicted.outside == 0)
    strange = predicted.outside + gold.outside
    either, wrong = sets.gold + sets.predicted - sets.hits, sets.gold + sets.predicted - 2 * sets.hits
    return Tally(
        n=weight,
        names=(*case.spec.classes, NO_LABEL) if as_class else case.spec.classes,
        classes=counts,
        outside_fp=_weighted_sum(predicted.outside + predicted.repeated, weights),
        outside_fn=_weighted_sum(gold.outside + gold.repeated, weights),
        outside_tn=_weighted_sum(np.minimum(strange, size - either), weights),
        without_prediction=0,
        exact=_weighted_sum(equal.astype(np.int64), weights),
        cells=weight * size,
        wrong_cells=_weighted_sum(np.minimum(wrong + strange, size), weights),
        unknown_labels=_weighted_sum(strange, weights),
        _count_instances=lambda: _count_instances(gold, predicted, shared, overlap, n=n, size=size, weights=weights),
    )


def _weighted_sum(counts: Int, weights: Int | None) -> int:
    """The sum of counts per instance, each as often as its instance weighs."""
    return total(counts) if weights is None else total(multiply(counts, weights))


@dataclass(frozen=True, slots=True)
class _SideCounts:
    """How many labels gold and prediction hold in each bin and share there; and the bins' sizes as sets."""

    gold: Int
    predicted: Int
    hits: Int
    either: Int


def _count_sides(
    gold: LabelPairs,
    predicted: LabelPairs,
    shared: NDArray[np.bool_],
    overlap: Int | None,
    *,
    by: str,
    size: int,
    weights: Int | None = None,
) -> _SideCounts:
    """Histograms over classes (`by` codes) or instances (`by` rows).

    `overlap` makes them count repetitions, `weights` (one per instance) how much each instance weighs.
    """
    g, p = getattr(gold, by), getattr(predicted, by)
    of_gold, of_predicted = (None if weights is None else weights[pairs.rows] for pairs in (gold, predicted))
    of_hits = None if of_predicted is None else of_predicted[shared]
    in_gold, in_predicted, hits = (
        _histogram(bins, of, size) for bins, of in ((g, of_gold), (p, of_predicted), (p[shared], of_hits))
    )
    either = in_gold + in_predicted - hits
    if overlap is None:
        return _SideCounts(in_gold, in_predicted, hits, either)
    in_gold = _histogram(g, _weighted_multiplicities(gold.multiplicities, of_gold), size)
    in_predicted = _histogram(p, _weighted_multiplicities(predicted.multiplicities, of_predicted), size)
    return _SideCounts(
        in_gold, in_predicted, _histogram(p[shared], _weighted_multiplicities(overlap, of_hits), size), either
    )


def _weighted_multiplicities(counts: Int | None, weights: Int | None) -> Int | None:
    return counts if weights is None or counts is None else multiply(counts, weights)


def _histogram(bins: Int, weights: Int | None, size: int) -> Int:
    if weights is not None and total(weights) >= 2**53:
        return _exact_histogram(bins, weights, size)
    return np.bincount(bins, weights=weights, minlength=size).astype(np.int64)  # exact: sums stay below 2**53


def _exact_histogram(bins: Int, weights: Int, size: int) -> Int:
    """The same in Python's integers, where binary64 might round."""
    found = np.zeros(size, dtype=object)
    np.add.at(found, bins, weights.astype(object))
    return found if max(found, default=0) >= 2**62 else found.astype(np.int64)


def _confusion_counts(of: int, sides: _SideCounts) -> ConfusionCounts:
    """2×2 tables from histograms; true negatives are the `of` cells less those where either side has the label."""
    return ConfusionCounts(
        tp=sides.hits, fp=sides.predicted - sides.hits, fn=sides.gold - sides.hits, tn=of - sides.either
    )


def _count_instances(
    gold: LabelPairs,
    predicted: LabelPairs,
    shared: NDArray[np.bool_],
    overlap: Int | None,
    *,
    n: int,
    size: int,
    weights: Int | None,
) -> InstanceCounts:
    """The tables of the instances over `size` labels; labels outside the vocabulary enlarge their sets.

    They take the place of true negatives, as long as there are any.
    """
    sides = _count_sides(gold, predicted, shared, overlap, by="rows", size=n)
    table = _confusion_counts(size, sides)
    gold_outside, predicted_outside = gold.outside + gold.repeated, predicted.outside + predicted.repeated
    tn = np.maximum(table.tn - gold.outside - predicted.outside, 0)
    counts = ConfusionCounts(table.tp, table.fp + predicted_outside, table.fn + gold_outside, tn)
    sizes = sides.gold + gold_outside, sides.predicted + predicted_outside, sides.predicted
    return InstanceCounts(counts, *sizes, weights)
