"""Decision rules: how hard labels follow from scores. A recipe names one with its fields."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.scoring.declaration.metric_syntax import format_decimal
from app.scoring.declaration.task import TASK_KINDS, TaskKind, TaskSpec
from app.scoring.evaluation_input import MISSING_CODE, EvaluationInput, Labels
from app.scoring.numeric.exact import total

Matrix = NDArray[np.float64]
Weights = NDArray[np.int64] | None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= 1e300


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 10**6


@dataclass(frozen=True, slots=True)
class DecisionRule:
    """A rule: the tasks that it is for, its meaning, and the fields that it takes with a check of their values."""

    tasks: tuple[TaskKind, ...]
    meaning: str
    fields: Mapping[str, Callable[[Any], bool]] = field(default_factory=dict)

    def accepts_field(self, name: str, value: Any) -> bool:
        """Whether the rule takes this field with this value."""
        return name in self.fields and self.fields[name](value)


DECISION_RULES: dict[str, DecisionRule] = {
    "argmax": DecisionRule(
        ("binary", "multiclass"),
        "the label with the highest score, the one declared first on ties; a single score of the positive label is compared with 1 minus that score",
    ),
    "threshold": DecisionRule(
        TASK_KINDS,
        "labels whose score is at least 'threshold' (a number, default 0.5), or greater with 'strict': true; in a binary task the positive label if its score reaches the threshold, else the other label; in a multiclass task the best label if its score reaches the threshold",
        {"threshold": _is_number, "strict": lambda value: isinstance(value, bool)},
    ),
    "top_k": DecisionRule(
        ("multilabel",),
        "the 'k' labels (a whole number) with the highest scores, those declared first on ties",
        {"k": _is_count},
    ),
    "top_n_positive": DecisionRule(
        ("binary",),
        "as many positives as the gold has: the instances with the highest scores, without those that are tied at the cut-off; an instance of weight w counts w times, and each split is decided separately",
    ),
}


@dataclass(frozen=True, slots=True)
class ConfiguredDecisionRule:
    """A rule with its fields, ready to be applied; `lower`: lower scores mean more confidence."""

    rule: str
    threshold: float = 0.5
    strict: bool = False
    k: int = 1
    lower: bool = False

    @classmethod
    def from_recipe(
        cls, spec: TaskSpec, decision: Mapping[str, Any] | None, *, single: bool, options: Mapping[str, str]
    ) -> "ConfiguredDecisionRule":
        """The rule of a recipe, or the default: the best label of exclusive classes, else each label that reaches 0.5.

        `single`: the file has only the score of the positive label; then the default is the threshold too.
        """
        default = "threshold" if spec.task == "multilabel" or (single and spec.task == "binary") else "argmax"
        fields = decision or {"rule": default}
        lower = options.get("score_direction") == "lower"
        k = int(fields.get("k", 1))
        return cls(fields["rule"], float(fields.get("threshold", 0.5)), bool(fields.get("strict", False)), k, lower)


def describe_rule(rule: ConfiguredDecisionRule) -> str:
    """The rule in words, with its threshold or k."""
    if rule.rule == "threshold":
        sign = ("<" if rule.lower else ">") + ("" if rule.strict else "=")
        return f"threshold (score {sign} {format_decimal(Decimal(repr(rule.threshold)))})"
    return f"top_k (k={rule.k})" if rule.rule == "top_k" else rule.rule


def decide_labels_with_gold(
    rule: ConfiguredDecisionRule, spec: TaskSpec, gold: Labels, scores: Matrix, weights: Weights = None
) -> Labels:
    """Call `decide_labels` with the number of positives counted in the gold of the same instances."""
    positives = 0
    if spec.positive_label is not None:
        is_positive = np.asarray(gold.codes == spec.classes.index(spec.positive_label))
        positives = int(is_positive.sum()) if weights is None else total(weights[is_positive])
    return decide_labels(rule, spec, scores, positives, weights)


def redecide_subset(rule: ConfiguredDecisionRule | None, case: EvaluationInput) -> EvaluationInput:
    """A subset of the instances, with `top_n_positive` applied to the subset alone.

    Other rules decide each instance separately, so the labels do not change; neither do they without a rule.
    """
    if rule is None or rule.rule != "top_n_positive" or case.scores is None:
        return case
    labels = decide_labels_with_gold(rule, case.spec, case.gold, case.scores, case.weights)
    return replace(case, predicted=labels)


def decide_labels(
    rule: ConfiguredDecisionRule, spec: TaskSpec, scores: Matrix, positives: int, weights: Weights = None
) -> Labels:
    """Hard labels for n × m scores in the order of the classes (binary tasks also: n × 1 for the positive label).

    An instance with a NaN score has no prediction. `positives` is how often the positive label occurs in gold; with
    `weights`, the total weight of these instances. Labels of a set come with the best first. Source: contract,
    section 2; catalogue, row 36.
    """
    present = np.asarray(~np.isnan(scores).any(axis=1))
    oriented = -scores if rule.lower else scores
    if spec.task == "multilabel":
        return _decide_label_sets(rule, oriented, present)
    if spec.task == "binary" and (oriented.shape[1] == 1 or rule.rule != "argmax"):
        codes = _decide_binary(rule, spec, oriented, present, positives=positives, weights=weights)
    else:
        codes = np.argmax(np.where(present[:, None], oriented, 0.0), axis=1).astype(np.int32)
        if rule.rule == "threshold":
            best = oriented[np.arange(len(codes)), codes]
            codes[~_reaches_threshold(rule, best)] = MISSING_CODE
    codes[~present] = MISSING_CODE
    return Labels(codes)


def _reaches_threshold(rule: ConfiguredDecisionRule, oriented: Matrix) -> NDArray[np.bool_]:
    """Whether scores reach the threshold; they are oriented already, so that higher is better."""
    threshold = -rule.threshold if rule.lower else rule.threshold
    return np.asarray(oriented > threshold if rule.strict else oriented >= threshold)


def _decide_binary(
    rule: ConfiguredDecisionRule,
    spec: TaskSpec,
    oriented: Matrix,
    present: NDArray[np.bool_],
    *,
    positives: int,
    weights: Weights,
) -> NDArray[np.int32]:
    code = spec.classes.index(spec.positive_label or "")
    scores = oriented[:, 0] if oriented.shape[1] == 1 else oriented[:, code]
    if rule.rule == "top_n_positive":
        is_positive = _select_top(scores, present, positives, weights)
    elif rule.rule == "argmax":  # of s and 1 - s; on a tie the class declared first wins
        middle = -0.5 if rule.lower else 0.5
        is_positive = scores >= middle if code == 0 else scores > middle
    else:
        is_positive = _reaches_threshold(rule, scores)
    return np.where(is_positive, code, 1 - code).astype(np.int32)


def _select_top(scores: Matrix, present: NDArray[np.bool_], count: int, weights: Weights) -> NDArray[np.bool_]:
    """The `count` best; leaves out all scores that are tied across the cut-off, so that the row order cannot matter."""
    values, positions = np.unique(-scores[present], return_inverse=True)  # the best first
    sizes = np.zeros(len(values), dtype=np.int64)
    np.add.at(sizes, positions, 1 if weights is None else weights[present])
    selected = np.zeros(len(scores), dtype=bool)
    selected[present] = (np.cumsum(sizes) <= count)[positions]
    return selected


def _decide_label_sets(rule: ConfiguredDecisionRule, oriented: Matrix, present: NDArray[np.bool_]) -> Labels:
    n, m = oriented.shape
    if rule.rule == "top_k":
        order = np.argsort(-np.where(present[:, None], oriented, 0.0), axis=1, kind="stable")[:, : min(rule.k, m)]
        sizes = np.where(present, order.shape[1], 0)
        codes = order[present].ravel()
    else:
        rows, codes = np.nonzero(_reaches_threshold(rule, oriented) & present[:, None])
        codes = codes[np.lexsort((codes, -oriented[rows, codes], rows))]
        sizes = np.bincount(rows, minlength=n)
    return Labels(codes.astype(np.int32), np.concatenate([[0], np.cumsum(sizes)]))
