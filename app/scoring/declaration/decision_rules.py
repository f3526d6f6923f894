"""The rules by which hard labels follow from scores, declared with what each takes; a recipe names one."""

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
    """A rule: for which tasks, what it means, and the fields that it takes beside its name."""

    tasks: tuple[TaskKind, ...]
    meaning: str
    fields: Mapping[str, Callable[[Any], bool]] = field(default_factory=dict)

    def accepts_field(self, name: str, value: Any) -> bool:
        """Whether this field with this value belongs to the rule."""
        return name in self.fields and self.fields[name](value)


DECISION_RULES: dict[str, DecisionRule] = {
    "argmax": DecisionRule(
        ("binary", "multiclass"),
        "the label with the highest score, the one declared first on ties; a single score of the positive label is held against 1 less it",
    ),
    "threshold": DecisionRule(
        TASK_KINDS,
        "labels whose score is at least 'threshold' (a number, 0.5 unless said), or above it with 'strict': true; of two classes the positive one if its score reaches it, else the other; of more exclusive classes the best one, if it reaches it",
        {"threshold": _is_number, "strict": lambda value: isinstance(value, bool)},
    ),
    "top_k": DecisionRule(
        ("multilabel",),
        "the 'k' labels (a whole number) with the highest scores, those declared first on ties",
        {"k": _is_count},
    ),
    "top_n_positive": DecisionRule(
        ("binary",),
        "as many positives as the gold has, those with the highest scores; those tied at the cut are left out; an instance counts as often as it weighs, and each split is decided by its own rows",
    ),
}


@dataclass(frozen=True, slots=True)
class ConfiguredDecisionRule:
    """A rule with its fields, ready to be applied; `lower`: lower scores speak for a label."""

    rule: str
    threshold: float = 0.5
    strict: bool = False
    k: int = 1
    lower: bool = False

    @classmethod
    def from_recipe(
        cls, spec: TaskSpec, given: Mapping[str, Any] | None, *, single: bool, options: Mapping[str, str]
    ) -> "ConfiguredDecisionRule":
        """The rule of a recipe, or the default: the best label of exclusive classes, else each that reaches 0.5.

        `single`: the file gives the score of the positive label alone, so the default is the threshold too.
        """
        default = "threshold" if spec.task == "multilabel" or (single and spec.task == "binary") else "argmax"
        given = given or {"rule": default}
        lower = options.get("score_direction") == "lower"
        k = int(given.get("k", 1))
        return cls(given["rule"], float(given.get("threshold", 0.5)), bool(given.get("strict", False)), k, lower)


def describe_rule(rule: ConfiguredDecisionRule) -> str:
    """The rule in words, with its number."""
    if rule.rule == "threshold":
        sign = ("<" if rule.lower else ">") + ("" if rule.strict else "=")
        return f"threshold (score {sign} {format_decimal(Decimal(repr(rule.threshold)))})"
    return f"top_k (k={rule.k})" if rule.rule == "top_k" else rule.rule


def decide_labels_with_gold(
    rule: ConfiguredDecisionRule, spec: TaskSpec, gold: Labels, scores: Matrix, weights: Weights = None
) -> Labels:
    """The hard labels that `decide_labels` makes of scores, knowing the gold of the same instances and what they weigh."""
    positives = 0
    if spec.positive_label is not None:
        chosen = np.asarray(gold.codes == spec.classes.index(spec.positive_label))
        positives = int(chosen.sum()) if weights is None else total(weights[chosen])
    return decide_labels(rule, spec, scores, positives, weights)


def redecide_subset(rule: ConfiguredDecisionRule | None, case: EvaluationInput) -> EvaluationInput:
    """A case of some of the rows with what these rows alone decide; without a rule the labels are those sent."""
    if rule is None or rule.rule != "top_n_positive" or case.scores is None:
        return case
    labels = decide_labels_with_gold(rule, case.spec, case.gold, case.scores, case.weights)
    return replace(case, predicted=labels)


def decide_labels(
    rule: ConfiguredDecisionRule, spec: TaskSpec, scores: Matrix, positives: int, weights: Weights = None
) -> Labels:
    """Hard labels of n × m scores in the order of the classes (binary: or n × 1 of the positive label).

    Where scores are NaN nothing was predicted. `positives` is how often the positive label occurs in gold; with
    `weights`, its instances count as often as they weigh. Labels of a set come with the best first. Source: contract,
    section 2; catalogue, row 36.
    """
    given = np.asarray(~np.isnan(scores).any(axis=1))
    best = -scores if rule.lower else scores
    if spec.task == "multilabel":
        return _decide_label_sets(rule, best, given)
    if spec.task == "binary" and (best.shape[1] == 1 or rule.rule != "argmax"):
        codes = _decide_binary(rule, spec, best, given, positives=positives, weights=weights)
    else:
        codes = np.argmax(np.where(given[:, None], best, 0.0), axis=1).astype(np.int32)
        if rule.rule == "threshold":
            codes[~_reaches_threshold(rule, np.take_along_axis(best, codes[:, None].astype(np.int64), 1)[:, 0])] = (
                MISSING_CODE
            )
    codes[~given] = MISSING_CODE
    return Labels(codes)


def _reaches_threshold(rule: ConfiguredDecisionRule, best: Matrix) -> NDArray[np.bool_]:
    """Where scores (already turned, so that higher is better) reach the threshold."""
    cut = -rule.threshold if rule.lower else rule.threshold
    return np.asarray(best > cut if rule.strict else best >= cut)


def _decide_binary(
    rule: ConfiguredDecisionRule,
    spec: TaskSpec,
    best: Matrix,
    given: NDArray[np.bool_],
    *,
    positives: int,
    weights: Weights,
) -> NDArray[np.int32]:
    code = spec.classes.index(spec.positive_label or "")
    own = best[:, 0] if best.shape[1] == 1 else best[:, code]
    if rule.rule == "top_n_positive":
        chosen = _select_top(own, given, positives, weights)
    elif rule.rule == "argmax":  # of s and 1 - s
        middle = -0.5 if rule.lower else 0.5
        chosen = own >= middle if code == 0 else own > middle
    else:
        chosen = _reaches_threshold(rule, own)
    return np.where(chosen, code, 1 - code).astype(np.int32)


def _select_top(own: Matrix, given: NDArray[np.bool_], count: int, weights: Weights) -> NDArray[np.bool_]:
    """The `count` best; where the cut goes through equal scores, all of those are left out: no order may decide."""
    values, places = np.unique(-own[given], return_inverse=True)  # the best first
    sizes = np.zeros(len(values), dtype=np.int64)
    np.add.at(sizes, places, 1 if weights is None else weights[given])
    chosen = np.zeros(len(own), dtype=bool)
    chosen[given] = (np.cumsum(sizes) <= count)[places]
    return chosen


def _decide_label_sets(rule: ConfiguredDecisionRule, best: Matrix, given: NDArray[np.bool_]) -> Labels:
    n, m = best.shape
    if rule.rule == "top_k":
        order = np.argsort(-np.where(given[:, None], best, 0.0), axis=1, kind="stable")[:, : min(rule.k, m)]
        sizes = np.where(given, order.shape[1], 0)
        codes = order[given].ravel()
    else:
        rows, codes = np.nonzero(_reaches_threshold(rule, best) & given[:, None])
        codes = codes[np.lexsort((codes, -best[rows, codes], rows))]
        sizes = np.bincount(rows, minlength=n)
    offsets = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return Labels(codes.astype(np.int32), offsets)
