"""The most common metrics by task, which lists of all metrics show first."""

from collections.abc import Sequence
from typing import Any

from app.scoring.declaration.metric import MetricCall
from app.scoring.declaration.task import TaskKind

COMMON_METRIC_KEYS: dict[TaskKind, tuple[str, ...]] = {
    "binary": (
        "accuracy",
        "balanced_accuracy",
        "precision",
        "recall",
        "specificity",
        "f1",
        "f1_macro",
        "f1_of_averages_macro",
        "mcc",
        "cohen_kappa",
        "auc",
        "average_precision",
    ),
    "multiclass": (
        "accuracy",
        "balanced_accuracy",
        "precision_macro",
        "recall_macro",
        "f1_macro",
        "f1_of_averages_macro",
        "f1_weighted",
        "mcc",
        "cohen_kappa",
        "auc_ovr_macro",
        "auc_ovo_macro",
        "average_precision_macro",
    ),
    "multilabel": (
        "subset_accuracy",
        "hamming_loss",
        "jaccard_samples",
        "precision_micro",
        "recall_micro",
        "f1_micro",
        "f1_macro",
        "f1_of_averages_macro",
        "f1_samples",
        "auc_macro",
        "average_precision_macro",
        "ranking_loss",
    ),
}
"""Keys of the catalogue in display order; the two variants of macro F1 are adjacent."""


def select_common_metrics(task: TaskKind, calls: Sequence[MetricCall]) -> list[MetricCall]:
    """The calls of common metrics of the task, in display order."""
    by_key = {call.metric.key: call for call in calls}
    return [by_key[key] for key in COMMON_METRIC_KEYS[task] if key in by_key]


def usual_recipe(task: str) -> dict[str, Any]:
    """A recipe to begin with: F1 ranks, because accuracy hides rare classes, and accuracy is shown beside it.

    An unknown task gets that of multiclass tasks, so that its own fault is the one that is reported.
    """
    first = {"binary": "f1", "multilabel": "f1_micro"}.get(task, "f1_macro")
    others = ["f1_macro", "subset_accuracy"] if task == "multilabel" else ["accuracy", "mcc"]
    return {"primary": first, "metrics": [first, *others]}
