"""The declaration of a scoring task: its kind, its classes and its metadata."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from app.scoring.hierarchy.hierarchy import Hierarchy

TaskKind = Literal["binary", "multiclass", "multilabel"]
TASK_KINDS: tuple[TaskKind, ...] = get_args(TaskKind)


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """A task with its vocabulary: `classes` are distinct NFC strings in declared order.

    `positive_label` is the class that binary measures are about (required for binary tasks, one of `classes`).
    `train_frequencies` are the label counts of the training data (used by the `lfb_train` averages). `class_weights`
    are non-negative and need not sum to 1 (used by `weighted_accuracy`). `cost_matrix` has the cost of each answer by
    gold label, then predicted label (used by `expected_cost`).
    """

    task: TaskKind
    classes: tuple[str, ...]
    positive_label: str | None = None
    train_frequencies: Mapping[str, int] | None = None
    class_weights: Mapping[str, float] | None = None
    hierarchy: Hierarchy | None = None
    cost_matrix: Mapping[str, Mapping[str, float]] | None = None
