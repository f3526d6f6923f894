"""The inputs that a metric may need: what each need means, and the reason given if the data do not meet it."""

from collections.abc import Iterable

from app.errors import InvalidContent
from app.scoring.declaration.metric import (
    COST_MATRIX,
    FOLDS,
    GROUPS,
    HIERARCHY,
    LABELS,
    PROBABILITIES,
    RANKING,
    SCORES,
    TRAIN_FREQUENCIES,
    UNKNOWN_CELLS,
    Metric,
    MetricCall,
)
from app.scoring.declaration.task import TaskSpec
from app.scoring.evaluation_input import EvaluationInput

NEED_MEANINGS = {
    LABELS: "hard labels, sent or derived from scores by the decision rule",
    SCORES: "a score for each class, or for the positive label",
    PROBABILITIES: "scores that are probabilities",
    RANKING: "scores, or lists of labels with the most confident first",
    TRAIN_FREQUENCIES: "how often each label occurs in the training data",
    HIERARCHY: "the parents of each class",
    COST_MATRIX: "the cost of each wrong answer",
    FOLDS: "the fold of each instance",
    GROUPS: "the group of each instance",
}
_UNMET_REASONS = {
    SCORES: "the predictions have no scores",
    PROBABILITIES: "the scores of the predictions are not probabilities",
    RANKING: "the predictions have neither scores nor ordered lists of labels",
    TRAIN_FREQUENCIES: "no training frequencies of the labels were given",
    HIERARCHY: "no hierarchy of the classes was given",
    COST_MATRIX: "no cost matrix was given",
    FOLDS: "no folds of the instances were given",
    GROUPS: "no groups of the instances were given",
}


UNKNOWN_CELLS_REMEDY = "Set the option unknown_cells=skip, which leaves these cells out of every count, or give gold without unknown cells."
_NEEDS_OPTION = "the gold has unknown cells, and unknown_cells=reject does not leave them out"


PUBLIC_UNMET_REASONS = frozenset(_UNMET_REASONS.values())
"""Reasons that do not depend on any gold label, so participants may read them."""


def needs_met(spec: TaskSpec, *, scores: bool = False, folds: bool = False, groups: bool = False) -> frozenset[str]:
    """The needs met by the task and by the files; PROBABILITIES are assumed to be met if there are scores."""
    has = {
        LABELS: True,
        SCORES: scores,
        PROBABILITIES: scores,
        RANKING: scores or spec.task == "multilabel",
        TRAIN_FREQUENCIES: spec.train_frequencies is not None,
        HIERARCHY: spec.hierarchy is not None,
        COST_MATRIX: spec.cost_matrix is not None,
        FOLDS: folds,
        GROUPS: groups,
    }
    return frozenset(need for need, holds in has.items() if holds)


def needs_met_by(case: EvaluationInput) -> frozenset[str]:
    """The needs that an evaluation input meets."""
    scores, folds, groups = (part is not None for part in (case.scores, case.folds, case.groups))
    met = needs_met(case.spec, scores=scores, folds=folds, groups=groups)
    return met if case.probabilities else met - {PROBABILITIES}


def unknown_cells_reason(call: MetricCall) -> str | None:
    """Why a metric has no value for gold with unknown cells; None if it leaves them out."""
    if UNKNOWN_CELLS not in call.metric.options:
        return f"{call.metric.key} is not defined for gold with unknown cells"
    return _NEEDS_OPTION if call.options[UNKNOWN_CELLS] == "reject" else None


def require_unknown_cells_option(calls: Iterable[MetricCall]) -> None:
    """Raise InvalidContent if one of these metrics could leave out unknown cells and does not say that it should."""
    for call in calls:
        if unknown_cells_reason(call) == _NEEDS_OPTION:
            raise InvalidContent(
                f"The gold has unknown cells, and {call.text} has the option unknown_cells=reject.",
                remedy=UNKNOWN_CELLS_REMEDY,
            )


def unmet_need_reason(metric: Metric, has: frozenset[str]) -> str | None:
    """Why a metric has no value if only these needs are met; None if it has one."""
    return next((_UNMET_REASONS[need] for need in metric.needs if need not in has), None)
