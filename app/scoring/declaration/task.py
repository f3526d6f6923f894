"""What scoring must know about a task besides the labels themselves."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from app.scoring.hierarchy.hierarchy import Hierarchy

TaskKind = Literal["binary", "multiclass", "multilabel"]
TASK_KINDS: tuple[TaskKind, ...] = get_args(TaskKind)


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """A task with its vocabulary: `classes` in declared order, NFC strings, each once.

    `positive_label` is the class that a binary measure speaks of (required for binary tasks, one of `classes`).
    `train_frequencies` counts the training labels (needed by the `lfb_train` averages);
    `class_weights` are non-negative and need not sum to 1 (used by `weighted_accuracy`).
    `cost_matrix` holds by gold and predicted label what such an answer costs (used by `expected_cost`).
    """

    task: TaskKind
    classes: tuple[str, ...]
    positive_label: str | None = None
    train_frequencies: Mapping[str, int] | None = None
    class_weights: Mapping[str, float] | None = None
    hierarchy: Hierarchy | None = None
    cost_matrix: Mapping[str, Mapping[str, float]] | None = None
