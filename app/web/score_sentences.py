"""What a score is computed from, in one sentence, and why the report has no counts of that, in another."""

from app.scoring.declaration.metric import FOLDS, GROUPS, HIERARCHY, LABELS, RANKING, SCORES, Metric
from app.scoring.metrics import FAMILY_BY_KEY

CURVE_FAMILIES = frozenset({"auc", "precision_recall"})
"""The families whose metrics compare the scores of instances that have a class with the scores of those that have not."""

_OF_GRANULARITY = {
    "right": "The score is computed from how many instances are right.",
    "decisions": "The score is computed from decisions: for each instance and class, whether the instance has the class.",
    "one_table": "The score is computed from the counts of one class against all others.",
    "pooled_table": "The score is computed from the counts of all classes, which are added up first.",
    "class_tables": "The score is computed from the counts of each class.",
    "confusion": "The score is computed from the confusion matrix: how often each class was taken for each other.",
    "instances": "Each instance has a value of its own, and the score is the mean of these values.",
    "hits": "The score is computed from which of the labels that are ranked first are right, instance by instance.",
    "places": "The score is computed from the order of the labels of each instance by their scores.",
    "pairs": "The score is computed from pairs of instances: how often the one that has the class has the higher score.",
    "pairs_by_class": "The score is computed from pairs of instances, for each class: how often the one that has the "
    "class has the higher score.",
    "pooled_pairs": "The score is computed from pairs of decisions of all classes: how often the one that is true has "
    "the higher score.",
    "pairs_of_classes": "The score is computed from pairs of instances, for each pair of classes: how often their scores "
    "tell the two classes apart.",
    "bins": "The score is computed from bins of predicted probabilities: how often the forecasts of a bin are right, "
    "against how often they say so.",
    "bins_by_class": "The score is computed from bins of predicted probabilities, for each class: how often the "
    "forecasts of a bin are right, against how often they say so.",
    "order": "The score is computed from the order of the labels of each instance.",
    "numbers": "The score is computed from the predicted probabilities of each instance.",
    "label_weights": "The score is computed from the labels that are ranked first, each with a weight of its own.",
    "parts": "The score is computed from parts of the instances, one by one.",
}
"""By the name of the granularity; `source_of` looks at more of the declaration first."""
_OF_PATH = {
    "status": "The score is computed from how many instances are fully, partly and not at all right.",
    "empty": "The score is computed from how many instances have no predicted label.",
}
_OF_SUMS = {
    "support": "The score is computed from how many gold labels the instances have.",
    "predicted": "The score is computed from how many predicted labels the instances have.",
}
_OF_NEED = {
    HIERARCHY: "The score is computed from the classes of each instance and their ancestors in the hierarchy.",
    FOLDS: "The score is computed from the counts of each fold of the instances.",
    GROUPS: "The score is computed from how many predictions are right in each group of instances.",
}
_ORDER_OF_INSTANCES = "The score is computed from the order of the instances by their scores."
_K_BEST = "The score is computed from the k labels of each instance that are ranked first, which count as predicted."

_NO_COUNTS_FOR_NEED = {
    HIERARCHY: "The report does not count ancestors, so no counts are shown.",
    FOLDS: "The report has the folds as a table, in its part cross_validation, so no counts are shown here.",
    GROUPS: "The report does not count instances by group, so no counts are shown.",
}
_NO_COUNTS = {
    "places": "The report does not have the order of the labels of each instance, so no counts are shown.",
    "order": "The report does not have the order of the labels of each instance, so no counts are shown.",
    "hits": "The report does not count right labels by rank, so no counts are shown.",
    "label_weights": "The report does not count right labels by rank, so no counts are shown.",
    "numbers": "The score adds up one number for each instance, which the report does not list, so no counts are shown.",
    "bins_by_class": "The report has the bins of one label only, so no counts are shown.",
}
NO_INSTANCES = "The report does not list instances one by one, so no counts are shown."
_NO_K_BEST = "The report counts the labels that were sent or decided, not the k best of each instance."


def source_of(metric: Metric) -> str:
    """What the scores of a metric are computed from."""
    counted = metric.counted
    for need, sentence in _OF_NEED.items():
        if need in metric.needs:
            return sentence
    if is_of_k_best(metric):
        return _K_BEST
    if counted.path:
        return _OF_PATH[counted.path[1]]
    if counted.sums and counted.sums[0] in _OF_SUMS:
        return _OF_SUMS[counted.sums[0]]
    if metric.granularity.name == "order" and draws_curves(metric):
        return _ORDER_OF_INSTANCES
    return _OF_GRANULARITY[metric.granularity.name]


def no_counts_of(metric: Metric) -> str:
    """Why no counts are shown of a metric of which no report has any."""
    for need, sentence in _NO_COUNTS_FOR_NEED.items():
        if need in metric.needs:
            return sentence
    if is_of_k_best(metric):
        return _NO_K_BEST
    return _NO_COUNTS.get(metric.granularity.name, NO_INSTANCES)


def is_of_k_best(metric: Metric) -> bool:
    """Whether it is a metric of hard labels that takes the k labels ranked first as predicted."""
    return RANKING in metric.needs and bool(metric.counted.measures or metric.counted.sums or metric.counted.path)


def draws_curves(metric: Metric) -> bool:
    """Whether it compares instances that have a class with those that have not, as ROC and precision-recall curves do."""
    return SCORES in metric.needs and FAMILY_BY_KEY[metric.key].name in CURVE_FAMILIES


def counts_labels(metric: Metric) -> bool:
    """Whether it needs hard labels, and nothing else that a report does not count."""
    return LABELS in metric.needs and not any(need in metric.needs for need in _OF_NEED)
