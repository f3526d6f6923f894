"""How the conventions apply: 0/0, the labels that enter a mean, and notes on where a rule was applied."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from app.scoring.declaration.metric import Direction, MetricCall
from app.scoring.declaration.options import excluded_labels
from app.scoring.tally import ConfusionCounts, EvaluationContext, Tally

Mask = NDArray[np.bool_]
MAX_LISTED_NAMES = 10  # a note lists this many names, then gives the number of the rest


class UndefinedError(Exception):
    """The value does not exist for these data; the message is the reason."""


def requested_label(ws: EvaluationContext, call: MetricCall) -> str:
    """The class to evaluate: `label`, else the positive label of a binary task. Raises UndefinedError if none is set."""
    label = call.params.get("label") or (ws.spec.positive_label if ws.spec.task == "binary" else None)
    if label is None:
        raise UndefinedError("it needs label=… to select a class")
    return label


def label_position(label: str, names: Sequence[str]) -> int:
    """The position of a class among these; raises UndefinedError where it is not declared."""
    if label not in names:
        raise UndefinedError(f"'{label}' is not a declared class")
    return names.index(label)


def zero_division_value(call: MetricCall, direction: Direction, subject: str, *, lowest: float = 0.0) -> float | None:
    """The value of 0/0 under the zero-division rule of the call; None means that it is left out (docs/conventions.md).

    `subject` names what is 0/0; under the rule `error` it becomes the reason of the UndefinedError. `lowest` is the worst
    value where higher is better.
    """
    rule = call.options["zero_division"]
    if rule == "error":
        raise UndefinedError(f"{subject}, and zero_division=error does not replace it")
    if rule == "skip":
        return None
    if rule == "worst":
        return lowest if direction == "higher" else 1.0
    return float(rule)


def ratio_or_substitute(
    call: MetricCall, direction: Direction, numerator: int, denominator: int, subject: str, *, lowest: float = 0.0
) -> tuple[float, tuple[str, ...]]:
    """One quotient of integers under the zero-division rule, with a note where the rule was applied."""
    if denominator:
        return numerator / denominator, ()
    value = zero_division_value(call, direction, f"{subject} is 0/0", lowest=lowest)
    if value is None:
        raise UndefinedError(f"{subject} is 0/0, and zero_division=skip leaves nothing")
    return value, (f"{subject} is 0/0; zero_division={call.options['zero_division']} makes it {value:g}",)


def join_names(names: Iterable[str]) -> str:
    """Names joined for a sentence; a long list is cut and ends with the number of omitted names."""
    names = list(names)
    shown = ", ".join(names[:MAX_LISTED_NAMES])
    return shown if len(names) <= MAX_LISTED_NAMES else f"{shown} and {len(names) - MAX_LISTED_NAMES} more"


def class_names(tally: Tally, mask: Mask) -> str:
    """The names of the classes in a mask, for a note."""
    return join_names(tally.names[position] for position in np.flatnonzero(mask))


def excluded_mask(names: Sequence[str], call: MetricCall) -> Mask:
    """The classes that exclude_labels names; raises UndefinedError for a name that is not a declared class."""
    excluded = excluded_labels(call.options["exclude_labels"], names)
    mask = np.zeros(len(names), dtype=bool)
    if not excluded:
        return mask
    position = {name: index for index, name in enumerate(names)}
    undeclared = [name for name in excluded if name not in position]
    if undeclared:
        raise UndefinedError(f"exclude_labels names labels that are not declared: {join_names(undeclared)}")
    mask[[position[name] for name in excluded]] = True
    return mask


def occurring_labels(tally: Tally, call: MetricCall) -> tuple[Mask, list[str]]:
    """The classes that occur in gold and are not excluded, with notes on the others.

    Raises UndefinedError where there are none.
    """
    occurs = np.asarray(tally.classes.support > 0)
    left_out = excluded_mask(tally.names, call)
    absent, mask = ~occurs & ~left_out, occurs & ~left_out
    if not mask.any():
        raise UndefinedError("no label that occurs in gold is left to average over")
    notes = [f"absent from gold, so left out of the average: {class_names(tally, absent)}"] if absent.any() else []
    if left_out.any():
        notes.append(f"left out by exclude_labels: {class_names(tally, left_out)}")
    return mask, notes


def averaged_labels(
    ws: EvaluationContext, tally: Tally, call: MetricCall, *, by_label_set: bool, absent_matters: bool = True
) -> tuple[Mask, list[str]]:
    """The classes that enter an average, and notes on those that do not."""
    mask = ~excluded_mask(tally.names, call)
    notes = []
    if not mask.all():
        notes.append(f"left out by exclude_labels: {class_names(tally, ~mask)}")
    if tally.unseen is not None and (mask & tally.unseen).any():
        notes.append(
            f"without a known gold cell, so left out of the average: {class_names(tally, mask & tally.unseen)}"
        )
        mask = mask & ~tally.unseen
    if by_label_set:
        allowed = _label_set_mask(ws, tally, call.options["label_set"])
        if (mask & ~allowed).any():
            notes.append(f"left out by label_set={call.options['label_set']}: {class_names(tally, mask & ~allowed)}")
        mask = mask & allowed
    absent = mask & (tally.classes.support == 0) & absent_matters
    if absent.any() and call.options["absent_gold"] == "skip":
        notes.append(f"absent from gold and left out by absent_gold=skip: {class_names(tally, absent)}")
        mask = mask & ~absent
    elif absent.any():
        notes.append(f"absent from gold: {class_names(tally, absent)}")
    if not mask.any():
        raise UndefinedError("no label is left to average over")
    return mask, notes


def _label_set_mask(ws: EvaluationContext, tally: Tally, rule: str) -> Mask:
    counts = tally.classes
    if rule == "gold":
        return np.asarray(counts.support > 0)
    if rule == "predicted":
        return np.asarray(counts.predicted > 0)
    if rule == "gold_or_predicted":
        return np.asarray((counts.support > 0) | (counts.predicted > 0))
    if rule == "training":
        return np.asarray(train_weights(ws, tally.names) > 0)
    return np.ones(len(tally.names), dtype=bool)


def train_weights(ws: EvaluationContext, names: Sequence[str]) -> NDArray[np.int64]:
    """The training frequency of each class, 0 for a class absent from the training data. Raises UndefinedError."""
    if ws.train_frequencies is None:
        raise UndefinedError("no training frequencies of the labels were given")
    if not ws.train_frequencies.any():
        raise UndefinedError("the training frequencies of all classes are 0")
    # the empty set as a class is not in the training counts
    extra_classes = len(names) - len(ws.train_frequencies)
    return np.append(ws.train_frequencies, np.zeros(extra_classes, dtype=np.int64))


def table_of(counts: ConfusionCounts, position: int) -> tuple[int, int, int, int]:
    """One class's tp, fp, fn, tn as Python integers."""
    tp, fp, fn, tn = (int(column[position]) for column in counts.columns)
    return tp, fp, fn, tn
