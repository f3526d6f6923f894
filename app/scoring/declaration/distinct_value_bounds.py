"""Bounds how many values a metric can take for fixed predictions, and so how much a value can reveal about the gold.

A participant knows the predictions, so a value reveals only which of the possible values occurred.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.scoring.declaration.metric import MetricCall

CallSettings = Mapping[str, str]
"""The parameters of a metric and its convention options, by name."""
FREE_SIZE_OPTIONS = {"unknown_label": "count_as_fp", "duplicates": "multiset"}
"""Conventions under which a predicted set may have any size: unknown labels or repetitions enlarge it."""


@dataclass(frozen=True, slots=True)
class GoldSize:
    """The size of the gold: instances, classes, and whether an instance has a set of classes (`multilabel`) or one."""

    instances: int
    classes: int
    multilabel: bool = False

    @property
    def labels(self) -> int:
        """The number of unknowns: one label per instance, or one yes/no decision per instance and class."""
        return self.instances * self.classes if self.multilabel else self.instances

    @property
    def bits_per_label(self) -> float:
        """The base-2 logarithm of the number of values of one unknown."""
        return 1.0 if self.multilabel else math.log2(max(self.classes, 1))

    @property
    def bits(self) -> float:
        """The base-2 logarithm of the number of possible labellings."""
        return self.labels * self.bits_per_label


@dataclass(frozen=True, slots=True)
class Granularity:
    """One way in which values depend on labels.

    `meaning` completes the sentence "its value …". `count` returns the base-2 logarithm of the largest number of values
    for fixed predictions if all instances weigh the same. `separating`: every labelling may have a value of its own.
    `separating_sets`: the same for label sets only. `free_size_options` names the conventions of FREE_SIZE_OPTIONS
    under which label sets separate: freely chosen sizes of predicted sets can encode the labelling, and under
    `duplicates` repetitions in the gold can, too.
    """

    name: str
    meaning: str
    count: Callable[[GoldSize, CallSettings], float]
    separating: bool = False
    separating_sets: bool = False
    free_size_options: tuple[str, ...] = ()

    def separates(self, call: "MetricCall | None", *, sets: bool) -> bool:
        """Whether every labelling may have a value of its own; `sets`: instances have sets of labels."""
        free = any(name in self.free_size_options for name in active_free_size_options(call))
        return self.separating or (sets and (self.separating_sets or free))

    def bits(self, sizes: GoldSize, call: "MetricCall | None" = None, *, weighted: bool = False) -> float:
        """The bits that a value can hold at full precision; with instance weights, a sum can identify every label."""
        if weighted or self.separates(call, sets=sizes.multilabel):
            return sizes.bits
        settings: CallSettings = {} if call is None else {**_relevant_options(call), **call.params}
        return max(0.0, min(sizes.bits, self.count(sizes, settings)))


def active_free_size_options(call: "MetricCall | None") -> list[str]:
    """The conventions of FREE_SIZE_OPTIONS that are active for a metric that has them."""
    relevant = {} if call is None else _relevant_options(call)
    return [name for name, value in FREE_SIZE_OPTIONS.items() if relevant.get(name) == value]


def _relevant_options(call: "MetricCall") -> CallSettings:
    return {name: call.options[name] for name in call.metric.options}


def _log2_multisets(kinds: int, size: int) -> float:
    """log2 of the number of multisets of this size from this number of kinds."""
    return _log2_binomial(size + kinds - 1, min(size, kinds - 1))


def _log2_binomial(n: int, k: int) -> float:
    """log2 of the binomial coefficient; an upper bound for very large n, where the log-gammas would cancel out."""
    if not 0 < k < n:
        return 0.0
    if n > 10**12:
        return k * math.log2(math.e * n / k)
    return (math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)) / math.log(2)


def _table_bits(decisions: float) -> float:
    """One 2×2 table: with p predicted positives of n, TP is one of p + 1 numbers and FN one of n - p + 1."""
    return 2 * math.log2(decisions / 2 + 1)


def _count_pair_values(decisions: int) -> int:
    """AUC: with p positives of n, 2U is a whole number from 0 to 2 p (n - p); this is the count summed over p."""
    return (decisions**3 - decisions) // 3 + decisions + 1


def _class_tables_bits(sizes: GoldSize, _: CallSettings) -> float:
    n, classes = sizes.instances, sizes.classes
    if sizes.multilabel:
        return (classes + 1) * _table_bits(n)  # the empty set may count as a class
    return min(_log2_multisets(classes, n) + classes * math.log2(n / classes + 1), _cells_bits(sizes, classes + 1))


def _pooled_table_bits(sizes: GoldSize, settings: CallSettings) -> float:
    decisions = sizes.instances * (sizes.classes + 1)
    # Unknown labels displace true negatives: one more count that can vary.
    displaced = sizes.multilabel and settings.get("unknown_label") == "count_as_fp"
    return _table_bits(decisions) + (math.log2(decisions + 1) if displaced else 0.0)


def _confusion_bits(sizes: GoldSize, _: CallSettings) -> float:
    if sizes.multilabel:
        return sizes.bits
    return _cells_bits(sizes, sizes.classes + 2)  # a prediction may be missing, or none of the classes


def _cells_bits(sizes: GoldSize, columns: int) -> float:
    """A table of gold against this number of distinct predictions."""
    per_column = sizes.instances / columns  # equally frequent predictions allow the most tables
    log_tables = math.lgamma(per_column + sizes.classes) - math.lgamma(per_column + 1) - math.lgamma(sizes.classes)
    return columns * log_tables / math.log(2)


def _instances_bits(sizes: GoldSize, _: CallSettings) -> float:
    """Each instance has one of C(classes + 4, 3) triples of |P|, |Y| and |P∩Y|; the empty set may count as a class."""
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


def _counting(name: str, meaning: str, count: Callable[[GoldSize, CallSettings], float]) -> Granularity:
    """A function of label counts; where repetitions of labels count, the gold can encode its labelling in them."""
    return Granularity(name, meaning, count, free_size_options=("duplicates",))


def _of_label_sets(name: str, meaning: str, count: Callable[[GoldSize, CallSettings], float]) -> Granularity:
    """A function of the label sets of single instances, whose sizes can encode the labelling."""
    return Granularity(name, meaning, count, free_size_options=tuple(FREE_SIZE_OPTIONS))


def _separating(name: str, code: str) -> Granularity:
    """A metric that may have a value of its own for every labelling, because `code` can encode the labelling."""
    meaning = f"may differ for every labelling, because {code} can encode it"
    return Granularity(name, meaning, lambda sizes, _: sizes.bits, separating=True)


CORRECT_INSTANCES = Granularity(
    "right", "depends on the number of correct instances", lambda sizes, _: math.log2(sizes.instances + 1)
)
CORRECT_DECISIONS = _counting(
    "decisions",
    "depends on the number of correct decisions, one per instance and label",
    lambda sizes, _: math.log2(sizes.instances * (sizes.classes + 1) + 1),
)
ONE_TABLE = _counting(
    "one_table", "depends on the four counts of one class", lambda sizes, _: _table_bits(sizes.instances)
)
POOLED_TABLE = _counting("pooled_table", "depends on the four counts summed over all classes", _pooled_table_bits)
CLASS_TABLES = _counting("class_tables", "depends on the four counts of each class", _class_tables_bits)
CONFUSION = Granularity(
    "confusion",
    "depends on the confusion matrix; for label sets it may differ for every labelling",
    _confusion_bits,
    separating_sets=True,
)
INSTANCES = _of_label_sets(
    "instances",
    "depends on how many instances have each combination of numbers of gold, predicted and correct labels",
    _instances_bits,
)
HITS = _of_label_sets(
    "hits",
    "depends on how many of the top-ranked labels are correct; with ties=average also on the sizes of the ties",
    _hits_bits,
)
LABEL_ORDER_PAIRS = Granularity(
    "places",
    "depends on how many label pairs of each instance are in the wrong order",
    lambda sizes, _: _log2_multisets(_count_pair_values(sizes.classes), sizes.instances),
)
PAIRS = Granularity(
    "pairs",
    "depends on how many instance pairs are in the correct order",
    lambda sizes, _: math.log2(_count_pair_values(sizes.instances)),
)
PAIRS_BY_CLASS = Granularity(
    "pairs_by_class",
    "depends on how many instance pairs are in the correct order, for each class",
    lambda sizes, _: sizes.classes * math.log2(_count_pair_values(sizes.instances)),
)
POOLED_PAIRS = Granularity(
    "pooled_pairs",
    "depends on how many pairs of decisions, each about an instance and a label, are in the correct order",
    lambda sizes, _: math.log2(_count_pair_values(sizes.instances * sizes.classes)),
)
PAIRS_OF_CLASSES = Granularity(
    "pairs_of_classes",
    "depends on how many instance pairs are in the correct order, for each pair of classes",
    _class_pairs_bits,
)
CALIBRATION_BINS = Granularity("bins", "depends on how many instances of each bin are correct", _calibration_bins_bits)
CALIBRATION_BINS_BY_CLASS = Granularity(
    "bins_by_class",
    "depends on how many instances of each bin are correct, for each class",
    lambda sizes, settings: sizes.classes * _calibration_bins_bits(sizes, settings),
)
ORDER = _separating("order", "the order of the scores")
SCORE_VALUES = _separating("numbers", "the submitted scores")
INSTANCE_PARTITION = _separating("parts", "the partition of the instances")
LABEL_WEIGHTS = _separating("label_weights", "the weights of labels or positions")
