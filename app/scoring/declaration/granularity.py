"""How finely a metric answers to the labels of single instances: how many values it can take for fixed predictions.

Whoever sends predictions knows them, so that all that a value can tell about the gold is which of these values came out.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.scoring.declaration.metric import MetricCall

CallSettings = Mapping[str, str]
"""The parameters of a metric, and those conventions that concern it."""
FREE_SIZE_OPTIONS = {"unknown_label": "count_as_fp", "duplicates": "multiset"}
"""Conventions under which a predicted set may have any size, as labels outside the vocabulary or repetitions enlarge it."""


@dataclass(frozen=True, slots=True)
class GoldSize:
    """How much gold there is: instances, classes, and whether an instance has a set of these (`multilabel`) or one."""

    instances: int
    classes: int
    multilabel: bool = False

    @property
    def labels(self) -> int:
        """How many things there are to know: a label for each instance, or for each label of each whether it has it."""
        return self.instances * self.classes if self.multilabel else self.instances

    @property
    def bits_per_label(self) -> float:
        """The base-2 logarithm of how many values one of them can have."""
        return 1.0 if self.multilabel else math.log2(max(self.classes, 1))

    @property
    def bits(self) -> float:
        """The base-2 logarithm of the number of labellings."""
        return self.labels * self.bits_per_label


@dataclass(frozen=True, slots=True)
class Granularity:
    """One way in which values depend on labels.

    `meaning` completes the sentence "its value …"; `bits` is the base-2 logarithm of the greatest number of values for
    fixed predictions, where no instance weighs more than another. Metrics whose every labelling may have a value of its
    own say so with `separating`, and with `separating_sets` those that do so of label sets alone. `sized` names
    conventions of SIZES_FREE under which they do: sizes of predicted sets of one's choice can encode the labelling, and
    under `duplicates` repetitions in the gold, too.
    """

    name: str
    meaning: str
    count: Callable[[GoldSize, CallSettings], float]
    separating: bool = False
    separating_sets: bool = False
    free_size_options: tuple[str, ...] = ()

    def separates(self, call: "MetricCall | None", *, sets: bool) -> bool:
        """Whether the value of every labelling may be its own; `sets`: instances have sets of labels."""
        return self.separating or (
            sets
            and (self.separating_sets or any(name in self.free_size_options for name in active_free_size_options(call)))
        )

    def bits(self, sizes: GoldSize, call: "MetricCall | None" = None, *, weighted: bool = False) -> float:
        """How many bits a value can hold at full precision; with instance weights sums can tell the labels apart."""
        if weighted or self.separates(call, sets=sizes.multilabel):
            return sizes.bits
        settings: CallSettings = {} if call is None else {**_relevant_options(call), **call.params}
        return max(0.0, min(sizes.bits, self.count(sizes, settings)))


def active_free_size_options(call: "MetricCall | None") -> list[str]:
    """Which conventions of SIZES_FREE are in force for a metric that they concern."""
    concerning = {} if call is None else _relevant_options(call)
    return [name for name, value in FREE_SIZE_OPTIONS.items() if concerning.get(name) == value]


def _relevant_options(call: "MetricCall") -> CallSettings:
    return {name: call.options[name] for name in call.metric.options}


def _log2_multisets(kinds: int, size: int) -> float:
    """log2 of the number of multisets of this size from so many kinds."""
    return _log2_binomial(size + kinds - 1, min(size, kinds - 1))


def _log2_binomial(n: int, k: int) -> float:
    """log2 of the binomial coefficient, or for very large n, of whose logarithms little would be left, an upper bound."""
    if not 0 < k < n:
        return 0.0
    if n > 10**12:
        return k * math.log2(math.e * n / k)
    return (math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)) / math.log(2)


def _table_bits(decisions: float) -> float:
    """One 2×2 table: with p predicted positives TP is one of p + 1 numbers and FN one of n - p + 1."""
    return 2 * math.log2(decisions / 2 + 1)


def _count_pair_values(decisions: int) -> int:
    """AUC: with p positives 2U is a whole number from 0 to 2 p (n - p); summed over p."""
    return (decisions**3 - decisions) // 3 + decisions + 1


def _class_tables_bits(sizes: GoldSize, _: CallSettings) -> float:
    n, classes = sizes.instances, sizes.classes
    if sizes.multilabel:
        return (classes + 1) * _table_bits(n)  # the empty set may count as a class
    return min(_log2_multisets(classes, n) + classes * math.log2(n / classes + 1), _cells_bits(sizes, classes + 1))


def _pooled_table_bits(sizes: GoldSize, settings: CallSettings) -> float:
    decisions = sizes.instances * (sizes.classes + 1)
    displaced = sizes.multilabel and settings.get("unknown_label") == "count_as_fp"
    return _table_bits(decisions) + (
        math.log2(decisions + 1) if displaced else 0.0
    )  # of true negatives by unknown labels


def _confusion_bits(sizes: GoldSize, _: CallSettings) -> float:
    if sizes.multilabel:
        return sizes.bits
    return _cells_bits(sizes, sizes.classes + 2)  # a prediction may be missing, or none of the classes


def _cells_bits(sizes: GoldSize, columns: int) -> float:
    """A table of gold against so many kinds of predictions."""
    each = sizes.instances / columns  # most values where all are predicted alike often
    most = math.lgamma(each + sizes.classes) - math.lgamma(each + 1) - math.lgamma(sizes.classes)
    return columns * most / math.log(2)


def _instances_bits(sizes: GoldSize, _: CallSettings) -> float:
    """Each instance has one of so many triples of |P|, |Y| and |P∩Y|; the empty set may count as a class."""
    return _log2_multisets(math.comb(sizes.classes + 4, 3), sizes.instances)


def _hits_bits(sizes: GoldSize, settings: CallSettings) -> float:
    if settings.get("ties") == "average":
        return sizes.bits if sizes.multilabel else _log2_multisets(sizes.classes**2 + 2, sizes.instances)
    return _instances_bits(sizes, settings) if sizes.multilabel else math.log2(sizes.instances + 1)


def _calibration_bins_bits(sizes: GoldSize, settings: CallSettings) -> float:
    bins = int(settings["bins"])
    return bins * math.log2(sizes.instances / bins + 1)


def _class_pairs_bits(sizes: GoldSize, _: CallSettings) -> float:
    n, classes = sizes.instances, sizes.classes
    return _log2_multisets(classes, n) + classes * (classes - 1) * math.log2(n * n / 2 + 1)


def _all_bits(sizes: GoldSize, _: CallSettings) -> float:
    return sizes.bits


CORRECT_INSTANCES = Granularity(
    "right", "counts the instances that are right", lambda sizes, _: math.log2(sizes.instances + 1)
)
CORRECT_DECISIONS = Granularity(
    "decisions",
    "counts the single decisions that are right",
    lambda sizes, _: math.log2(sizes.instances * (sizes.classes + 1) + 1),
    free_size_options=("duplicates",),
)
ONE_TABLE = Granularity(
    "one_table",
    "follows from the four counts of one class",
    lambda sizes, _: _table_bits(sizes.instances),
    free_size_options=("duplicates",),
)
POOLED_TABLE = Granularity(
    "pooled_table",
    "follows from four counts over all classes",
    _pooled_table_bits,
    free_size_options=("duplicates",),
)
CLASS_TABLES = Granularity(
    "class_tables", "follows from the four counts of each class", _class_tables_bits, free_size_options=("duplicates",)
)
CONFUSION = Granularity(
    "confusion",
    "follows from how often each class was taken for each; between label sets it may differ for every labelling",
    _confusion_bits,
    separating_sets=True,
)
INSTANCES = Granularity(
    "instances",
    "follows from how many instances have so many labels, so many predicted and so many of these right",
    _instances_bits,
    free_size_options=tuple(FREE_SIZE_OPTIONS),
)
HITS = Granularity(
    "hits",
    "follows from how many of the labels ranked first are right; with ties=average from the sizes of the ties too",
    _hits_bits,
    free_size_options=tuple(FREE_SIZE_OPTIONS),
)
LABEL_ORDER_PAIRS = Granularity(
    "places",
    "follows from how many pairs of an instance's labels stand in the wrong order",
    lambda sizes, _: _log2_multisets(_count_pair_values(sizes.classes), sizes.instances),
)
PAIRS = Granularity(
    "pairs",
    "counts the pairs of instances that stand in the right order",
    lambda sizes, _: math.log2(_count_pair_values(sizes.instances)),
)
PAIRS_BY_CLASS = Granularity(
    "pairs_by_class",
    "follows from how many pairs of instances stand in the right order, for each class",
    lambda sizes, _: sizes.classes * math.log2(_count_pair_values(sizes.instances)),
)
POOLED_PAIRS = Granularity(
    "pooled_pairs",
    "counts the pairs of single decisions that stand in the right order",
    lambda sizes, _: math.log2(_count_pair_values(sizes.instances * sizes.classes)),
)
PAIRS_OF_CLASSES = Granularity(
    "pairs_of_classes",
    "follows from how many pairs of instances stand in the right order, for each pair of classes",
    _class_pairs_bits,
)
CALIBRATION_BINS = Granularity("bins", "follows from how many instances of each bin are right", _calibration_bins_bits)
CALIBRATION_BINS_BY_CLASS = Granularity(
    "bins_by_class",
    "follows from how many instances of each bin are right, for each class",
    lambda sizes, settings: sizes.classes * _calibration_bins_bits(sizes, settings),
)
ORDER = Granularity(
    "order", "may differ for every labelling, for the order of the scores can encode it", _all_bits, separating=True
)
SCORE_VALUES = Granularity(
    "numbers", "may differ for every labelling, for the numbers sent can encode it", _all_bits, separating=True
)
INSTANCE_PARTITION = Granularity(
    "parts",
    "may differ for every labelling, for the division of the instances can encode it",
    _all_bits,
    separating=True,
)
LABEL_WEIGHTS = Granularity(
    "label_weights",
    "may differ for every labelling, for what labels or places weigh can encode it",
    _all_bits,
    separating=True,
)
